# The backward half of segments/sums.pyx. The sums of all continuations of a sum, "after" it, are
# divided by the total, so that their product is a probability.


cdef void retract_block(
    const Block *block, const SegmentRows *n, BatchScores batch, BatchSegments segments,
    SegmentEdges *edges, const double[::1] weight, const real *table, real *memory,
    Progress *progress, double[:, ::1] by_span,
) noexcept nogil:
    """The expected uses of all scores, of which the uses of labels are written over v."""
    cdef:
        int64_t t, b, j, k
        bint corrects
        real *v
        real *closed
        real *share
        const int64_t *outside
        const real *transposed = table + n.begins * n.ends
        real *after_closed = at(memory, n.after_closed)
        real *after_entry = at(memory, n.after_entry)
        real *top = at(memory, n.top)
        # What is lost is less than the least normal number times this.
        real largest = 1e200 if real is double else 1e20
        int64_t n_counts = n.ended + n.ends - n.pairs
    memset(after_closed, 0, n.ends * SEQUENCES * sizeof(real))
    memset(at(memory, n.after_open), 0, n.types * n.positions * SEQUENCES * sizeof(real))
    memset(at(memory, n.pairs), 0, n_counts * SEQUENCES * sizeof(real))
    edges.n_found = 0
    for t in range(block.n_steps - 1, -1, -1):
        v, closed = at(memory, n.v + t * n.labels), at(memory, n.closed + t * n.ends)
        share = at(memory, n.share + t)
        begin_after(block, t, n, batch, segments, closed, memory, progress)
        memset(after_entry, 0, n.begins * SEQUENCES * sizeof(real))
        memset(top, 0, SEQUENCES * sizeof(real))
        for j in range(segments.outside.shape[0]):
            outside = &segments.outside_rows[j, 0]
            for b in range(SEQUENCES):
                at(after_entry, outside[1])[b] = (
                    at(v, outside[0])[b] * at(after_closed, outside[2])[b]
                )
                at(v, outside[0])[b] = at(closed, outside[2])[b] * at(after_closed, outside[2])[b]
        corrects = has_edges(block, t, edges)
        if corrects:
            replace_within(block, t, n, edges, segments, memory)
            keep_counts(block, t, n, edges, memory)
        multiply_factors(block, t, n, segments, memory, False)
        for k in range(n.types):
            retract_segments(n, <const SegmentType *>&segments.rows[k, 0], k, t, memory)
        count_spans(block, t, n, segments, weight, memory, by_span)
        multiply_factors(block, t, n, segments, memory, True)
        raise_to(after_closed, n.ends, top)
        raise_to(after_entry, n.begins, top)
        for b in range(block.active[t]):
            if not top[b] <= largest:
                progress.log_z[b] = NAN
        if t > 0:
            closed = at(closed, -n.ends)
            add_row_pairs(share, closed, n.ends, after_entry, n.begins, at(memory, n.pairs))
            mix_rows(transposed, after_entry, n.begins, share, n.ends, after_closed)
        if corrects:
            leave_edges(block, t, n, edges, segments, table, memory)
            restore_within(n, memory)
    for b in range(SEQUENCES):
        if b >= block.active[0]:
            clear_counts(b, n, memory)
        elif isnan(progress.log_z[b]):
            clear_counts(b, n, memory)
            k = block.origin[b]
            for j in range(segments.indptr[k], segments.indptr[k + block.length[b]]):
                by_span[j, :] = 0.0


cdef void begin_after(
    const Block *block, int64_t t, const SegmentRows *n, BatchScores batch,
    BatchSegments segments, const real *closed, real *memory, Progress *progress,
) noexcept nogil:
    """Set after_closed of the sequences whose last token is t, and count their last labels."""
    cdef:
        int64_t b, j
        double after
    for b in range(block.active[t + 1], block.active[t]):
        if isnan(progress.log_z[b]):
            continue
        for j in range(segments.ends.shape[0]):
            after = exp(batch.end[segments.ends[j]]) / progress.total[b]
            at(memory, n.after_closed + j)[b] = <real>after
            at(memory, n.ended + j)[b] = <real>(closed[j * SEQUENCES + b] * after)


