/* Products of rows and matrices with max in place of the sum and + in place of the product, in
   vector registers. Rows are padded to a multiple of a vector, with -inf or NaN. */

#ifndef SKLEARN_CRCRF_MAXIMA_H
#define SKLEARN_CRCRF_MAXIMA_H

#include "vectors.h"

#if !defined(VECTOR_BYTES)
typedef double vector_d;
#endif
#define LANES ((int)(sizeof(vector_d) / sizeof(double)))
#define AT(address) (*(vector_d *)(address))
/* The number of vectors of a row that the registers can hold. */
#define TILE 8
#define FITTING_TILE(vectors) ((vectors) < TILE ? (vectors) : TILE)

/* Bits of the lanes in which a is at least b, or equal to b. */
#if INSTRUCTIONS == 2
#define AT_LEAST(a, b) ((uint64_t)_mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_GE_OQ))
#define EQUAL(a, b) ((uint64_t)_mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_EQ_OQ))
#elif INSTRUCTIONS == 1
#define AT_LEAST(a, b) ((uint64_t)_mm256_movemask_pd((__m256d)((a) >= (b))))
#define EQUAL(a, b) ((uint64_t)_mm256_movemask_pd((__m256d)((a) == (b))))
#elif defined(VECTOR_BYTES) && defined(__SSE2__)
#define AT_LEAST(a, b) ((uint64_t)_mm_movemask_pd((__m128d)((a) >= (b))))
#define EQUAL(a, b) ((uint64_t)_mm_movemask_pd((__m128d)((a) == (b))))
#elif defined(VECTOR_BYTES)
INLINE uint64_t bits_of(mask_d lanes) { return (uint64_t)((lanes[0] & 1) | (lanes[1] & 2)); }
#define AT_LEAST(a, b) bits_of((a) >= (b))
#define EQUAL(a, b) bits_of((a) == (b))
#else
#define AT_LEAST(a, b) ((uint64_t)((a) >= (b)))
#define EQUAL(a, b) ((uint64_t)((a) == (b)))
#endif

INLINE int lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int i = 0;
    while (!(bits >> i & 1)) i++;
    return i;
#endif
}

/* Copy a row of n scores, and add it to a sum, which shows whether all scores are finite. */
#define DEFINE_COPY(name, real, WIDE_AT)                                                \
    static inline void name(const real *scores, int64_t n, double *out, vector_d *sum) { \
        if (n < LANES) {                                                                \
            double total = 0;                                                           \
            for (int64_t j = 0; j < n; j++) total += out[j] = scores[j];                \
            *sum += total;                                                              \
            return;                                                                     \
        }                                                                               \
        /* Four sums, so that additions can overlap. */                                 \
        vector_d total[4] = {splat_d(0), splat_d(0), splat_d(0), splat_d(0)};           \
        for (int64_t j = 0; j < n; j += 4 * LANES)                                      \
            UNROLL for (int v = 0; v < 4; v++) {                                        \
                /* The last vectors may overlap, or be the same. */                     \
                int64_t place = j + (v + 1) * LANES <= n ? j + v * LANES : n - LANES;   \
                vector_d x = WIDE_AT(scores + place);                                   \
                AT(out + place) = x;                                                    \
                total[v] += x;                                                          \
            }                                                                           \
        *sum += (total[0] + total[1]) + (total[2] + total[3]);                          \
    }
#if defined(VECTOR_BYTES)
typedef float narrow_f __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
#define WIDENED(address) __builtin_convertvector(*(const narrow_f *)(address), vector_d)
#else
#define WIDENED(address) (*(address))
#endif
DEFINE_COPY(copy_scores_d, double, AT)
DEFINE_COPY(copy_scores_f, float, WIDENED)
#define COPY_SCORES(scores, ...) OF_TYPE(copy_scores, scores)(scores, __VA_ARGS__)
#undef WIDENED
#undef DEFINE_COPY

/* Whether all lanes are finite. */
static inline int is_finite(vector_d x) {
    return EQUAL(x - x, splat_d(0)) == ((uint64_t)1 << LANES) - 1;
}

/* The vector at j of x + y, or of x if y is NULL. */
INLINE vector_d sum_at(const double *x, const double *y, int64_t j) {
    vector_d sum = AT(x + j);
    if (y) sum += AT(y + j);
    return sum;
}

INLINE int64_t end_of_word(int64_t start, int64_t width) {
    return width - start < 64 ? width : start + 64;
}

/* The first i with x[i] + y[i] == top, 0 if there is none. */
INLINE int64_t first_equal(const double *x, const double *y, int64_t width, vector_d top) {
    for (int64_t start = 0; start < width; start += 64) {
        uint64_t bits = 0;
        for (int64_t j = start; j < end_of_word(start, width); j += LANES)
            bits |= EQUAL(sum_at(x, y, j), top) << (j - start);
        if (bits) return start + lowest_bit(bits);
    }
    return 0;
}

/* The largest lane, in all lanes. */
INLINE vector_d largest_everywhere(vector_d x) {
#if defined(VECTOR_BYTES)
    UNROLL for (int half = LANES / 2; half; half /= 2) {
        vector_d other;
        UNROLL for (int i = 0; i < LANES; i++) other[i] = x[i ^ half];
        x = larger_d(x, other);
    }
#endif
    return x;
}

/* The first i with the largest x[i] + y[i], of a row that the registers can hold. */
INLINE int64_t first_largest_tile(const int vectors, const double *x, const double *y) {
    vector_d sum[TILE], largest = splat_d(-INFINITY);
    uint64_t bits = 0;
    for (int v = 0; v < vectors; v++) {
        sum[v] = sum_at(x, y, v * LANES);
        largest = larger_d(sum[v], largest);
    }
    largest = largest_everywhere(largest);
    for (int v = 0; v < vectors; v++) bits |= EQUAL(sum[v], largest) << v * LANES;
    return bits ? lowest_bit(bits) : 0;
}

