"""The functions of vectors.h, each for both types of numbers."""

from libc.stdint cimport int32_t, int64_t

ctypedef fused real:
    float
    double


cdef extern from "vectors.h" nogil:
    void prefetch "PREFETCH"(const void *address)
    unsigned flush_denormals()
    void restore_denormals(unsigned state)
    int64_t padded_d(int64_t n)
    int64_t padded_f(int64_t n)
    double shift_rows_d(
        const double **scores, int64_t n_rows, int64_t n, double *out, double *top
    )
    float shift_rows_f(const float **scores, int64_t n_rows, int64_t n, float *out, float *top)
    double least_finite_d(const double *row, int64_t n)
    float least_finite_f(const float *row, int64_t n)
    double least_positive_d(const double *row, int64_t width)
    float least_positive_f(const float *row, int64_t width)
    void exponentiate_d(const double *score, int64_t n, double top, double *out)
    void exponentiate_f(const float *score, int64_t n, float top, float *out)
    void exponentials_d(double *x, int64_t size)
    void exponentials_f(float *x, int64_t size)
    double exponentiate_row_d(double *x, int64_t n)
    void multiply_d(
        const double *factor, int64_t n_rows, const double *b, int64_t n, double *a, double *sum
    )
    void multiply_f(
        const double *factor, int64_t n_rows, const float *b, int64_t n, float *a, double *sum
    )
    void add_products_d(
        double factor, const double *a, const double *b, int64_t n, const double *base, double *out
    )
    void add_products_f(
        float factor, const float *a, const float *b, int64_t n, const float *base, float *out
    )
    void both_products_d(
        const double *factor, int64_t n_rows, int64_t back, const double *a, const double *b,
        const double *c, int64_t n, double *products, const double *base, double **out
    )
    void both_products_f(
        const double *factor, int64_t n_rows, int64_t back, const float *a, const float *b,
        const float *c, int64_t n, float *products, const float *base, float **out
    )
    void products_d(double factor, const double *a, const double *b, int64_t width, double *out)
    void products_f(float factor, const float *a, const float *b, int64_t width, float *out)
    void quotients_d(const double *a, const double *b, int64_t width, double *out)
    void quotients_f(const float *a, const float *b, int64_t width, float *out)
    void multiply_positive_d(const double *b, int64_t width, double *a)
    void multiply_positive_f(const float *b, int64_t width, float *a)
    void scale_d(double factor, const double *a, int64_t width, double *out)
    void scale_f(float factor, const float *a, int64_t width, float *out)
    void pack_d(
        const double *matrix, int64_t n, int64_t row_stride, int64_t column_stride, double *out
    )
    void pack_f(
        const double *matrix, int64_t n, int64_t row_stride, int64_t column_stride, float *out
    )
    void product_d(
        const double *a, int64_t n_rows, const double *packed, int64_t n, int64_t width, double *out
    )
    void product_f(
        const float *a, int64_t n_rows, const float *packed, int64_t n, int64_t width, float *out
    )
    void outer_products_d(
        const double *a, const double *b, int64_t n_rows, int64_t n, int64_t width, double *out
    )
    void outer_products_f(
        const float *a, const float *b, int64_t n_rows, int64_t n, int64_t width, float *out
    )
    void fetch_row_d(const double *row, int64_t n)
    void fetch_row_f(const float *row, int64_t n)
    void add_row_d(double factor, const double *row, int64_t n, double *out)
    void add_row_f(float factor, const float *row, int64_t n, float *out)
    void add_sum_d(
        const int32_t *index, const double *value, int64_t count, int64_t n_more,
        const double *matrix, int64_t n, const double *base, double *out
    )
    void add_sum_f(
        const int32_t *index, const float *value, int64_t count, int64_t n_more,
        const float *matrix, int64_t n, const float *base, float *out
    )


cdef inline real shift_rows(
    const real **scores, int64_t n_rows, int64_t n, real *out, real *top
) noexcept nogil:
    if real is double:
        return shift_rows_d(scores, n_rows, n, out, top)
    else:
        return shift_rows_f(scores, n_rows, n, out, top)


