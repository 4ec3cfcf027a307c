# Products of two sparse matrices, as dense matrices.

# How many entries ahead the start of a row is fetched from memory, then its first numbers.
cdef enum: FAR = 32
cdef enum: NEAR = 16


def add_product(
    const int64_t[::1] indptr,     # of the left matrix, CSR (n_rows, n_inner) IN
    const int32_t[::1] indices,
    const real[::1] data,
    const int64_t[::1] right_indptr,  # of the right matrix, CSR (n_inner, n) IN
    const int32_t[::1] right_indices,
    const real[::1] right_data,
    int64_t start,
    real[:, ::1] out,              # (n_out, n) INOUT
):
    """out[r] += left[start + r] @ right"""
    cdef:
        int64_t r, k, first, stop, inner, end = indptr[start + out.shape[0]]
        const int32_t *columns
        const real *values
    if right_indices.shape[0] == 0:
        return
    # Rows behind the last entry begin where there is none.
    columns, values = &right_indices[0], &right_data[0]
    with nogil:
        for r in range(out.shape[0]):
            for k in range(indptr[start + r], indptr[start + r + 1]):
                if k + FAR < end:
                    prefetch(&right_indptr[indices[k + FAR]])
                    first = right_indptr[indices[k + NEAR]]
                    prefetch(columns + first)
                    prefetch(values + first)
                inner = indices[k]
                first, stop = right_indptr[inner], right_indptr[inner + 1]
                add_sparse_row(data[k], columns + first, values + first, stop - first, &out[r, 0])


cdef void add_sparse_rows(
    const int32_t *rows,           # (n,) of the matrix, CSR
    const real *factors,           # (n,)
    int64_t n,
    const int64_t *indptr,
    const int32_t *columns,
    const real *values,
    real *out,                     # INOUT
) noexcept nogil:
    """out += factors @ matrix[rows]"""
    cdef int64_t k, first
    for k in range(n):
        first = indptr[rows[k]]
        add_sparse_row(factors[k], columns + first, values + first, indptr[rows[k] + 1] - first, out)


cdef inline void add_sparse_row(
    real factor, const int32_t *columns, const real *values, int64_t n, real *out
) noexcept nogil:
    """out += factor * row, of n entries; compiled once, so that all who call it round alike."""
    cdef int64_t m
    for m in range(n):
        out[columns[m]] += factor * values[m]
