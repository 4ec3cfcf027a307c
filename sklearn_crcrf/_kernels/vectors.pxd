"""The functions of vectors.h, each for both types of numbers.

Pointers to void are to numbers of one type, float or double, which the compiler sees.
"""

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
    double shift_rows "SHIFT_ROWS"(
        const void *scores, int64_t n_rows, int64_t n, void *out, void *top
    )
    double least_finite "LEAST_FINITE"(const void *row, int64_t n)
    double least_positive "LEAST_POSITIVE"(const void *row, int64_t width)
    void exponentiate "EXPONENTIATE"(const void *score, int64_t n, double top, void *out)
    void exponentials "EXPONENTIALS"(void *x, int64_t size)
    double exponentiate_row "EXPONENTIATE_ROW"(void *x, int64_t n)
    void multiply "MULTIPLY"(
        const double *factor, int64_t n_rows, const void *b, int64_t n, void *a, double *sum
    )
    void add_products "ADD_PRODUCTS"(
        double factor, const void *a, const void *b, int64_t n, const void *base, void *out
    )
    void both_products "BOTH_PRODUCTS"(
        const double *factor, int64_t n_rows, int64_t back, const void *a, const void *b,
        const void *c, int64_t n, void *products, const void *base, void *out
    )
    void products "PRODUCTS"(double factor, const void *a, const void *b, int64_t width, void *out)
    void quotients "QUOTIENTS"(const void *a, const void *b, int64_t width, void *out)
    void multiply_positive "MULTIPLY_POSITIVE"(const void *b, int64_t width, void *a)
    void scale "SCALE"(double factor, const void *a, int64_t width, void *out)
    void pack "PACK"(
        const double *matrix, int64_t n, int64_t row_stride, int64_t column_stride, void *out
    )
    void product "PRODUCT"(
        const void *a, int64_t n_rows, const void *packed, int64_t n, int64_t width, void *out
    )
    void outer_products "OUTER_PRODUCTS"(
        const void *a, const void *b, int64_t n_rows, int64_t n, int64_t width, void *out
    )
    void fetch_row "FETCH_ROW"(const void *row, int64_t n)
    void add_row "ADD_ROW"(double factor, const void *row, int64_t n, void *out)
    void add_sum "ADD_SUM"(
        const int32_t *index, const void *value, int64_t count, int64_t n_more,
        const void *matrix, int64_t n, const void *base, void *out
    )
