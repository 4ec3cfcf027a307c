/* Rows with a number for each binary model, padded to a multiple of a vector. Included by
   tree/binary_labels.h for each type. */

#if defined(VECTOR_BYTES)
#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))
#define VECTOR NAME(vector)
#define MASK NAME(mask)
#define AT(address) (*(VECTOR *)(address))

/* log(x) of normal x > 0, as in graph/logarithms.h; the series is cut where digits end. */
INLINE VECTOR NAME(log_of)(VECTOR x) {
    MASK k = ((MASK)x + (INTEGER)(ONE - ROOT)) >> MANTISSA_BITS;
    VECTOR m = (VECTOR)((MASK)x - ((k - (INTEGER)EXPONENT_BIAS) << MANTISSA_BITS));
    /* The integer in the low bits of MAGIC is a number. */
    VECTOR power = (VECTOR)(k | (INTEGER)MAGIC) -
                   (REAL)((double)((int64_t)1 << MANTISSA_BITS) + EXPONENT_BIAS);
    VECTOR s = (m - 1) / (m + 1), z = s * s, series = NAME(splat)((REAL)(1.0 / 9));
    if (sizeof(REAL) == 8) {
        series = NAME(splat)((REAL)(1.0 / 19));
        series = z * series + (REAL)(1.0 / 17);
        series = z * series + (REAL)(1.0 / 15);
        series = z * series + (REAL)(1.0 / 13);
        series = z * series + (REAL)(1.0 / 11);
        series = z * series + (REAL)(1.0 / 9);
    }
    series = z * series + (REAL)(1.0 / 7);
    series = z * series + (REAL)(1.0 / 5);
    series = z * series + (REAL)(1.0 / 3);
    return power * (REAL)0.6931471805599453 + 2 * (s + s * z * series);
}
#else
#define LANES 1
#define VECTOR REAL
#define AT(address) (*(address))
INLINE REAL NAME(log_of)(REAL x) { return (REAL)log(x); }
#endif

/* The weights of both bits for log-odds c, divided by the larger weight; adds its logarithm. */
INLINE void NAME(weigh_bits)(VECTOR c, VECTOR *zero, VECTOR *one, VECTOR *logarithm) {
    const VECTOR none = NAME(splat)(0), all = NAME(splat)(1);
    VECTOR high = NAME(larger)(c, none), low = NAME(smaller)(c, none);
    VECTOR small = NAME(exp_vector)(low - high);
    *zero = NAME(select)(c > none, small, all);
    *one = NAME(select)(c > none, all, small);
    *logarithm += high;
}

/* A token sends the log-odds that it gives its parent, which are added to ``parent``. Writes the
   probability of bit 1 given each bit of the parent. The constants of the message are added to
   ``logarithm`` or multiplied with ``product``. */
static inline void NAME(send_bits)(const REAL *c, const REAL *const *e, int64_t width, REAL *given_0,
                                   REAL *given_1, REAL *parent, REAL *logarithm, REAL *product) {
    for (int64_t j = 0; j < width; j += LANES) {
        VECTOR zero, one, high = AT(logarithm + j);
        NAME(weigh_bits)(AT(c + j), &zero, &one, &high);
        VECTOR with_0 = AT(e[1] + j) * one, with_1 = AT(e[3] + j) * one;
        VECTOR sum_0 = AT(e[0] + j) * zero + with_0, sum_1 = AT(e[2] + j) * zero + with_1;
        AT(given_0 + j) = with_0 / sum_0;
        AT(given_1 + j) = with_1 / sum_1;
        AT(parent + j) += NAME(log_of)(sum_1 / sum_0);
        AT(logarithm + j) = high;
        AT(product + j) *= sum_0;
    }
}

/* The probability of bit 1 of a token without a parent. */
static inline void NAME(end_bits)(const REAL *c, int64_t width, REAL *p, REAL *logarithm,
                                  REAL *product) {
    for (int64_t j = 0; j < width; j += LANES) {
        VECTOR zero, one, high = AT(logarithm + j);
        NAME(weigh_bits)(AT(c + j), &zero, &one, &high);
        AT(p + j) = one / (zero + one);
        AT(logarithm + j) = high;
        AT(product + j) *= zero + one;
    }
}

/* The probability of bit 1 of a token with a parent, whose place is ``given_0`` from now on; adds
   the probabilities of the pairs (0, 1) and (1, 1), and of bit 1 of the parent. */
static inline void NAME(receive_bits)(const REAL *parent, REAL *given_0, const REAL *given_1,
                                      int64_t width, REAL *pairs_01, REAL *pairs_11,
                                      REAL *parents) {
    for (int64_t j = 0; j < width; j += LANES) {
        VECTOR p = AT(parent + j), with_1 = p * AT(given_1 + j);
        VECTOR with_0 = (1 - p) * AT(given_0 + j);
        AT(given_0 + j) = with_0 + with_1;
        AT(pairs_01 + j) += with_0;
        AT(pairs_11 + j) += with_1;
        AT(parents + j) += p;
    }
}

/* out = weight * (p - gold) */
static inline void NAME(subtract_gold)(REAL weight, const REAL *p, const REAL *gold, int64_t width,
                                       REAL *out) {
    for (int64_t j = 0; j < width; j += LANES)
        AT(out + j) = weight * (AT(p + j) - AT(gold + j));
}

/* out -= x * gold */
static inline void NAME(subtract_gold_scores)(const REAL *x, const REAL *gold, int64_t width,
                                              REAL *out) {
    for (int64_t j = 0; j < width; j += LANES) AT(out + j) -= AT(x + j) * AT(gold + j);
}

/* total += weight * (logarithm + log(product)); both begin anew. */
static inline void NAME(flush_bits)(double weight, int64_t width, REAL *logarithm, REAL *product,
                                    double *total) {
    for (int64_t j = 0; j < width; j += LANES) AT(logarithm + j) += NAME(log_of)(AT(product + j));
    for (int64_t j = 0; j < width; j++) {
        total[j] += weight * logarithm[j];
        logarithm[j] = 0;
        product[j] = 1;
    }
}

#undef LANES
#undef VECTOR
#undef MASK
#undef AT
