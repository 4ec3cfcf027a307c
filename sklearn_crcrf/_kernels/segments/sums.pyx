"""Sums over the segmentations of sequences: a semi-Markov chain (Sarawagi & Cohen 2004).

With e(t, j) the sum over all segmentations of the tokens before t, times the transition into label
j, and v = exp(score), the sums that end or continue at token t are

    open(t, 1, y) = e(t, first_y) v(t, first_y)
    open(t, d, y) = open(t-1, d-1, y) v(inside_y) v(t, inside_y)                for d = 2..L
    open(t, L+1, y) = (open(t-1, L, y) + open(t-1, L+1, y)) v(inside_y) v(t, inside_y)
    closed(t, single_y) = e(t, single_y) v(t, single_y) v(length 1, y) v(span)
    closed(t, last_y) = sum_d open(t-1, d-1, y) v(last_y) v(t, last_y) v(length d, y) v(span)
    e(t+1, j) = sum_i closed(t, i) v(i, j)

so a segment is scored by its tokens, its length and its span, at O(L n_types + n_labels^2) for each
token; segments of more than L tokens have one length and no span, and all are summed in
open(L+1). Sequences of similar length go in lock step, and what follows a token is divided by the
largest sum of the token: its share is one divided by it.

A sum that underflows is lost; what is lost of the total is less than the least number, times the sum
of all continuations, which the backward half computes. A sequence in which this could matter gets
no result here: its log_z is NaN.
"""

include "sklearn_crcrf/_kernels/chain/scaled_scores.pxi"
include "sklearn_crcrf/_kernels/chain/lock_step_blocks.pxi"
include "rows.pxi"
include "edges.pxi"


def segment_sums(
    BatchScores batch,             # IN
    BatchSegments segments,        # with factors, exp(score) IN
    const int64_t[::1] order,      # (n,) numbers of sequences with tokens, the longest first IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    const double[::1] weight,      # (n_units,) IN
    double[::1] log_z,             # (n_units,) of the sequences in order OUT, NaN for no result
    real[:, ::1] expected,         # (n_tokens, n_labels) INOUT
    BatchCounts counts,            # INOUT
    double[:, ::1] by_length,      # (n_types, max_length + 1) INOUT
    double[:, ::1] by_span,        # (n_spans, n_types) of the sequences in order OUT
):
    """The log-partition of sequences; and add the expected uses of all scores times its weight.

    Where log_z is NaN nothing is added, and zeros are written.
    """
    cdef:
        SegmentRows n
        int64_t longest = length_of(batch.offsets, order, 0) if order.shape[0] else 0
        int64_t b, first = 0, n_labels = state.shape[1]
        int64_t n_rows = arrange(longest, n_labels, segments, &n)
        real[:, ::1] memory = empty_rows(n_rows, SEQUENCES, DOUBLE if real is double else FLOAT)
        real[::1] table = np.empty(2 * n.ends * n.begins, np.asarray(memory).dtype)
        int32_t[:, ::1] places = places_of(segments, n_labels)
        double[::1] found = np.empty(most_edges(batch, order) + 1)
        double[::1] factor
        int64_t[:, ::1] steps = np.empty((2, longest + 1), dtype=np.int64)
        Block block
        Progress progress
        SegmentEdges edges
        unsigned denormals
    progress.top = set_common_factors(batch, &n, segments, &memory[0, 0], &table[0])
    with np.errstate(over="ignore"):
        # One more, so that the first can be pointed to.
        factor = np.exp(np.append(batch.token_transitions.score, 0.0) - progress.top)
    edges.edges, edges.factor, edges.found = batch.edges, &factor[0], &found[0]
    edges.end, edges.begin, edges.kind = &places[0, 0], &places[1, 0], &places[2, 0]
    with nogil:
        give_turn()
        denormals = flush_denormals()
        while first < order.shape[0]:
            block = make_block(batch.offsets, order, first, 0, steps)
            sum_segments(
                &block, &n, batch, segments, &edges, state, &table[0], &memory[0, 0], &progress
            )
            retract_block(
                &block, &n, batch, segments, &edges, weight, &table[0], &memory[0, 0], &progress,
                by_span,
            )
            add_expected(
                &block, &n, batch, segments, &edges, weight, &memory[0, 0], &progress, expected,
                counts, by_length,
            )
            for b in range(block.active[0]):
                log_z[block.order[b]] = progress.log_z[b]
            first += block.active[0]
        restore_denormals(denormals)
        take_turn()


