from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.vectors cimport real


cdef void add_sparse_rows(
    const int32_t *rows, const real *factors, int64_t n, const int64_t *indptr,
    const int32_t *columns, const real *values, real *out
) noexcept nogil
