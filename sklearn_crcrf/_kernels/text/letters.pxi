# Kinds of ASCII letters, and the endings of words.

cdef inline bint is_ascii(Text text) noexcept nogil:
    cdef:
        Py_ssize_t i
        unsigned char all_bits = 0
    for i in range(text.length):
        all_bits |= <unsigned char>text.data[i]
    return all_bits < 128


cdef inline unsigned char class_of(unsigned char c) noexcept nogil:
    """X, x and d for upper case, lower case and digits; other characters are their own class."""
    if c"A" <= c <= c"Z":
        return c"X"
    if c"a" <= c <= c"z":
        return c"x"
    return c"d" if c"0" <= c <= c"9" else c


cdef inline bint is_letter_or_digit(unsigned char c) noexcept nogil:
    return c"A" <= c <= c"Z" or c"a" <= c <= c"z" or c"0" <= c <= c"9"


cdef inline int ends_in(const unsigned char *word, int64_t n, const char *ending) noexcept nogil:
    cdef int64_t k = 0
    while ending[k] != 0:
        k += 1
    return n >= k and memcmp(word + n - k, ending, k) == 0
