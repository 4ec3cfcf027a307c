/* Logarithms of rows of positive numbers, in vector registers; see vectors.h. */

#ifndef SKLEARN_CRCRF_LOGARITHMS_H
#define SKLEARN_CRCRF_LOGARITHMS_H

#include "vectors.h"

#if defined(VECTOR_BYTES)
#define LOG_LANES ((int)(VECTOR_BYTES / sizeof(double)))
typedef uint64_t bits_d __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/* log(x) of normal x > 0: with x = 2^k m and sqrt(1/2) <= m < sqrt(2), and s = (m - 1) / (m + 1),
   log(x) = k log(2) + 2 s (1 + s^2/3 + s^4/5 + ...). */
INLINE vector_d log_vector(vector_d x) {
    const uint64_t one = 0x3ff0000000000000, root = 0x3fe6a09e667f3bcd;
    bits_d k = ((bits_d)x + (one - root)) >> 52;
    vector_d m = (vector_d)((bits_d)x - ((k - 1023) << 52));
    /* The integer in the low bits of 2^52 is a number. */
    vector_d power = (vector_d)(k | 0x4330000000000000) - (4503599627370496.0 + 1023);
    vector_d s = (m - 1) / (m + 1), z = s * s, zz = z * z;
    vector_d even = zz * (1.0 / 19) + 1.0 / 15, odd = zz * (1.0 / 17) + 1.0 / 13;
    even = zz * even + 1.0 / 11;
    odd = zz * odd + 1.0 / 9;
    even = zz * even + 1.0 / 7;
    odd = zz * odd + 1.0 / 5;
    even = zz * even + 1.0 / 3;
    vector_d tail = z * (z * odd + even);
    return power * 6.93147180369123816490e-01 +
           (2 * s + (2 * s * tail + power * 1.90821492927058770002e-10));
}
#else
#define LOG_LANES 1
#define log_vector log
#endif

/* x = log(x), to the end of a vector. */
static inline void logarithms(double *x, int64_t size) {
#if defined(VECTOR_BYTES)
    for (int64_t j = 0; j < size; j += LOG_LANES)
        *(vector_d *)(x + j) = log_vector(*(vector_d *)(x + j));
#else
    for (int64_t j = 0; j < size; j++) x[j] = log(x[j]);
#endif
}

#endif
