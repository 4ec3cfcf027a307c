/* Functions for double, with the suffix _d, from here on. */
#include "no_type.h"
#define REAL double
#define INTEGER int64_t
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
/* The bits of 1, of sqrt(1/2), and of 2 ** MANTISSA_BITS. */
#define ONE 0x3ff0000000000000
#define ROOT 0x3fe6a09e667f3bcd
#define MAGIC 0x4330000000000000
#define NAME(x) x##_d
#define MAXIMUM INSTRUCTION(max_pd)
#define MINIMUM INSTRUCTION(min_pd)
