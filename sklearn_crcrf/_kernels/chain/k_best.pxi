# The k best paths of a chain; see chain/edges.pxd for the scores.
#
#     delta_t(j, r) = state[t, j] + the r-th largest of all delta_{t-1}(i, q) + transition_t(i, j)
#
# As delta_{t-1}(i, q) decreases in q, the lists of all labels i are merged with a heap, in
# n + k log n steps (Huang and Chiang 2005, algorithm 2).

def k_best(
    BatchScores batch,             # IN
    int64_t s,                     # number of the sequence
    const double[:, ::1] state,    # (n_tokens, n_labels) of all sequences IN
    const double[:, ::1] transposed,  # (n_labels, n_labels) transition.T IN
    int32_t[:, ::1] labels,        # (k, length) OUT
    double[::1] values,            # (k,) decreasing OUT, -inf where there are fewer paths
):
    """The k best paths of one sequence of at least one token; length * n * k is below 2^31."""
    cdef:
        const double[::1] begin = batch.begin, end = batch.end
        int64_t first = batch.offsets[s], length = batch.offsets[s + 1] - first
        int64_t n = transposed.shape[0], k = values.shape[0]
        int64_t t, i, j, q, at, row
        double[:, :, ::1] delta
        int32_t[:, :, ::1] origin
        int32_t[::1] last
        double[:, ::1] scores = np.array(transposed)
        double[::1] heap_score = np.empty(n)
        int32_t[::1] heap_label = np.empty(n, dtype=np.int32)
        int64_t[::1] taken = np.empty(n, dtype=np.int64)
        Heap heap = Heap(0, &heap_score[0], &heap_label[0])
        Edges edges = batch.edges
    delta = np.full((2, n, k), -np.inf)
    origin = np.zeros((length, n, k), dtype=np.int32)
    last = np.zeros(k, dtype=np.int32)
    with nogil:
        for j in range(n):
            delta[0, j, 0] = begin[j] + state[first, j]
        for t in range(1, length):
            row = edges.row[first + t]
            if row >= 0:
                for at in range(edges.indptr[row], edges.indptr[row + 1]):
                    scores[edges.current[at], edges.previous[at]] = edges.score[at]
            for j in range(n):
                best_ways(
                    &delta[(t - 1) % 2, 0, 0], k, &scores[j, 0], n, k, &heap, &taken[0],
                    &delta[t % 2, j, 0], &origin[t, j, 0],
                )
                for q in range(k):
                    delta[t % 2, j, q] += state[first + t, j]
            if row >= 0:
                for at in range(edges.indptr[row], edges.indptr[row + 1]):
                    i = edges.previous[at]
                    j = edges.current[at]
                    scores[j, i] = transposed[j, i]
        best_ways(
            &delta[(length - 1) % 2, 0, 0], k, &end[0], n, k, &heap, &taken[0],
            &values[0], &last[0],
        )
        for q in range(k):
            at = last[q]
            for t in range(length - 1, -1, -1):
                labels[q, t] = <int32_t>(at // k)
                at = origin[t, at // k, at % k]
