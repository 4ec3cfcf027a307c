/* Rows of numbers. Included by vectors.h for each type: REAL with its MANTISSA_BITS, INTEGER of the
   same size, and NAME, which adds the suffix. */

#if defined(VECTOR_BYTES)
#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))
#define UNALIGNED __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias))
typedef REAL NAME(vector) UNALIGNED;
typedef INTEGER NAME(mask) UNALIGNED;
#undef UNALIGNED
#define VECTOR NAME(vector)
#define MASK NAME(mask)
#define AT(address) (*(VECTOR *)(address))

INLINE VECTOR NAME(splat)(REAL x) { return x - (VECTOR){0}; }
INLINE VECTOR NAME(select)(MASK where, VECTOR a, VECTOR b) {
    return (VECTOR)((where & (MASK)a) | (~where & (MASK)b));
}
/* The larger and the smaller of two numbers, b if one is NaN. Compilers do not find these
   instructions by themselves. */
#if defined(__SSE2__)
INLINE VECTOR NAME(larger)(VECTOR a, VECTOR b) { return (VECTOR)MAXIMUM(a, b); }
INLINE VECTOR NAME(smaller)(VECTOR a, VECTOR b) { return (VECTOR)MINIMUM(a, b); }
#else
INLINE VECTOR NAME(larger)(VECTOR a, VECTOR b) { return NAME(select)(a > b, a, b); }
INLINE VECTOR NAME(smaller)(VECTOR a, VECTOR b) { return NAME(select)(a < b, a, b); }
#endif
/* Swap neighbouring groups of ``half`` lanes. */
INLINE VECTOR NAME(swap)(VECTOR x, const int half) {
    VECTOR swapped;
    UNROLL for (int i = 0; i < LANES; i++) swapped[i] = x[i ^ half];
    return swapped;
}
INLINE REAL NAME(add_lanes)(VECTOR x) {
    UNROLL for (int half = LANES / 2; half; half /= 2) x += NAME(swap)(x, half);
    return x[0];
}
INLINE REAL NAME(largest_lane)(VECTOR x) {
    UNROLL for (int half = LANES / 2; half; half /= 2) x = NAME(larger)(x, NAME(swap)(x, half));
    return x[0];
}

/* exp(x) of x <= 0, zero where it would underflow: 2^n exp(r) with |r| <= log(2)/2, by Taylor. */
INLINE VECTOR NAME(exp_vector)(VECTOR x) {
    const int is_double = sizeof(REAL) == 8;
    const REAL lowest = is_double ? -708 : -87;
    /* Adding this rounds to an integer, which is then in the low bits. */
    const REAL rounding = is_double ? 6755399441055744.0 : 12582912.0;
    VECTOR shifted = x * (REAL)1.4426950408889634 + rounding;
    VECTOR n = shifted - rounding;
    VECTOR r = x - n * (REAL)(is_double ? 6.93145751953125e-1 : 0.693359375);
    r = r - n * (REAL)(is_double ? 1.42860682030941723212e-6 : -2.12194440e-4);
    /* Even and odd powers are summed apart, so that additions can overlap. */
    VECTOR even = NAME(splat)((REAL)(1.0 / 720)), odd = NAME(splat)((REAL)(1.0 / 5040)), rr = r * r;
    if (is_double) {
        even = rr * (REAL)(1.0 / 479001600) + (REAL)(1.0 / 3628800);
        even = rr * even + (REAL)(1.0 / 40320);
        even = rr * even + (REAL)(1.0 / 720);
        odd = rr * (REAL)(1.0 / 6227020800.0) + (REAL)(1.0 / 39916800);
        odd = rr * odd + (REAL)(1.0 / 362880);
        odd = rr * odd + (REAL)(1.0 / 5040);
    }
    even = rr * even + (REAL)(1.0 / 24);
    even = rr * even + (REAL)0.5;
    even = rr * even + (REAL)1;
    odd = rr * odd + (REAL)(1.0 / 120);
    odd = rr * odd + (REAL)(1.0 / 6);
    odd = rr * odd + (REAL)1;
    VECTOR p = r * odd + even;
    MASK power = ((MASK)shifted << MANTISSA_BITS) + (MASK)NAME(splat)(1);
    return (VECTOR)((MASK)(p * (VECTOR)power) & (x > lowest));
}
#else
#define LANES 1
#define VECTOR REAL
#define AT(address) (*(address))
INLINE REAL NAME(splat)(REAL x) { return x; }
INLINE REAL NAME(select)(int where, REAL a, REAL b) { return where ? a : b; }
INLINE REAL NAME(larger)(REAL a, REAL b) { return a > b ? a : b; }
INLINE REAL NAME(smaller)(REAL a, REAL b) { return a < b ? a : b; }
INLINE REAL NAME(add_lanes)(REAL x) { return x; }
INLINE REAL NAME(largest_lane)(REAL x) { return x; }
INLINE REAL NAME(exp_vector)(REAL x) { return (REAL)exp(x); }
#endif

