from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from sklearn_crcrf._kernels.text.texts cimport Key, Slot, Text


cdef struct Strings:
    const Slot *slots              # (mask + 1,)
    uint64_t mask
    const int64_t *starts          # (n_strings + 1,) where the kind and the bytes of a string begin
    const char *blob
    Key key


cdef class FrozenStrings:
    cdef:
        Strings table
        tuple arrays               # that the table points to


cdef int32_t find_text(const Strings *table, const Text *text, uint32_t h) noexcept nogil
