/* Functions for float, with the suffix _f, from here on. */
#include "no_type.h"
#define REAL float
#define INTEGER int32_t
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
/* The bits of 1, of sqrt(1/2), and of 2 ** MANTISSA_BITS. */
#define ONE 0x3f800000
#define ROOT 0x3f3504f3
#define MAGIC 0x4b000000
#define NAME(x) x##_f
#define MAXIMUM INSTRUCTION(max_ps)
#define MINIMUM INSTRUCTION(min_ps)
