/* Sums over the bits of linked tokens, for many binary models at once: a lane for each model. The
   functions are made for float and for double; see vectors.h. */

#ifndef SKLEARN_CRCRF_BINARY_LABELS_H
#define SKLEARN_CRCRF_BINARY_LABELS_H

#include "vectors.h"

#define REAL double
#define INTEGER int64_t
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
/* The bits of 1, of sqrt(1/2), and of 2 ** MANTISSA_BITS. */
#define ONE 0x3ff0000000000000
#define ROOT 0x3fe6a09e667f3bcd
#define MAGIC 0x4330000000000000
#define NAME(x) x##_d
#include "tree/binary_labels_of_type.h"
#undef REAL
#undef INTEGER
#undef MANTISSA_BITS
#undef EXPONENT_BIAS
#undef ONE
#undef ROOT
#undef MAGIC
#undef NAME

#define REAL float
#define INTEGER int32_t
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#define ONE 0x3f800000
#define ROOT 0x3f3504f3
#define MAGIC 0x4b000000
#define NAME(x) x##_f
#include "tree/binary_labels_of_type.h"
#undef REAL
#undef INTEGER
#undef MANTISSA_BITS
#undef EXPONENT_BIAS
#undef ONE
#undef ROOT
#undef MAGIC
#undef NAME

#define SEND_BITS(c, ...) OF_TYPE(send_bits, c)(c, __VA_ARGS__)
#define END_BITS(c, ...) OF_TYPE(end_bits, c)(c, __VA_ARGS__)
#define RECEIVE_BITS(parent, ...) OF_TYPE(receive_bits, parent)(parent, __VA_ARGS__)
#define SUBTRACT_GOLD(weight, p, ...) OF_TYPE(subtract_gold, p)(weight, p, __VA_ARGS__)
#define SUBTRACT_GOLD_SCORES(x, ...) OF_TYPE(subtract_gold_scores, x)(x, __VA_ARGS__)
#define FLUSH_BITS(weight, width, logarithm, ...) \
    OF_TYPE(flush_bits, logarithm)(weight, width, logarithm, __VA_ARGS__)

#endif
