# Transition scores of single tokens in sums over segmentations. Sequences in lock step are summed with
# common factors v(i, j), and then corrected by the edges (i, j) of token t of a sequence, which have
# the factors v_t(i, j):
#
#     e(t, j) += closed(t-1, i) (v_t(i, j) - v(i, j))
#
# This is not negative, so that nothing cancels; a sequence in which an edge scores less than the common
# transition gets no result. Transitions in segments have rows of factors, in which the factor of a
# sequence is replaced.


cdef struct SegmentEdges:
    Edges edges
    const double *factor           # (n_entries,) exp(score - what is subtracted from transitions)
    const int32_t *end             # (n_labels,) the place among ends, -1 for none
    const int32_t *begin           # (n_labels,) the place among begins, -1 for none
    const int32_t *kind            # (n_labels,) the type of segments of two or more tokens, or -1
    double *found                  # expected uses of the edges of a block, from the last token on
    int64_t n_found


cdef int32_t[:, ::1] places_of(BatchSegments segments, int64_t n_labels):
    """Rows of end, begin and kind."""
    cdef int32_t[:, ::1] places = np.full((3, n_labels), -1, dtype=np.int32)
    cdef int32_t i, k
    for i in range(<int32_t>segments.ends.shape[0]):
        places[0, segments.ends[i]] = i
    for i in range(<int32_t>segments.begins.shape[0]):
        places[1, segments.begins[i]] = i
    for k in range(<int32_t>segments.first.shape[0]):
        for i in (segments.first[k], segments.inside[k], segments.last[k]):
            if i >= 0:
                places[2, i] = k
    return places


cdef int64_t most_edges(BatchScores batch, const int64_t[::1] order) noexcept nogil:
    """The largest number of edges of a block, each counted as often as tokens have it."""
    cdef:
        int64_t s, t, row, total = 0, most = 0
        const int64_t *indptr = batch.edges.indptr
    for s in range(order.shape[0] if batch.n_entries else 0):
        total = 0 if s % BLOCK == 0 else total
        for t in range(batch.offsets[order[s]], batch.offsets[order[s] + 1]):
            row = batch.edges.row[t]
            total += indptr[row + 1] - indptr[row] if row >= 0 else 0
        most = max(most, total)
    return most


cdef inline int64_t first_edge(
    const Block *block, int64_t t, int64_t b, const SegmentEdges *given
) noexcept nogil:
    """The first of the edges into token t of a sequence."""
    cdef int64_t row = given.edges.row[block.origin[b] + t]
    return given.edges.indptr[row] if row >= 0 else 0


cdef inline int64_t stop_edge(
    const Block *block, int64_t t, int64_t b, const SegmentEdges *given
) noexcept nogil:
    """What follows the last of the edges into token t of a sequence."""
    cdef int64_t row = given.edges.row[block.origin[b] + t]
    return given.edges.indptr[row + 1] if row >= 0 else 0


cdef bint has_edges(const Block *block, int64_t t, const SegmentEdges *given) noexcept nogil:
    """Whether a sequence has edges into token t."""
    cdef int64_t b
    for b in range(block.active[t] if t > 0 and given.edges.score != NULL else 0):
        if given.edges.row[block.origin[b] + t] >= 0:
            return True
    return False


cdef inline bint is_within(
    const SegmentEdges *given, int64_t e, BatchSegments segments, int64_t row
) noexcept nogil:
    """Whether an edge has the factor of a row of transitions in segments."""
    cdef int64_t k = row // 4
    return (
        given.edges.previous[e] == (segments.inside[k] if row % 2 else segments.first[k])
        and given.edges.current[e] == (segments.inside[k] if row % 4 < 2 else segments.last[k])
    )


cdef inline bint is_between(const SegmentEdges *given, int64_t e) noexcept nogil:
    """Whether an edge leads from an end to a begin."""
    return min(given.end[given.edges.previous[e]], given.begin[given.edges.current[e]]) >= 0


cdef inline int64_t kind_of(const SegmentEdges *given, int64_t e) noexcept nogil:
    """The type of segments in which an edge can be, or -1."""
    cdef int32_t kind = given.kind[given.edges.previous[e]]
    return kind if kind == given.kind[given.edges.current[e]] else -1


cdef void replace_within(
    const Block *block, int64_t t, const SegmentRows *n, const SegmentEdges *given,
    BatchSegments segments, real *memory,
) noexcept nogil:
    """Let the factors in segments be of token t; the common ones are kept."""
    cdef int64_t b, e, k, row
    memcpy(
        at(memory, n.kept_within), at(memory, n.within), 4 * n.types * SEQUENCES * sizeof(real)
    )
    for b in range(block.active[t]):
        for e in range(first_edge(block, t, b, given), stop_edge(block, t, b, given)):
            k = kind_of(given, e)
            for row in range(4 * k, 4 * k + 4 if k >= 0 else 4 * k):
                if is_within(given, e, segments, row):
                    at(memory, n.within + row)[b] = <real>given.factor[e]