cdef inline real least_finite(const real *row, int64_t n) noexcept nogil:
    if real is double:
        return least_finite_d(row, n)
    else:
        return least_finite_f(row, n)


cdef inline real least_positive(const real *row, int64_t width) noexcept nogil:
    if real is double:
        return least_positive_d(row, width)
    else:
        return least_positive_f(row, width)


cdef inline void exponentiate(const real *score, int64_t n, real top, real *out) noexcept nogil:
    if real is double:
        exponentiate_d(score, n, top, out)
    else:
        exponentiate_f(score, n, top, out)


cdef inline void exponentials(real *x, int64_t size) noexcept nogil:
    if real is double:
        exponentials_d(x, size)
    else:
        exponentials_f(x, size)


cdef inline void multiply(
    const double *factor, int64_t n_rows, const real *b, int64_t n, real *a, double *sum
) noexcept nogil:
    if real is double:
        multiply_d(factor, n_rows, b, n, a, sum)
    else:
        multiply_f(factor, n_rows, b, n, a, sum)


cdef inline void add_products(
    real factor, const real *a, const real *b, int64_t n, const real *base, real *out
) noexcept nogil:
    if real is double:
        add_products_d(factor, a, b, n, base, out)
    else:
        add_products_f(factor, a, b, n, base, out)


cdef inline void both_products(
    const double *factor, int64_t n_rows, int64_t back, const real *a, const real *b,
    const real *c, int64_t n, real *products, const real *base, real **out
) noexcept nogil:
    if real is double:
        both_products_d(factor, n_rows, back, a, b, c, n, products, base, out)
    else:
        both_products_f(factor, n_rows, back, a, b, c, n, products, base, out)


cdef inline void products(
    real factor, const real *a, const real *b, int64_t width, real *out
) noexcept nogil:
    if real is double:
        products_d(factor, a, b, width, out)
    else:
        products_f(factor, a, b, width, out)


cdef inline void quotients(
    const real *a, const real *b, int64_t width, real *out
) noexcept nogil:
    if real is double:
        quotients_d(a, b, width, out)
    else:
        quotients_f(a, b, width, out)


cdef inline void multiply_positive(const real *b, int64_t width, real *a) noexcept nogil:
    if real is double:
        multiply_positive_d(b, width, a)
    else:
        multiply_positive_f(b, width, a)


cdef inline void scale(real factor, const real *a, int64_t width, real *out) noexcept nogil:
    if real is double:
        scale_d(factor, a, width, out)
    else:
        scale_f(factor, a, width, out)


cdef inline void pack(
    const double *matrix, int64_t n, int64_t row_stride, int64_t column_stride, real *out
) noexcept nogil:
    if real is double:
        pack_d(matrix, n, row_stride, column_stride, out)
    else:
        pack_f(matrix, n, row_stride, column_stride, out)


cdef inline void product(
    const real *a, int64_t n_rows, const real *packed, int64_t n, int64_t width, real *out
) noexcept nogil:
    if real is double:
        product_d(a, n_rows, packed, n, width, out)
    else:
        product_f(a, n_rows, packed, n, width, out)


cdef inline void outer_products(
    const real *a, const real *b, int64_t n_rows, int64_t n, int64_t width, real *out
) noexcept nogil:
    if real is double:
        outer_products_d(a, b, n_rows, n, width, out)
    else:
        outer_products_f(a, b, n_rows, n, width, out)


cdef inline void fetch_row(const real *row, int64_t n) noexcept nogil:
    if real is double:
        fetch_row_d(row, n)
    else:
        fetch_row_f(row, n)


cdef inline void add_row(real factor, const real *row, int64_t n, real *out) noexcept nogil:
    if real is double:
        add_row_d(factor, row, n, out)
    else:
        add_row_f(factor, row, n, out)


cdef inline void add_sum(
    const int32_t *index, const real *value, int64_t count, int64_t n_more,
    const real *matrix, int64_t n, const real *base, real *out
) noexcept nogil:
    if real is double:
        add_sum_d(index, value, count, n_more, matrix, n, base, out)
    else:
        add_sum_f(index, value, count, n_more, matrix, n, base, out)
