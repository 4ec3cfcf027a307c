"""Logarithms of sums of exponentials."""

from libc.math cimport INFINITY, NAN, exp, isnan, log
from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.edges cimport maximum


cdef inline double log_of_sum(const double *x, int64_t n) noexcept nogil:
    """log sum_j exp(x_j); NaN if one of the numbers is NaN or inf."""
    cdef:
        int64_t j
        double top = maximum(x, n), total = 0.0
    if top == -INFINITY:
        for j in range(n):
            if isnan(x[j]):
                return NAN
        return top
    for j in range(n):
        total += exp(x[j] - top)
    return top + log(total)
