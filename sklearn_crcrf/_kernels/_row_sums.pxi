# Sums of rows of a matrix: state scores X @ W, and their gradient X.T @ D.

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.vectors cimport add_sum, fetch_row, real

# Rows of the result so many ahead are fetched from memory.
cdef enum: NEXT = 8


def add_row_sums(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] indices,
    const real[::1] values,
    const int32_t[::1] target,     # (n_rows,) IN
    const real[:, ::1] matrix,     # (n_columns, n) IN
    real[:, ::1] out,              # (n_targets, n) INOUT
    int64_t start,
    int64_t stop,
    int64_t origin,
):
    """out[target[r] - origin] += sum_k values[k] * matrix[indices[k]], for r in start:stop."""
    cdef int64_t r, n = matrix.shape[1], first
    if start >= stop or n == 0:
        return
    with nogil:
        for r in range(start, stop):
            first = indptr[r]
            if first == indptr[r + 1]:
                continue
            if r + NEXT < stop:
                fetch_row(&out[target[r + NEXT] - origin, 0], n)
            add_sum(
                &indices[first], &values[first], indptr[r + 1] - first,
                indptr[stop] - indptr[r + 1], &matrix[0, 0], n, &out[target[r] - origin, 0],
            )