cdef void count_spans(
    const Block *block, int64_t t, const SegmentRows *n, BatchSegments segments,
    const double[::1] weight, const real *memory, double[:, ::1] by_span,
) noexcept nogil:
    """The probabilities of the spans that end at t."""
    cdef:
        int64_t b, r, k, d, token, row
        const SegmentType *kind
        real p
        real *given = <real *>memory
    for b in range(block.active[t]):
        token = block.origin[b] + t
        for r in range(segments.indptr[token], segments.indptr[token + 1]):
            for k in range(n.types):
                d = segments.length[r] - 1
                if d == 0:
                    kind = <const SegmentType *>&segments.rows[k, 0]
                    p = at(given, n.closed + t * n.ends + kind.single_end)[b]
                    p *= at(given, n.after_closed + kind.single_end)[b]
                else:
                    row = (t * n.types + k) * n.positions + d - 1
                    p = at(given, n.closing + 2 * k + (d > 1))[b]
                    p *= at(given, n.opened + row)[b] * at(given, n.factor + k * n.positions + d)[b]
                by_span[r, k] = weight[block.order[b]] * p


cdef void clear_counts(int64_t b, const SegmentRows *n, real *memory) noexcept nogil:
    """Count nothing of a sequence whose sums may be no numbers."""
    cdef int64_t row
    for row in range(n.pairs, n.ended + n.ends):
        at(memory, row)[b] = 0.0
    for row in range(n.after_entry, n.after_entry + n.begins):
        at(memory, row)[b] = 0.0


cdef void add_expected(
    const Block *block, const SegmentRows *n, BatchScores batch, BatchSegments segments,
    const SegmentEdges *edges, const double[::1] weight, real *memory, Progress *progress,
    real[:, ::1] expected, BatchCounts counts, double[:, ::1] by_length,
) noexcept nogil:
    """Add the expected uses of a block, times the weights of its sequences."""
    cdef:
        int64_t t, b, i, j, k, d
        int32_t first, inside, last
        real *row
        real *total = at(memory, n.totals)
        real share[SEQUENCES]
    for b in range(SEQUENCES):
        share[b] = 0.0
    for b in range(block.active[0]):
        if isnan(progress.log_z[b]):
            continue
        share[b] = <real>weight[block.order[b]]
        for t in range(block.length[b] if share[b] != 0.0 else 0):
            row = at(memory, n.v + t * n.labels) + b
            for j in range(n.labels - 1):
                expected[block.origin[b] + t, j] += share[b] * row[j * SEQUENCES]
    add_edges_found(block, edges, share, counts)
    for j in range(n.begins - 1):
        weigh_rows(at(memory, n.after_entry + j), 1, share, total)
        if total[0] != 0.0:
            counts.begin[segments.begins[j]] += total[0] * exp(batch.begin[segments.begins[j]])
    for i in range(n.ends - 1):
        weigh_rows(at(memory, n.ended + i), 1, share, total)
        counts.end[segments.ends[i]] += total[0]
        weigh_rows(at(memory, n.pairs + i * n.begins), n.begins, share, total)
        for j in range(n.begins - 1):
            counts.transition[segments.ends[i], segments.begins[j]] += total[j] * exp(
                batch.transition[segments.ends[i], segments.begins[j]] - progress.top
            )
    for k in range(n.types):
        weigh_rows(at(memory, n.lengths + k * n.positions), n.positions, share, total)
        for d in range(n.positions):
            by_length[k, d] += total[d]
        weigh_rows(at(memory, n.inner + 4 * k), 4, share, total)
        first, inside, last = segments.first[k], segments.inside[k], segments.last[k]
        add_within(counts, first, inside, total[0])
        add_within(counts, inside, inside, total[1])
        add_within(counts, first, last, total[2])
        add_within(counts, inside, last, total[3])


cdef inline void add_within(
    BatchCounts counts, int32_t previous, int32_t current, double count
) noexcept nogil:
    if min(previous, current) >= 0:
        counts.transition[previous, current] += count
