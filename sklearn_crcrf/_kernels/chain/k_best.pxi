# The k best paths of a chain; see chain/edges.pxd for the scores.
#
#     delta_t(j, r) = state[t, j] + the r-th largest of all delta_{t-1}(i, q) + transition_t(i, j)
#
# As delta_{t-1}(i, q) decreases in q, the lists of all labels i are merged with a heap, in
# n + k log n steps (Huang and Chiang 2005, algorithm 2).

cdef inline bint comes_first(
    double score, int32_t label, double other, int32_t other_label
) noexcept nogil:
    """Whether an entry comes first: by its higher score, or by its smaller label at a tie."""
    return score > other or (score == other and label < other_label)


cdef inline void insert(
    double score, int32_t label, double *scores, int32_t *labels, int64_t at
) noexcept nogil:
    """Insert into a decreasing list, which is a heap, of the entries before ``at``."""
    while at > 0 and score > scores[at - 1]:
        scores[at] = scores[at - 1]
        labels[at] = labels[at - 1]
        at -= 1
    scores[at] = score
    labels[at] = label


cdef inline void sink(Heap *heap, int64_t at) noexcept nogil:
    """Move an entry down until no entry below it comes first."""
    cdef:
        double score = heap.score[at]
        int32_t label = heap.label[at]
        int64_t child = 2 * at + 1
    while child < heap.size:
        if child + 1 < heap.size and comes_first(
            heap.score[child + 1], heap.label[child + 1], heap.score[child], heap.label[child]
        ):
            child += 1
        if not comes_first(heap.score[child], heap.label[child], score, label):
            break
        heap.score[at] = heap.score[child]
        heap.label[at] = heap.label[child]
        at = child
        child = 2 * at + 1
    heap.score[at] = score
    heap.label[at] = label


cdef void best_ways(
    const double *before,          # (n, k) delta of the token before, decreasing IN
    int64_t stride,                # from row to row of before
    const double *into,            # (n,) scores of the transitions into the label IN
    int64_t n, int64_t k,
    Heap *heap,                    # of n entries
    int64_t *taken,                # (n,) how many ways came from each label
    double *scores,                # (k,) decreasing OUT
    int32_t *origins,              # (k,) i * k + q OUT, where a way is possible
) noexcept nogil:
    cdef:
        int64_t i, r, most = min(n, k)
        double score, worst = -INFINITY
    heap.size = 0
    for i in range(n):
        score = before[i * stride] + into[i]
        if score > worst:
            taken[i] = 0
            insert(score, <int32_t>i, heap.score, heap.label, min(heap.size, most - 1))
            if heap.size < most:
                heap.size += 1
            if heap.size == most:
                worst = heap.score[most - 1]
    for r in range(k):
        if heap.size == 0:
            scores[r] = -INFINITY
            continue
        i = heap.label[0]
        scores[r] = heap.score[0]
        origins[r] = <int32_t>(i * k + taken[i])
        taken[i] += 1
        score = before[i * stride + taken[i]] + into[i] if taken[i] < k else -INFINITY
        if score > -INFINITY:
            heap.score[0] = score
        else:
            heap.size -= 1
            heap.score[0] = heap.score[heap.size]
            heap.label[0] = heap.label[heap.size]
        sink(heap, 0)


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
