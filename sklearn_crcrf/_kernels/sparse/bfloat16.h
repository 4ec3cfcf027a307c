/* The upper half of a float: a number with the range of float and 8 bits of precision. */

#ifndef SKLEARN_CRCRF_BFLOAT16_H
#define SKLEARN_CRCRF_BFLOAT16_H

#include <stdint.h>
#include <string.h>

static inline float widen(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest such number; at a tie the one whose last bit is 0. */
static inline uint16_t narrow(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