/* The same for any row. */
INLINE int64_t first_largest(const double *x, const double *y, int64_t width) {
#define LARGEST_OF(vectors) return first_largest_tile(vectors, x, y)
    UP_TO_8(width / LANES, LARGEST_OF)
#undef LARGEST_OF
    vector_d largest = splat_d(-INFINITY);
    for (int64_t j = 0; j < width; j += LANES) largest = larger_d(sum_at(x, y, j), largest);
    return first_equal(x, y, width, largest_everywhere(largest));
}

/* Set bit i % 64 of found[i / 64] where x[i] + gain[i] >= x[best], clear it elsewhere. */
INLINE void find_rivals(const double *x, const double *gain, int64_t best, int64_t width,
                        uint64_t *found) {
    vector_d limit = splat_d(x[best]);
    for (int64_t start = 0; start < width; start += 64) {
        uint64_t bits = 0;
        for (int64_t j = start; j < end_of_word(start, width); j += LANES)
            bits |= AT_LEAST(sum_at(x, gain, j), limit) << (j - start);
        found[start / 64] = bits;
    }
}

/* The first i in found with the largest x[i] + y[i], 0 where all of these are -inf or NaN. */
INLINE int64_t first_largest_found(const double *x, const double *y, const uint64_t *found,
                                   int64_t width) {
    int64_t largest = 0;
    double top = -INFINITY;
    for (int64_t word = 0; word < (width + 63) / 64; word++)
        for (uint64_t bits = found[word]; bits; bits &= bits - 1) {
            int64_t i = 64 * word + lowest_bit(bits);
            if (x[i] + y[i] > top) {
                top = x[i] + y[i];
                largest = i;
            }
        }
    return largest;
}

/* Bits without bit i, if it is one of them. */
INLINE uint64_t without(int64_t i, uint64_t bits) {
    return (uint64_t)i < 64 ? bits & ~((uint64_t)1 << i) : bits;
}

/* Some vectors of a row of add_maxima. */
INLINE vector_d maxima_tile(const int vectors, int64_t best, const uint64_t *found, int64_t n_words,
                            const double *x, const double *matrix, int64_t width,
                            const double *least, double *out) {
    vector_d sum[TILE], largest = splat_d(-INFINITY);
    for (int v = 0; v < vectors; v++)
        sum[v] = larger_d(x[best] + AT(matrix + best * width + v * LANES), AT(least + v * LANES));
    for (int64_t word = 0; word < n_words; word++)
        for (uint64_t bits = without(best - 64 * word, found[word]); bits; bits &= bits - 1) {
            int64_t i = 64 * word + lowest_bit(bits);
            for (int v = 0; v < vectors; v++)
                sum[v] = larger_d(x[i] + AT(matrix + i * width + v * LANES), sum[v]);
        }
    for (int v = 0; v < vectors; v++) {
        AT(out + v * LANES) = sum[v] += AT(out + v * LANES);
        largest = larger_d(sum[v], largest);
    }
    return largest;
}

/* out[j] += max(least[j], max_i x[i] + matrix[i, j]) over best and the i in found; return the
   largest out[j]. Often best is the only one, which takes no loop. */
static inline vector_d add_maxima(int64_t best, const uint64_t *found, const double *x,
                                  const double *matrix, int64_t width, const double *least,
                                  double *out) {
    int64_t n_words = (width + 63) / 64;
    vector_d tile, largest = splat_d(-INFINITY);
    for (int64_t j = 0; j < width; j += TILE * LANES) {
#define MAXIMA_TILE(vectors)                                                                  \
    tile = maxima_tile(vectors, best, found, n_words, x, matrix + j, width, least + j, out + j); \
    break
        UP_TO_8(FITTING_TILE((width - j) / LANES), MAXIMA_TILE)
#undef MAXIMA_TILE
        largest = larger_d(tile, largest);
    }
    return largest_everywhere(largest);
}

/* Some rows and vectors of add_all_maxima. */
INLINE void all_maxima_tile(const int rows, const int vectors, const double *x,
                            const double *matrix, int64_t n, int64_t width, double *out) {
    vector_d sum[TILE_ROWS][TILE_VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) sum[r][v] = splat_d(-INFINITY);
    for (int64_t i = 0; i < n; i++, matrix += width)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                sum[r][v] = larger_d(x[r * width + i] + AT(matrix + v * LANES), sum[r][v]);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) AT(out + r * width + v * LANES) += sum[r][v];
}

INLINE void all_maxima_panel(const int vectors, const double *x, int64_t n_rows,
                             const double *matrix, int64_t n, int64_t width, double *out) {
    int64_t r = 0;
    for (; r + TILE_ROWS <= n_rows; r += TILE_ROWS)
        all_maxima_tile(TILE_ROWS, vectors, x + r * width, matrix, n, width, out + r * width);
    for (; r < n_rows; r++)
        all_maxima_tile(1, vectors, x + r * width, matrix, n, width, out + r * width);
}

/* out[r, j] += max_i x[r, i] + matrix[i, j], of rows of n numbers. */
static inline void add_all_maxima(const double *x, int64_t n_rows, const double *matrix, int64_t n,
                                  int64_t width, double *out) {
    for (int64_t p = 0; p < width; p += TILE_VECTORS * LANES) {
        int64_t vectors = (width - p) / LANES;
        BY_TILE(vectors, all_maxima_panel, x, n_rows, matrix + p, n, width, out + p);
    }
}

#undef AT_LEAST
#undef EQUAL
#undef TILE
#undef FITTING_TILE
#undef LANES
#undef AT

#endif
