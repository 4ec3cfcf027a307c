"""Texts, which are the bytes of strings as CPython stores them: keyed hashes, and copies.

Equal strings are stored equally, so that texts are equal if their bytes and their kind are.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    bint PyUnicode_Check(PyObject *) nogil
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject *) nogil
    int PyUnicode_KIND(PyObject *) nogil
    const char *PyUnicode_DATA(PyObject *) nogil

cdef extern from *:
    """
    /* The two halves of the 128-bit product of a and b, folded into one word. */
    #if defined(__SIZEOF_INT128__)
    static inline unsigned long long crcrf_fold(unsigned long long a, unsigned long long b) {
        unsigned __int128 product = (unsigned __int128)a * b;
        return (unsigned long long)product ^ (unsigned long long)(product >> 64);
    }
    #else
    static inline unsigned long long crcrf_fold(unsigned long long a, unsigned long long b) {
        unsigned long long a0 = a & 0xffffffffu, a1 = a >> 32;
        unsigned long long b0 = b & 0xffffffffu, b1 = b >> 32;
        unsigned long long low = a0 * b0, middle = a1 * b0 + (low >> 32);
        unsigned long long carry = a0 * b1 + (middle & 0xffffffffu);
        return (a * b) ^ (a1 * b1 + (middle >> 32) + (carry >> 32));
    }
    #endif
    """
    uint64_t fold "crcrf_fold"(uint64_t, uint64_t) nogil

cdef struct Slot:
    uint32_t hash
    int32_t entry  # id + 1; 0 where the slot is free


cdef struct Key:
    uint64_t start
    uint64_t left
    uint64_t right


cdef struct Text:
    const char *data
    Py_ssize_t length
    int kind  # bytes per character
    PyObject *string  # the object that holds the data; NULL if there is none


cdef inline uint64_t word(const char *data) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, data, 8)
    return value


cdef inline uint64_t short_word(const char *data) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, data, 4)
    return value


cdef inline Text text_of(PyObject *string) noexcept nogil:
    return Text(
        PyUnicode_DATA(string), PyUnicode_GET_LENGTH(string), PyUnicode_KIND(string), string
    )


cdef inline uint32_t hash_text(Text text, const Key *key) noexcept nogil:
    """Multiply and fold 16 bytes at a time; the last step may overlap the one before it."""
    cdef:
        const char *data = text.data
        uint64_t kind = text.kind
        uint64_t n = kind * text.length
        uint64_t h = key.start ^ (n * 8 + kind)
        uint64_t a = 0, b = 0
    while n > 16:
        h = fold(word(data) ^ key.left ^ h, word(data + 8) ^ key.right)
        if n < 32:
            data += n - 32
            n = 32
        data += 16
        n -= 16
    if n >= 8:
        a = word(data)
        b = word(data + n - 8)
    elif n >= 4:
        a = short_word(data)
        b = short_word(data + n - 4)
    elif n > 0:
        a = (<unsigned char>data[0] << 16) | (<unsigned char>data[n >> 1] << 8)
        a |= <unsigned char>data[n - 1]
    h = fold(a ^ key.left ^ h, b ^ key.right)
    return <uint32_t>(fold(h ^ key.right, key.left | 1) >> 32)


cdef inline void widen(const Text *text, int kind, char *to) noexcept nogil:
    """Write the characters in ``kind`` bytes each."""
    cdef Py_ssize_t i
    if text.kind == kind:
        copy_bytes(to, text.data, text.length * kind)
    elif kind == 2:
        for i in range(text.length):
            (<uint16_t *>to)[i] = (<const uint8_t *>text.data)[i]
    elif text.kind == 1:
        for i in range(text.length):
            (<uint32_t *>to)[i] = (<const uint8_t *>text.data)[i]
    else:
        for i in range(text.length):
            (<uint32_t *>to)[i] = (<const uint16_t *>text.data)[i]


cdef inline void copy_bytes(char *to, const char *data, Py_ssize_t n) noexcept nogil:
    """For the few bytes of a word a call of memcpy takes longer than the copy."""
    if n > 16:
        memcpy(to, data, n)
    elif n >= 8:
        memcpy(to, data, 8)
        memcpy(to + n - 8, data + n - 8, 8)
    elif n >= 4:
        memcpy(to, data, 4)
        memcpy(to + n - 4, data + n - 4, 4)
    elif n > 0:
        to[0], to[n >> 1], to[n - 1] = data[0], data[n >> 1], data[n - 1]
