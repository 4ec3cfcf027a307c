from libc.stdint cimport int32_t, int64_t, uint32_t

from sklearn_crcrf._kernels._frozen_strings cimport FrozenStrings, Strings


cdef struct Attribute:
    size_t start                   # of its text in the bytes of all texts
    Py_ssize_t length              # in characters
    int kind                       # bytes per character
    uint32_t hash
    int32_t id                     # -1 if it is unknown
    double value


cdef struct Attributes:
    # Of the tokens of one sequence: token t has attributes first[t] to first[t + 1]
    int64_t n_tokens
    int64_t *first                 # (n_tokens + 1,)
    Attribute *found
    int64_t n
    int64_t room
    char *text
    size_t used
    size_t text_room


cdef class AttributeReader:
    cdef:
        FrozenStrings strings
        str separator
        bint lists                 # whether a token may be a list of attributes
        bint is_single             # whether values are of single precision

    cdef list read(self, object tokens, Attributes *out)
    cdef int read_token(self, object token, Py_ssize_t position, Attributes *out) except -1
    cdef int read_items(
        self, dict token, str prefix, int level, Py_ssize_t position, Attributes *out
    ) except -1
    cdef int read_value(
        self, str prefix, str key, object value, int level, Py_ssize_t position, Attributes *out
    ) except -1
    cdef double number(self, str key, object value, Py_ssize_t position) except? -1
    cdef int read_list(self, object token, Py_ssize_t position, Attributes *out) except -1


cdef list read_strings(object tokens, Attributes *out)
cdef void look_up(const Strings *table, Attributes *attributes) noexcept nogil
cdef void free_attributes(Attributes *attributes) noexcept nogil