cdef void restore_within(const SegmentRows *n, real *memory) noexcept nogil:
    memcpy(
        at(memory, n.within), at(memory, n.kept_within), 4 * n.types * SEQUENCES * sizeof(real)
    )


cdef void enter_edges(
    const Block *block, int64_t t, const SegmentRows *n, const SegmentEdges *given,
    const real *table, real *memory, Progress *progress,
) noexcept nogil:
    """Correct the entries of token t; sequences whose sums could be inexact get no log_z."""
    cdef:
        int64_t b, e, i, j
        real *entry = at(memory, n.entry)
        const real *closed = at(memory, n.closed + (t - 1) * n.ends)
        const real *share = at(memory, n.share + t)
        double common
        # Products with larger factors could be no finite numbers.
        double largest = 1e200 if real is double else 1e20
    for b in range(block.active[t]):
        for e in range(first_edge(block, t, b, given), stop_edge(block, t, b, given)):
            if not given.factor[e] <= largest:
                progress.log_z[b] = NAN
            if not is_between(given, e):
                continue
            i, j = given.end[given.edges.previous[e]], given.begin[given.edges.current[e]]
            common = table[j * n.ends + i]
            # A factor that is as large may be rounded to a smaller one.
            if given.factor[e] < 0.999 * common:
                progress.log_z[b] = NAN
            entry[j * SEQUENCES + b] += <real>(
                (given.factor[e] - common) * share[b] * closed[i * SEQUENCES + b]
            )


cdef void keep_counts(
    const Block *block, int64_t t, const SegmentRows *n, SegmentEdges *given, real *memory
) noexcept nogil:
    """Keep the counts of common transitions, to which the edges of token t do not belong."""
    cdef:
        int64_t b, e, i, j
        int64_t f = given.n_found
        const real *pairs = at(memory, n.pairs)
    memcpy(at(memory, n.kept_inner), at(memory, n.inner), 4 * n.types * SEQUENCES * sizeof(real))
    memset(at(memory, n.inner), 0, 4 * n.types * SEQUENCES * sizeof(real))
    for b in range(block.active[t]):
        for e in range(first_edge(block, t, b, given), stop_edge(block, t, b, given)):
            if is_between(given, e):
                i, j = given.end[given.edges.previous[e]], given.begin[given.edges.current[e]]
                given.found[f] = pairs[(i * n.begins + j) * SEQUENCES + b]
            f += 1


cdef void leave_edges(
    const Block *block, int64_t t, const SegmentRows *n, SegmentEdges *given,
    BatchSegments segments, const real *table, real *memory,
) noexcept nogil:
    """Correct after_closed of the token before t, and find the expected uses of the edges."""
    cdef:
        int64_t b, e, i, j, k, row
        real *pairs = at(memory, n.pairs)
        real *inner = at(memory, n.inner)
        real *after_closed = at(memory, n.after_closed)
        const real *after_entry = at(memory, n.after_entry)
        const real *closed = at(memory, n.closed + (t - 1) * n.ends)
        const real *share = at(memory, n.share + t)
        const real *kept = at(memory, n.kept_inner)
        double after, use
    for b in range(block.active[t]):
        for e in range(first_edge(block, t, b, given), stop_edge(block, t, b, given)):
            use = 0.0
            k = kind_of(given, e)
            if is_between(given, e):
                i, j = given.end[given.edges.previous[e]], given.begin[given.edges.current[e]]
                after = <double>share[b] * after_entry[j * SEQUENCES + b]
                use = after * closed[i * SEQUENCES + b] * given.factor[e]
                after *= given.factor[e] - table[j * n.ends + i]
                after_closed[i * SEQUENCES + b] += <real>after
                pairs[(i * n.begins + j) * SEQUENCES + b] = <real>given.found[given.n_found]
            for row in range(4 * k, 4 * k + 4 if k >= 0 else 4 * k):
                if is_within(given, e, segments, row):
                    use += inner[row * SEQUENCES + b]
                    inner[row * SEQUENCES + b] = 0
            given.found[given.n_found] = use
            given.n_found += 1
    for row in range(4 * n.types * SEQUENCES):
        inner[row] += kept[row]


cdef void add_edges_found(
    const Block *block, const SegmentEdges *given, const real *share, BatchCounts counts
) noexcept nogil:
    """Add the expected uses of the edges of a block, times the share of each sequence."""
    cdef int64_t t, b, e, f = 0
    for t in range(block.n_steps - 1 if given.n_found else 0, 0, -1):
        for b in range(block.active[t]):
            for e in range(first_edge(block, t, b, given), stop_edge(block, t, b, given)):
                if share[b] != 0.0:
                    counts.edges[e] += share[b] * given.found[f]
                f += 1
