"""A hash table from strings to consecutive integers.

Open addressing with linear probing, never more than half full. A slot holds 32 bits of a keyed
hash beside the id, so that a string is compared only where these bits agree, and so that the
table grows without reading a string again. The key is drawn when a table is created: collisions
cannot be prepared, and the ids do not depend on it. All bytes of a string are read as CPython
stores them; equal strings are stored equally.

Tokens are worked on in small batches: first all hashes, each requesting its slot from memory,
then all probes.
"""

from cpython.list cimport PyList_Append
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

import os

cdef extern from "Python.h":
    bint PyUnicode_Check(PyObject *) nogil
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject *) nogil
    int PyUnicode_KIND(PyObject *) nogil
    const char *PyUnicode_DATA(PyObject *) nogil
    object PyUnicode_FromObject(PyObject *)
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t) nogil

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define crcrf_prefetch(address) __builtin_prefetch(address)
    #else
    #define crcrf_prefetch(address)
    #endif

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
    void prefetch "crcrf_prefetch"(const void *) nogil
    uint64_t fold "crcrf_fold"(uint64_t, uint64_t) nogil

cdef enum:
    BATCH = 64
    AHEAD = 12
    SMALLEST = 256

cdef struct Slot:
    uint32_t hash
    int32_t entry  # id + 1; 0 where the slot is free

cdef struct Key:
    uint64_t start
    uint64_t left
    uint64_t right


cdef inline uint64_t word(const char *data) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, data, 8)
    return value


cdef inline uint64_t short_word(const char *data) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, data, 4)
    return value


cdef inline uint32_t hash_string(PyObject *string, const Key *key) noexcept nogil:
    """Multiply and fold 16 bytes at a time; the last step may overlap the one before it."""
    cdef:
        const char *data = <const char *>PyUnicode_DATA(string)
        uint64_t kind = PyUnicode_KIND(string)
        uint64_t n = kind * PyUnicode_GET_LENGTH(string)
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


cdef inline bint equal(PyObject *a, PyObject *b) noexcept nogil:
    if a == b:
        return True
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(a)
    cdef int kind = PyUnicode_KIND(a)
    if length != PyUnicode_GET_LENGTH(b) or kind != PyUnicode_KIND(b):
        return False
    return memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), length * kind) == 0


cdef Py_ssize_t first_invalid(PyObject *tokens, Py_ssize_t n) noexcept nogil:
    """The index of the first item that is not a str, or -1."""
    cdef Py_ssize_t i
    for i in range(n):
        if i + AHEAD < n:
            prefetch(PyList_GET_ITEM(tokens, i + AHEAD))
        if not PyUnicode_Check(PyList_GET_ITEM(tokens, i)):
            return i
    return -1


cdef class StringTable:
    """Strings numbered in the order of their first occurrence.

    ``symbols`` is the list of strings, and must not be changed from outside. The GIL is held
    throughout, and no Python code runs inside a call.
    """

    cdef readonly list symbols
    cdef Slot *slots
    cdef size_t capacity
    cdef Key key

    def __cinit__(self):
        cdef bytes drawn = os.urandom(sizeof(Key))
        memcpy(&self.key, <const char *>drawn, sizeof(Key))
        self.symbols = []
        self.capacity = SMALLEST
        self.slots = <Slot *>calloc(self.capacity, sizeof(Slot))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.slots)

    def add(self, list tokens not None, int32_t[::1] ids not None):
        """Fill ``ids``, numbering new strings; return the index of the first non-string, or -1.

        Where there is a non-string, nothing is done.
        """
        return self.intern(tokens, ids, True)

    def lookup(self, list tokens not None, int32_t[::1] ids not None):
        """Fill ``ids``, -1 for unknown strings; return the index of the first non-string, or -1."""
        return self.intern(tokens, ids, False)

    cdef Py_ssize_t intern(self, list tokens, int32_t[::1] ids, bint append) except -2:
        cdef:
            PyObject *items = <PyObject *>tokens
            Py_ssize_t n = len(tokens)
            Py_ssize_t start, i, stop
            uint32_t[BATCH] hashes
            size_t mask
        if ids.shape[0] != n:
            raise ValueError(f"ids has {ids.shape[0]} places, but there are {n} tokens")
        i = first_invalid(items, n)
        if i >= 0:
            return i
        for start in range(0, n, BATCH):
            stop = min(start + BATCH, n)
            if append:
                self.reserve(stop - start)
            mask = self.capacity - 1
            for i in range(start, stop):
                if i + AHEAD < n:
                    prefetch(PyList_GET_ITEM(items, i + AHEAD))
                hashes[i - start] = hash_string(PyList_GET_ITEM(items, i), &self.key)
                prefetch(&self.slots[hashes[i - start] & mask])
            for i in range(start, stop):
                ids[i] = self.find(PyList_GET_ITEM(items, i), hashes[i - start], append)
        return -1

    cdef int32_t find(self, PyObject *token, uint32_t h, bint append) except -2:
        cdef:
            PyObject *symbols = <PyObject *>self.symbols
            size_t mask = self.capacity - 1
            size_t at = h & mask
            Slot *slot = &self.slots[at]
        while slot.entry != 0:
            if slot.hash == h and equal(PyList_GET_ITEM(symbols, slot.entry - 1), token):
                return slot.entry - 1
            at = (at + 1) & mask
            slot = &self.slots[at]
        if not append:
            return -1
        PyList_Append(self.symbols, PyUnicode_FromObject(token))
        slot.hash = h
        slot.entry = <int32_t>len(self.symbols)
        return slot.entry - 1

    cdef int reserve(self, Py_ssize_t n) except -1:
        """Make room for ``n`` more strings."""
        cdef:
            size_t needed = 2 * (len(self.symbols) + n)
            size_t capacity = self.capacity
            size_t old, at
            Slot *slots
        if needed <= capacity:
            return 0
        if needed > 0xfffffffe:
            raise OverflowError("a vocabulary holds at most 2**31 - 1 strings")
        while capacity < needed:
            capacity *= 2
        slots = <Slot *>calloc(capacity, sizeof(Slot))
        if slots == NULL:
            raise MemoryError
        for old in range(self.capacity):
            if self.slots[old].entry != 0:
                at = self.slots[old].hash & (capacity - 1)
                while slots[at].entry != 0:
                    at = (at + 1) & (capacity - 1)
                slots[at] = self.slots[old]
        free(self.slots)
        self.slots = slots
        self.capacity = capacity
        return 0