cdef struct Progress:
    # Running values for each sequence of a block
    double top                     # what was subtracted from transition scores
    double[SEQUENCES] log_z
    double[SEQUENCES] factor       # of sums whose logarithm is still to be added
    double[SEQUENCES] total        # of the closed sums of the last token


cdef double set_common_factors(
    BatchScores batch, const SegmentRows *n, BatchSegments segments, real *memory, real *table
) noexcept nogil:
    """Set what all blocks share; returns what was subtracted from transition scores.

    The table has the transitions from ends to begins, and the same transposed.
    """
    cdef:
        int64_t i, j, k, d
        int32_t first, inside, last
        real *transposed = table + n.ends * n.begins
        double top = -INFINITY
    for i in range(n.labels - 1):
        for j in range(n.labels - 1):
            top = max(top, batch.transition[i, j])
    if top == -INFINITY:
        top = 0.0
    memset(table, 0, 2 * n.ends * n.begins * sizeof(real))
    for i in range(n.ends - 1):
        for j in range(n.begins - 1):
            transposed[i * n.begins + j] = table[j * n.ends + i] = <real>exp(
                batch.transition[segments.ends[i], segments.begins[j]] - top
            )
    for k in range(n.types):
        first, inside, last = segments.first[k], segments.inside[k], segments.last[k]
        set_within(batch, first, inside, top, at(memory, n.within + 4 * k))
        set_within(batch, inside, inside, top, at(memory, n.within + 4 * k + 1))
        set_within(batch, first, last, top, at(memory, n.within + 4 * k + 2))
        set_within(batch, inside, last, top, at(memory, n.within + 4 * k + 3))
        for d in range(n.positions):
            set_row(at(memory, n.factor + k * n.positions + d), segments.by_length[k, d])
    return top


cdef inline void set_within(
    BatchScores batch, int32_t previous, int32_t current, double top, real *row
) noexcept nogil:
    set_row(row, exp(batch.transition[previous, current] - top) if min(previous, current) >= 0 else 0)


cdef void multiply_factors(
    const Block *block, int64_t t, const SegmentRows *n, BatchSegments segments, real *memory,
    bint undo,
) noexcept nogil:
    """Multiply the factors of lengths by the factors of the spans that end at t, or undo it."""
    cdef:
        int64_t b, r, k, token, row
        real *factor
    for b in range(block.active[t]):
        token = block.origin[b] + t
        for r in range(segments.indptr[token], segments.indptr[token + 1]):
            for k in range(n.types):
                row = k * n.positions + segments.length[r] - 1
                factor = at(memory, n.factor + row) + b
                if undo:
                    factor[0] = <real>segments.by_length[k, segments.length[r] - 1]
                else:
                    factor[0] *= <real>segments.by_span[r, k]


