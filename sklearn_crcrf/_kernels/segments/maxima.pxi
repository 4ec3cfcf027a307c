# The best segmentation of each sequence: the recursion of _segment_sums.pyx with maxima.
#
#     open(t, d, y) = open(t-1, d-1, y) + transition(inside_y, inside_y) + state(t, inside_y)
#     closed(t, last_y) = max_d open(t-1, d-1, y) + transition(last_y) + state(t, last_y)
#                               + length(d, y) + span
#     entry(t+1, j) = max_i closed(t, i) + transition(i, j)
#
# Of the segments longer than max_length only the best is kept, with its first token.

ctypedef fused number:
    float
    double


cdef struct Work:
    double *transition # (n_labels, n_labels) into a token
    double *entry      # (n_labels,) best scores before a token, with the transition into it
    double *closed     # (n_labels,) best scores of what ends at a token
    double *opened     # (n_types, positions) of the token, the last of them longer segments
    double *before     # (n_types, positions) of the token before
    int64_t *begun     # (n_types,) first tokens of the longer segments
    int32_t *previous  # (n_tokens, n_labels) the label before each entry
    int64_t *first     # (n_tokens, n_types) first token of the best segment that ends there


def segment_maxima(
    BatchScores batch,             # IN
    BatchSegments segments,        # with scores IN
    const number[:, ::1] state,    # (n_tokens, n_labels) IN
    int32_t[::1] y,                # (n_tokens,) OUT
    double[::1] value,             # (n_units,) OUT
):
    """The score and the labels of the best segmentation of each unit."""
    cdef:
        const int64_t[::1] offsets = batch.offsets
        int64_t n = state.shape[1], n_types = segments.by_length.shape[0]
        int64_t size = n_types * segments.by_length.shape[1], longest = 1, s, i, j
        double[::1] scores = np.empty(n * n + 2 * n + 2 * size + 1)
        int64_t[::1] tokens
        int32_t[::1] labels
        Work work
    for s in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    tokens = np.empty(n_types * (longest + 1) + 1, dtype=np.int64)
    labels = np.empty(longest * n, dtype=np.int32)
    work.entry, work.closed = &scores[0], &scores[n]
    work.opened, work.before = &scores[2 * n], &scores[2 * n + size]
    work.transition = &scores[2 * n + 2 * size]
    work.begun, work.first, work.previous = &tokens[0], &tokens[n_types], &labels[0]
    with nogil:
        give_turn()
        for i in range(n):
            for j in range(n):
                work.transition[i * n + j] = batch.transition[i, j]
        for s in range(offsets.shape[0] - 1):
            value[s] = 0.0
            if offsets[s] < offsets[s + 1]:
                value[s] = _best(offsets[s], offsets[s + 1], batch, segments, state, y, &work)
        take_turn()


cdef double _best(
    int64_t start, int64_t stop, BatchScores batch, BatchSegments segments,
    const number[:, ::1] state, int32_t[::1] y, Work *work,
) noexcept nogil:
    cdef:
        int64_t t, i, n = state.shape[1]
        int32_t label, best = -1
        double top = -INFINITY
        double *swapped
    for t in range(start, stop):
        for i in range(n):
            if not state[t, i] < INFINITY:
                return NAN
        _set_transitions(t, batch.edges, n, work)
        _enter_best(t, start, batch, segments, n, work)
        _close(t, start, segments, state, work)
        _reset_transitions(t, batch, n, work)
        swapped = work.opened
        work.opened, work.before = work.before, swapped
        y[t] = 0
    for i in range(segments.ends.shape[0]):
        label = segments.ends[i]
        if work.closed[label] + batch.end[label] > top:
            top, best = work.closed[label] + batch.end[label], label
    if best >= 0:
        _trace(start, stop - 1, best, segments, n, y, work)
    return top


cdef void _set_transitions(int64_t t, Edges edges, int64_t n, Work *work) noexcept nogil:
    """Let transition be of a token."""
    cdef int64_t e, row = edges.row[t] if edges.score != NULL else -1
    if row >= 0:
        for e in range(edges.indptr[row], edges.indptr[row + 1]):
            work.transition[edges.previous[e] * n + edges.current[e]] = edges.score[e]


cdef void _reset_transitions(int64_t t, BatchScores batch, int64_t n, Work *work) noexcept nogil:
    """Let transition be of a token without edges again."""
    cdef:
        Edges edges = batch.edges
        int64_t e, row = edges.row[t] if edges.score != NULL else -1
        int32_t i, j
    if row >= 0:
        for e in range(edges.indptr[row], edges.indptr[row + 1]):
            i, j = edges.previous[e], edges.current[e]
            work.transition[i * n + j] = batch.transition[i, j]


