/* Rows of numbers and small matrix products, in vector registers.

   The functions are made for float and for double, with the suffix _f or _d. A vector is as wide
   as the set of instructions allows (INSTRUCTIONS: 1 for AVX2, 2 for AVX-512); where a compiler has
   no vector types, it is one number. Rows are padded to a multiple of a vector unless stated otherwise. */

#ifndef SKLEARN_CRCRF_VECTORS_H
#define SKLEARN_CRCRF_VECTORS_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* This file is included for each of the sets of instructions that kernels are compiled for. */
#undef VECTOR_BYTES
#undef INSTRUCTION
#undef TILE_ROWS
#undef TILE_VECTORS
#if INSTRUCTIONS == 2
#define VECTOR_BYTES 64
#define INSTRUCTION(name) _mm512_##name
#elif INSTRUCTIONS == 1
#define VECTOR_BYTES 32
#define INSTRUCTION(name) _mm256_##name
#elif defined(__GNUC__)
#define VECTOR_BYTES 16
#define INSTRUCTION(name) _mm_##name
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(address) __builtin_prefetch(address)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define INLINE static inline
#define PREFETCH(address)
#define UNROLL
#endif

/* Call a function with the number of vectors in a row, compiled for each small number. */
#define BY_VECTORS(vectors, function, ...)                \
    switch (vectors) {                                    \
        case 1: function(1, __VA_ARGS__); break;          \
        case 2: function(2, __VA_ARGS__); break;          \
        case 3: function(3, __VA_ARGS__); break;          \
        case 4: function(4, __VA_ARGS__); break;          \
        default: function(vectors, __VA_ARGS__);          \
    }

/* Do something for each small number of vectors. */
#define UP_TO_8(vectors, DO) \
    switch (vectors) {       \
        case 1: DO(1);       \
        case 2: DO(2);       \
        case 3: DO(3);       \
        case 4: DO(4);       \
        case 5: DO(5);       \
        case 6: DO(6);       \
        case 7: DO(7);       \
        case 8: DO(8);       \
    }

/* The number of rows in a tile of a product, and of vectors in a row, that the registers can hold.
   Without fused multiply-add, products need registers of their own; and if to fill a vector with a
   number takes a separate instruction, few rows are better. */
#if INSTRUCTIONS == 2
#define TILE_ROWS 8
#define TILE_VECTORS 3
#elif INSTRUCTIONS == 1
#define TILE_ROWS 4
#define TILE_VECTORS 3
#else
#define TILE_ROWS 2
#define TILE_VECTORS 6
#endif

/* Call a function with the number of vectors in a tile: all that are left, if they fit. */
#define FITTING(vectors) ((vectors) < TILE_VECTORS ? (vectors) : TILE_VECTORS)
#define BY_TILE(vectors, function, ...)                           \
    switch (FITTING(vectors)) {                                   \
        case 1: function(1, __VA_ARGS__); break;                  \
        case 2: function(FITTING(2), __VA_ARGS__); break;         \
        case 3: function(FITTING(3), __VA_ARGS__); break;         \
        case 4: function(FITTING(4), __VA_ARGS__); break;         \
        case 5: function(FITTING(5), __VA_ARGS__); break;         \
        default: function(TILE_VECTORS, __VA_ARGS__);             \
    }

/* Denormal numbers are slow and change nothing here: they are treated as zero. */
static inline unsigned flush_denormals(void) {
#if defined(__SSE2__)
    unsigned state = _mm_getcsr();
    _mm_setcsr(state | 0x8040);
    return state;
#else
    return 0;
#endif
}

static inline void restore_denormals(unsigned state) {
#if defined(__SSE2__)
    _mm_setcsr(state);
#endif
}

#include "as_double.h"
#include "vectors_of_type.h"
#include "products_of_type.h"
#include "as_float.h"
#include "vectors_of_type.h"
#include "products_of_type.h"
#include "no_type.h"

/* The function for the type of the numbers at x, under a name in capitals. */
#define OF_TYPE(name, x) _Generic(*(x), float: name##_f, double: name##_d)
#define SHIFT_ROWS(scores, ...) OF_TYPE(shift_rows, *(scores))(scores, __VA_ARGS__)
#define LEAST_FINITE(row, n) OF_TYPE(least_finite, row)(row, n)
#define LEAST_POSITIVE(row, width) OF_TYPE(least_positive, row)(row, width)
#define EXPONENTIATE(score, ...) OF_TYPE(exponentiate, score)(score, __VA_ARGS__)
#define EXPONENTIALS(x, size) OF_TYPE(exponentials, x)(x, size)
#define EXPONENTIATE_ROW(x, n) OF_TYPE(exponentiate_row, x)(x, n)
#define MULTIPLY(factor, n_rows, b, ...) OF_TYPE(multiply, b)(factor, n_rows, b, __VA_ARGS__)
#define ADD_PRODUCTS(factor, a, ...) OF_TYPE(add_products, a)(factor, a, __VA_ARGS__)
#define BOTH_PRODUCTS(factor, n_rows, back, a, ...) \
    OF_TYPE(both_products, a)(factor, n_rows, back, a, __VA_ARGS__)
#define PRODUCTS(factor, a, ...) OF_TYPE(products, a)(factor, a, __VA_ARGS__)
#define QUOTIENTS(a, ...) OF_TYPE(quotients, a)(a, __VA_ARGS__)
#define MULTIPLY_POSITIVE(b, ...) OF_TYPE(multiply_positive, b)(b, __VA_ARGS__)
#define SCALE(factor, a, ...) OF_TYPE(scale, a)(factor, a, __VA_ARGS__)
#define PACK(matrix, n, row, column, out) OF_TYPE(pack, out)(matrix, n, row, column, out)
#define PRODUCT(a, ...) OF_TYPE(product, a)(a, __VA_ARGS__)
#define OUTER_PRODUCTS(a, ...) OF_TYPE(outer_products, a)(a, __VA_ARGS__)
#define FETCH_ROW(row, n) OF_TYPE(fetch_row, row)(row, n)
#define ADD_ROW(factor, row, ...) OF_TYPE(add_row, row)(factor, row, __VA_ARGS__)
#define ADD_SUM(index, value, ...) OF_TYPE(add_sum, value)(index, value, __VA_ARGS__)

#endif
