from libc.stdint cimport int32_t, int64_t


cdef struct Heap:
    int64_t size
    double *score
    int32_t *label


cdef void best_ways(
    const double *before,          # (n, k) delta of the token before, decreasing IN
    int64_t stride,                # from row to row of before
    const double *into,            # (n,) scores of the transitions into the label IN
    int64_t n, int64_t k,
    Heap *heap,                    # of n entries
    int64_t *taken,                # (n,) how many ways came from each label
    double *scores,                # (k,) decreasing OUT
    int32_t *origins,              # (k,) i * k + q OUT, where a way is possible
) noexcept nogil
