"""The best ways to a label, of the k best ways to each label of the token before."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t


cdef struct Heap:
    int64_t size
    double *score
    int32_t *label


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


cdef inline void best_ways(
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