static inline int64_t NAME(padded)(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Where the vector after j numbers of a row of n begins: the last may overlap the one before it. */
INLINE int64_t NAME(place)(int64_t j, int64_t n) {
    return j + LANES <= n || n < LANES ? j : n - LANES;
}

/* The vector at a place of a row of n numbers. If the row is shorter than a vector, ``otherwise``
   fills the lanes behind it: memory there may hold any values. */
INLINE VECTOR NAME(load)(const REAL *row, int64_t place, int64_t n, REAL otherwise) {
#if defined(VECTOR_BYTES)
    if (n < LANES) {
        MASK lane;
        for (int i = 0; i < LANES; i++) lane[i] = i;
        return NAME(select)(lane < (INTEGER)n, AT(row), NAME(splat)(otherwise));
    }
#endif
    return AT(row + place);
}

/* A row of n scores minus shift; lowers low to its least finite value, and raises high to its
   largest. */
INLINE void NAME(shift_row)(const REAL *row, int64_t n, VECTOR shift, REAL *out, VECTOR *low,
                            VECTOR *high) {
    for (int64_t j = 0; j < n; j += LANES) {
        int64_t place = NAME(place)(j, n);
        VECTOR x = NAME(load)(row, place, n, -INFINITY) - shift;
        AT(out + place) = x;
        *high = NAME(larger)(*high, x);
        *low = NAME(smaller)(*low, NAME(select)(x > -INFINITY, x, NAME(splat)(0)));
    }
}

/* Copy rows of n scores, and find the largest of their absolute values; inf if one is NaN. */
INLINE void NAME(copy_rows)(const int64_t vectors, const REAL *const *scores, int64_t n_rows,
                            int64_t n, REAL *out, REAL *largest) {
    VECTOR low = NAME(splat)(0), high = low, sum = low;
    for (int64_t b = 0; b < n_rows; b++, out += n) {
        VECTOR of_row = low;
        UNROLL for (int64_t v = 0; v < vectors; v++) {
            int64_t place = v == vectors - 1 && vectors > 1 ? n - LANES : v * LANES;
            VECTOR x = vectors > 1 ? AT(scores[b] + place) : NAME(load)(scores[b], 0, n, 0);
            AT(out + place) = x;
            /* NaN is ignored, as it is the first argument. */
            high = NAME(larger)(x, high);
            low = NAME(smaller)(x, low);
            if (v) of_row += x;
            else of_row = x;
        }
        sum += of_row;
    }
    /* If scores are moderate, their sum is NaN only if a score is. */
    VECTOR infinite = NAME(select)(sum == sum, NAME(splat)(0), NAME(splat)(INFINITY));
    *largest = NAME(largest_lane)(NAME(larger)(infinite, NAME(larger)(high, -low)));
}

/* Whether one of n scores is NaN. */
INLINE int NAME(has_nan)(const REAL *row, int64_t n) {
    int found = 0;
    for (int64_t j = 0; j < n; j++) found |= row[j] != row[j];
    return found;
}

/* Rows of n scores; rows for which exp could overflow or underflow have their maximum subtracted,
   which is written to top, else 0. Returns a lower bound, at most zero, of the finite results. No
   row is padded, but a whole vector is read and written for a row that is shorter. */
static inline REAL NAME(shift_rows)(const REAL *const *scores, int64_t n_rows, int64_t n, REAL *out,
                                    REAL *top) {
    const REAL moderate = sizeof(REAL) == 8 ? 60 : 20;
    const VECTOR zero = NAME(splat)(0);
    REAL largest;
    BY_VECTORS(NAME(padded)(n) / LANES, NAME(copy_rows), scores, n_rows, n, out, &largest);
    for (int64_t b = 0; b < n_rows; b++) top[b] = 0;
    if (largest < moderate) return -largest;
    VECTOR low = zero;
    for (int64_t b = 0; b < n_rows; b++, out += n) {
        VECTOR row_low = zero, row_high = NAME(splat)(-INFINITY);
        NAME(shift_row)(scores[b], n, zero, out, &row_low, &row_high);
        REAL highest = NAME(largest_lane)(row_high);
        if (!(NAME(largest_lane)(NAME(larger)(row_high, -row_low)) < moderate)) {
            top[b] = highest;
            row_low = zero;
            NAME(shift_row)(scores[b], n, NAME(splat)(highest), out, &row_low, &row_high);
        }
        if (NAME(has_nan)(scores[b], n)) top[b] = NAN;
        low = NAME(smaller)(low, row_low);
    }
    return -NAME(largest_lane)(-low);
}

/* The least finite number of a row of n, read as by shift_rows; inf if there is none. */
static inline REAL NAME(least_finite)(const REAL *row, int64_t n) {
    VECTOR low = NAME(splat)(INFINITY);
    for (int64_t j = 0; j < n; j += LANES) {
        VECTOR x = NAME(load)(row, NAME(place)(j, n), n, -INFINITY);
        low = NAME(smaller)(low, NAME(select)(x > -INFINITY, x, NAME(splat)(INFINITY)));
    }
    return -NAME(largest_lane)(-low);
}

/* The least number above zero of a row of probabilities; inf if there is none. */
static inline REAL NAME(least_positive)(const REAL *row, int64_t width) {
    VECTOR low = NAME(splat)(INFINITY);
    for (int64_t j = 0; j < width; j += LANES) {
        VECTOR x = AT(row + j);
        low = NAME(smaller)(low, NAME(select)(x > 0, x, NAME(splat)(INFINITY)));
    }
    return -NAME(largest_lane)(-low);
}

/* out = exp(score - top), of n scores, read as by shift_rows. */
static inline void NAME(exponentiate)(const REAL *score, int64_t n, REAL top, REAL *out) {
    VECTOR shift = NAME(splat)(top > -INFINITY ? top : 0);
    int64_t last = n < LANES ? 0 : n - LANES;
    /* out may be score. */
    VECTOR end = NAME(exp_vector)(NAME(load)(score, last, n, -INFINITY) - shift);
    for (int64_t j = 0; j < last; j += LANES)
        AT(out + j) = NAME(exp_vector)(NAME(load)(score, j, n, -INFINITY) - shift);
    AT(out + last) = end;
}

/* x = exp(x), to the end of a vector. */
static inline void NAME(exponentials)(REAL *x, int64_t size) {
    for (int64_t j = 0; j < size; j += LANES) AT(x + j) = NAME(exp_vector)(AT(x + j));
}

/* x = exp(x) of n numbers; returns the largest of their absolute values, inf if one is NaN. The
   exponentials are right if that is at most 80, for doubles 700. */
static inline REAL NAME(exponentiate_row)(REAL *x, int64_t n) {
    VECTOR high = NAME(splat)(0), nothing = high;
    int64_t whole = n / LANES * LANES;
    for (int64_t j = 0; j < whole; j += LANES) {
        VECTOR own = AT(x + j);
        high = NAME(larger)(NAME(larger)(own, -own), high);
        nothing += own - own;
        AT(x + j) = NAME(exp_vector)(own);
    }
    if (whole < n) {
        REAL rest[LANES] = {0};
        memcpy(rest, x + whole, (n - whole) * sizeof(REAL));
        VECTOR own = AT(rest);
        high = NAME(larger)(NAME(larger)(own, -own), high);
        nothing += own - own;
        AT(rest) = NAME(exp_vector)(own);
        memcpy(x + whole, rest, (n - whole) * sizeof(REAL));
    }
    return NAME(add_lanes)(nothing) == 0 ? NAME(largest_lane)(high) : INFINITY;
}

INLINE void NAME(multiply_vectors)(const int64_t vectors, const double *factor, int64_t n_rows,
                                   const REAL *b, int64_t n, REAL *a, double *sum) {
    for (int64_t r = 0; r < n_rows; r++, a += vectors * LANES, b += n) {
        VECTOR total = NAME(splat)(0);
        UNROLL for (int64_t v = 0; v < vectors; v++) {
            VECTOR product = (REAL)factor[r] * AT(a + v * LANES) * AT(b + v * LANES);
            AT(a + v * LANES) = product;
            total += product;
        }
        sum[r] = NAME(add_lanes)(total);
    }
}

/* a *= factor * b, and the sums of the rows of the result. Rows of b are not padded, but read to
   the end of a vector. */
static inline void NAME(multiply)(const double *factor, int64_t n_rows, const REAL *b, int64_t n,
                                  REAL *a, double *sum) {
    BY_VECTORS(NAME(padded)(n) / LANES, NAME(multiply_vectors), factor, n_rows, b, n, a, sum);
}

/* out = base + factor * a * b, of n numbers; out is not padded, and may be the base. */
INLINE void NAME(add_products)(REAL factor, const REAL *a, const REAL *b, int64_t n,
                               const REAL *base, REAL *out) {
    int64_t last = n - LANES;
    if (last < 0) {
        for (int64_t j = 0; j < n; j++) out[j] = base[j] + factor * a[j] * b[j];
        return;
    }
    /* The last vector may overlap the one before it. */
    VECTOR end = AT(base + last) + factor * AT(a + last) * AT(b + last);
    for (int64_t j = 0; j < last; j += LANES)
        AT(out + j) = AT(base + j) + factor * AT(a + j) * AT(b + j);
    AT(out + last) = end;
}

INLINE void NAME(both_products_vectors)(const int64_t vectors, const double *factor, int64_t n_rows,
                                        int64_t back, const REAL *a, const REAL *b, const REAL *c,
                                        int64_t n, REAL *products, const REAL *base,
                                        REAL *const *out) {
    for (int64_t r = 0; r < n_rows; r++, a += vectors * LANES, b += vectors * LANES, c += n) {
        NAME(add_products)(1, a, b, n, base ? base : out[r], out[r]);
        UNROLL for (int64_t v = 0; v < vectors; v++, products += LANES) {
            PREFETCH(a + (v - back * vectors) * LANES);
            PREFETCH(c + v * LANES - back * n);
            PREFETCH(out[r] + v * LANES - n);
            AT(products) = (REAL)factor[r] * AT(b + v * LANES) * AT(c + v * LANES);
        }
    }
}

/* For each row: out = base + a * b, and products = factor * b * c. The base is one row, or NULL to
   add to out. Rows of c and out are not padded, but rows of c are read to the end of a vector. The
   rows that are ``back`` rows before, and the row before each of out, are fetched from memory. */
static inline void NAME(both_products)(const double *factor, int64_t n_rows, int64_t back,
                                       const REAL *a, const REAL *b, const REAL *c, int64_t n,
                                       REAL *products, const REAL *base, REAL *const *out) {
    BY_VECTORS(NAME(padded)(n) / LANES, NAME(both_products_vectors), factor, n_rows, back, a, b, c,
               n, products, base, out);
}

/* out = factor * a * b */
static inline void NAME(products)(REAL factor, const REAL *a, const REAL *b, int64_t width,
                                  REAL *out) {
    for (int64_t j = 0; j < width; j += LANES) AT(out + j) = factor * AT(a + j) * AT(b + j);
}

/* out = factor * a */
static inline void NAME(scale)(REAL factor, const REAL *a, int64_t width, REAL *out) {
    for (int64_t j = 0; j < width; j += LANES) AT(out + j) = factor * AT(a + j);
}

/* out += factor * row, of n numbers, neither of them padded. */
static inline void NAME(add_row)(REAL factor, const REAL *row, int64_t n, REAL *out) {
    int64_t last = n - LANES;
    if (last < 0) {
        for (int64_t j = 0; j < n; j++) out[j] += factor * row[j];
        return;
    }
    /* The last vector may overlap the one before it. */
    VECTOR end = AT(out + last) + factor * AT(row + last);
    for (int64_t j = 0; j < last; j += LANES) AT(out + j) += factor * AT(row + j);
    AT(out + last) = end;
}

/* out = a / b, zero where b is not above zero */
static inline void NAME(quotients)(const REAL *a, const REAL *b, int64_t width, REAL *out) {
    const VECTOR zero = NAME(splat)(0);
    for (int64_t j = 0; j < width; j += LANES)
        AT(out + j) = NAME(select)(AT(b + j) > zero, AT(a + j) / AT(b + j), zero);
}

/* a *= b, zero where b is not above zero */
static inline void NAME(multiply_positive)(const REAL *b, int64_t width, REAL *a) {
    const VECTOR zero = NAME(splat)(0);
    for (int64_t j = 0; j < width; j += LANES)
        AT(a + j) = NAME(select)(AT(b + j) > zero, AT(a + j) * AT(b + j), zero);
}
