/* Numbers in the upper half of the bytes of a float: its range, and the precision of 8 bits. */

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

/* The nearest one, that with an even last bit of two. */
static inline uint16_t narrow(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
