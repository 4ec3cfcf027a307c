from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.vectors cimport real


cdef void add_sparse_row(
    real factor, const int32_t *columns, const real *values, int64_t n, real *out
) noexcept nogil
