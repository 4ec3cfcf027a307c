/* Sums over the bits of linked tokens, for many binary models at once: a lane for each model. The
   functions are made for float and for double; see vectors.h. */

#ifndef SKLEARN_CRCRF_BINARY_LABELS_H
#define SKLEARN_CRCRF_BINARY_LABELS_H

#include "vectors.h"

#include "as_double.h"
#include "tree/binary_labels_of_type.h"
#include "as_float.h"
#include "tree/binary_labels_of_type.h"
#include "no_type.h"

#define SEND_BITS(c, ...) OF_TYPE(send_bits, c)(c, __VA_ARGS__)
#define END_BITS(c, ...) OF_TYPE(end_bits, c)(c, __VA_ARGS__)
#define RECEIVE_BITS(parent, ...) OF_TYPE(receive_bits, parent)(parent, __VA_ARGS__)
#define SUBTRACT_GOLD(weight, p, ...) OF_TYPE(subtract_gold, p)(weight, p, __VA_ARGS__)
#define SUBTRACT_GOLD_SCORES(x, ...) OF_TYPE(subtract_gold_scores, x)(x, __VA_ARGS__)
#define FLUSH_BITS(weight, width, logarithm, ...) \
    OF_TYPE(flush_bits, logarithm)(weight, width, logarithm, __VA_ARGS__)

#endif