cdef void _enter_best(
    int64_t t, int64_t start, BatchScores batch, BatchSegments segments, int64_t n, Work *work
) noexcept nogil:
    """Set entry, and the label before it."""
    cdef:
        int64_t i, j
        int32_t label
        int32_t *previous = work.previous + (t - start) * n
        double x
    for j in range(n):
        work.entry[j] = -INFINITY
        previous[j] = -1
    if t == start:
        for i in range(segments.begins.shape[0]):
            work.entry[segments.begins[i]] = batch.begin[segments.begins[i]]
        return
    for i in range(segments.ends.shape[0]):
        label = segments.ends[i]
        for j in range(n):
            x = work.closed[label] + work.transition[label * n + j]
            if x > work.entry[j]:
                work.entry[j], previous[j] = x, label


cdef void _close(
    int64_t t, int64_t start, BatchSegments segments, const number[:, ::1] state, Work *work
) noexcept nogil:
    """Set opened and closed, and the first tokens of the best segments."""
    cdef:
        int64_t i, k, d, r, n = state.shape[1], n_types = segments.by_length.shape[0]
        int64_t m = segments.by_length.shape[1]
        int64_t *firsts = work.first + (t - start) * n_types
        int32_t label, single, first, inside, last
        double *opened
        double *before
        double x, y
    for i in range(n):
        work.closed[i] = -INFINITY
    for i in range(segments.outside.shape[0]):
        label = segments.outside[i]
        work.closed[label] = work.entry[label] + state[t, label]
    for k in range(n_types):
        single, first = segments.single[k], segments.first[k]
        inside, last = segments.inside[k], segments.last[k]
        opened, before = work.opened + k * m, work.before + k * m
        firsts[k] = t
        if single >= 0:
            x = work.entry[single] + state[t, single] + segments.by_length[k, 0]
            for r in range(segments.indptr[t], segments.indptr[t + 1]):
                if segments.length[r] == 1:
                    x += segments.by_span[r, k]
            work.closed[single] = x
        if t > start and last >= 0 and first >= 0:
            y = work.transition[inside * n + last] if inside >= 0 else -INFINITY
            r = segments.indptr[t]
            work.closed[last] = -INFINITY
            for d in range(1, m + 1):
                # d + 1 tokens; d = m are the longer segments.
                if d < m:
                    x = before[d - 1] + segments.by_length[k, d]
                else:
                    x = before[m - 1] + segments.by_length[k, m - 1]
                x += work.transition[first * n + last] if d == 1 else y
                while r < segments.indptr[t + 1] and segments.length[r] < d + 1:
                    r += 1
                if d < m - 1 and r < segments.indptr[t + 1] and segments.length[r] == d + 1:
                    x += segments.by_span[r, k]
                if x > work.closed[last]:
                    work.closed[last] = x
                    firsts[k] = t - d if d < m else work.begun[k]
            work.closed[last] += state[t, last]
        _open(t, start, k, m, segments, state, work)


cdef void _open(
    int64_t t, int64_t start, int64_t k, int64_t m, BatchSegments segments,
    const number[:, ::1] state, Work *work,
) noexcept nogil:
    """Set the best scores of the segments of one type that are not at their last token."""
    cdef:
        int64_t d, n = state.shape[1]
        int32_t first = segments.first[k], inside = segments.inside[k]
        double *opened = work.opened + k * m
        double *before = work.before + k * m
        double x, to_first
    for d in range(m):
        opened[d] = -INFINITY
    if first < 0:
        return
    opened[0] = work.entry[first] + state[t, first]
    if t == start or inside < 0:
        return
    x = work.transition[inside * n + inside] + state[t, inside]
    to_first = work.transition[first * n + inside] + state[t, inside]
    for d in range(1, m - 1):
        opened[d] = before[d - 1] + (to_first if d == 1 else x)
    # Segments that have just become longer, and those that are.
    opened[m - 1] = before[m - 2] + (to_first if m == 2 else x)
    if before[m - 1] + x > opened[m - 1]:
        opened[m - 1] = before[m - 1] + x
    else:
        work.begun[k] = t - m + 1


cdef void _trace(
    int64_t start, int64_t t, int32_t label, BatchSegments segments, int64_t n, int32_t[::1] y,
    Work *work,
) noexcept nogil:
    """Write the labels of the best segmentation that ends at token t with a label."""
    cdef:
        int64_t n_types = segments.by_length.shape[0], k, kind, a, b
    while True:
        kind = -1
        for k in range(n_types):
            if segments.last[k] == label:
                kind = k
        a = t if kind < 0 else work.first[(t - start) * n_types + kind]
        y[t] = label
        if a < t:
            y[a] = segments.first[kind]
            for b in range(a + 1, t):
                y[b] = segments.inside[kind]
        label = work.previous[(a - start) * n + y[a]]
        if a == start:
            return
        t = a - 1
