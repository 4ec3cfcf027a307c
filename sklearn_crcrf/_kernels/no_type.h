/* No type of numbers; see vectors.h. */
#undef REAL
#undef INTEGER
#undef MANTISSA_BITS
#undef EXPONENT_BIAS
#undef ONE
#undef ROOT
#undef MAGIC
#undef NAME
#undef MAXIMUM
#undef MINIMUM
