"""Where arrays begin, for fields of structures; whoever fills the field keeps the array."""

from libc.stdint cimport int64_t


cdef inline const int64_t *integers_at(const int64_t[::1] x) noexcept:
    """The first number, NULL if there is none."""
    return &x[0] if x.shape[0] else NULL


cdef inline const double *numbers_at(const double[::1] x) noexcept:
    """The first number, NULL if there is none."""
    return &x[0] if x.shape[0] else NULL
