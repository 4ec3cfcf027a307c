from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcmp

from sklearn_crcrf._kernels.text.texts cimport Key, Slot, Text


cdef struct Strings:
    const Slot *slots              # (mask + 1,)
    uint64_t mask
    const int64_t *starts          # (n_strings + 1,) where the kind and the bytes of a string begin
    const char *blob
    Key key


cdef class StringTable:
    cdef:
        readonly list symbols
        Slot *slots
        size_t capacity
        Key key

    cdef Py_ssize_t intern(self, list tokens, int32_t[::1] ids, bint append) except -2
    cdef int intern_joined(
        self, str prefix, str separator, list parts, const int32_t[:, ::1] codes,
        int32_t[::1] ids, bint append,
    ) except -1
    cdef int number(self, const Text *texts, int n_texts, int32_t *ids, bint append) except -1
    cdef int32_t find(self, Text text, uint32_t h, bint append) except -2
    cdef int reserve(self, Py_ssize_t n) except -1


cdef class FrozenStrings:
    cdef:
        Strings table
        tuple arrays               # that the table points to


cdef inline int32_t find_text(const Strings *table, const Text *text, uint32_t h) noexcept nogil:
    """The number of a text, whose hash is ``h``; -1 if it is not in the table."""
    cdef:
        uint64_t at = h & table.mask
        const Slot *slot = &table.slots[at]
        int64_t start, n = text.length * text.kind
        const char *stored
    while slot.entry != 0:
        if slot.hash == h:
            start = table.starts[slot.entry - 1]
            stored = table.blob + start
            if (
                table.starts[slot.entry] - start == n + 1
                and stored[0] == text.kind
                and (n == 0 or memcmp(stored + 1, text.data, n) == 0)
            ):
                return slot.entry - 1
        at = (at + 1) & table.mask
        slot = &table.slots[at]
    return -1
