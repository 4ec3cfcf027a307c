"""The functions of maxima.h."""

from libc.stdint cimport int64_t, uint64_t


cdef extern from "maxima.h" nogil:
    ctypedef double vector_d
    void copy_scores "COPY_SCORES"(const void *scores, int64_t n, double *out, vector_d *sum)
    bint is_finite(vector_d x)
    vector_d splat_d(double x)
    int64_t first_equal(const double *x, const double *y, int64_t width, vector_d top)
    int64_t first_largest(const double *x, const double *y, int64_t width)
    int64_t first_largest_found(
        const double *x, const double *y, const uint64_t *found, int64_t width
    )
    void find_rivals(
        const double *x, const double *gain, int64_t best, int64_t width, uint64_t *found
    )
    vector_d add_maxima(
        int64_t best, const uint64_t *found, const double *x, const double *matrix,
        int64_t width, const double *least, double *out
    )
    void add_all_maxima(
        const double *x, int64_t n_rows, const double *matrix, int64_t n, int64_t width,
        double *out
    )