cdef void sum_segments(
    const Block *block, const SegmentRows *n, BatchScores batch, BatchSegments segments,
    const SegmentEdges *edges, const real[:, ::1] state, const real *table, real *memory,
    Progress *progress,
) noexcept nogil:
    """The forward half."""
    cdef:
        int64_t t, b, j, k, row
        bint corrects
        real *v
        real *closed
        const int64_t *outside
        real *entry = at(memory, n.entry)
    for b in range(SEQUENCES):
        progress.log_z[b], progress.factor[b] = 0.0, 1.0
    memset(at(memory, n.opened), 0, n.types * n.positions * SEQUENCES * sizeof(real))
    set_row(at(memory, n.share), 1.0)
    for t in range(block.n_steps):
        v = at(memory, n.v + t * n.labels)
        closed = at(memory, n.closed + t * n.ends)
        set_state(block, t, n.labels - 1, state, v, progress)
        if t == 0:
            for j in range(n.begins - 1):
                set_row(at(entry, j), exp(batch.begin[segments.begins[j]]))
            set_row(at(entry, n.begins - 1), 0.0)
        else:
            row = n.closed + (t - 1) * n.ends
            mix_rows(
                table, at(memory, row), n.ends, at(memory, n.share + t), n.begins, entry
            )
        corrects = has_edges(block, t, edges)
        if corrects:
            enter_edges(block, t, n, edges, table, memory, progress)
            replace_within(block, t, n, edges, segments, memory)
        memset(at(closed, n.ends - 1), 0, SEQUENCES * sizeof(real))
        memset(at(memory, n.top), 0, SEQUENCES * sizeof(real))
        for j in range(segments.outside.shape[0]):
            outside = &segments.outside_rows[j, 0]
            for b in range(SEQUENCES):
                at(closed, outside[2])[b] = at(entry, outside[1])[b] * at(v, outside[0])[b]
            raise_to(at(closed, outside[2]), 1, at(memory, n.top))
        multiply_factors(block, t, n, segments, memory, False)
        for k in range(n.types):
            extend_segments(n, <const SegmentType *>&segments.rows[k, 0], k, t, memory)
        multiply_factors(block, t, n, segments, memory, True)
        if corrects:
            restore_within(n, memory)
        set_share(
            block, t, at(memory, n.top), at(memory, n.share + t + 1), progress
        )
        end_sums(block, t, batch, segments, closed, progress)


cdef void set_state(
    const Block *block, int64_t t, int64_t n_labels, const real[:, ::1] state, real *v,
    Progress *progress,
) noexcept nogil:
    """Exponentials of state scores minus their maximum, which is added to log_z."""
    cdef:
        int64_t b, j
        const real *score
        real top, x
        bint is_valid
    for b in range(SEQUENCES):
        is_valid = b < block.active[t]
        score = &state[block.origin[b] + t, 0] if is_valid else NULL
        top = -INFINITY
        for j in range(n_labels if is_valid else 0):
            x = score[j]
            top = x if x > top else top
            is_valid = is_valid and x < INFINITY
        if is_valid and top > -INFINITY:
            progress.log_z[b] += top
            for j in range(n_labels):
                v[j * SEQUENCES + b] = score[j] - top
        else:
            if b < block.active[t]:
                progress.log_z[b] = NAN
            for j in range(n_labels):
                v[j * SEQUENCES + b] = -INFINITY
    exponentials(v, n_labels * SEQUENCES)
    memset(at(v, n_labels), 0, SEQUENCES * sizeof(real))


cdef void set_share(
    const Block *block, int64_t t, const real *top, real *share, Progress *progress
) noexcept nogil:
    """Set what the sums of a token are multiplied by from now on."""
    cdef:
        int64_t b
        double smallest = 1e-50 if real is double else 1e-10
    for b in range(SEQUENCES):
        share[b] = 0.0
        # The largest sum of the last token belongs to no other.
        if b >= block.active[t + 1]:
            continue
        if not (top[b] >= smallest and isfinite(top[b])):
            progress.log_z[b] = NAN
            continue
        share[b] = <real>(1.0 / top[b])
        progress.factor[b] *= top[b]
        if not 1e-100 < progress.factor[b] < 1e100:
            progress.log_z[b] += log(progress.factor[b])
            progress.factor[b] = 1.0


cdef void end_sums(
    const Block *block, int64_t t, BatchScores batch, BatchSegments segments, const real *closed,
    Progress *progress,
) noexcept nogil:
    """The log-partitions of the sequences whose last token is t."""
    cdef:
        int64_t b, j
        double total, smallest = 1e-50 if real is double else 1e-10
    for b in range(block.active[t + 1], block.active[t]):
        total = 0.0
        for j in range(segments.ends.shape[0]):
            total += closed[j * SEQUENCES + b] * exp(batch.end[segments.ends[j]])
        progress.total[b] = total
        if total >= smallest and isfinite(total):
            progress.log_z[b] += log(progress.factor[b]) + log(total) + t * progress.top
        else:
            progress.log_z[b] = NAN


include "sums_backward.pxi"
