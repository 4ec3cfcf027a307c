# A hash table from strings to consecutive integers.
#
# Open addressing with linear probing, never more than half full. A slot holds 32 bits of a keyed
# hash beside the id, so that a string is compared only where these bits agree, and so that the
# table grows without reading a string again. The key is drawn when a table is created: collisions
# cannot be prepared, and the ids do not depend on it. All bytes of a string are read as CPython
# stores them; equal strings are stored equally.
#
# Tokens are worked on in small batches: first all hashes, each requesting its slot from memory,
# then all probes.

cdef extern from "Python.h":
    object PyUnicode_FromObject(PyObject *)
    object PyUnicode_FromKindAndData(int kind, const void *data, Py_ssize_t length)
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t) nogil
    PyTypeObject *Py_TYPE(PyObject *) nogil
    bint PyLong_Check(PyObject *) nogil
    bint PyFloat_Check(PyObject *) nogil
    long PyLong_AsLongAndOverflow(PyObject *, int *overflow) nogil
    double PyFloat_AS_DOUBLE(PyObject *) nogil
    bint PyTuple_Check(PyObject *) nogil
    Py_ssize_t PyTuple_GET_SIZE(PyObject *) nogil
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t) nogil

cdef enum:
    BATCH = 64
    AHEAD = 12
    SMALLEST = 256

cdef inline bint equal(PyObject *string, Text text) noexcept nogil:
    cdef const char *data = PyUnicode_DATA(string)
    if data == text.data:
        return True
    if PyUnicode_GET_LENGTH(string) != text.length or PyUnicode_KIND(string) != text.kind:
        return False
    # The address of an empty string may be NULL, which memcmp must not get.
    return text.length == 0 or memcmp(data, text.data, text.length * text.kind) == 0


cdef Py_ssize_t first_invalid(PyObject *tokens, Py_ssize_t n) noexcept nogil:
    """The index of the first item that is not a str, or -1."""
    cdef Py_ssize_t i
    for i in range(n):
        if i + AHEAD < n:
            prefetch(PyList_GET_ITEM(tokens, i + AHEAD))
        if not PyUnicode_Check(PyList_GET_ITEM(tokens, i)):
            return i
    return -1


cdef inline bint is_usual(PyObject *value, long ignored) noexcept nogil:
    cdef int overflow
    cdef double number
    cdef Py_ssize_t i
    cdef PyObject *part
    if PyUnicode_Check(value):
        return True
    if PyLong_Check(value):
        return PyLong_AsLongAndOverflow(value, &overflow) != ignored
    if PyFloat_Check(value):
        number = PyFloat_AS_DOUBLE(value)
        return number == number and number != ignored
    if not PyTuple_Check(value):
        return False
    for i in range(PyTuple_GET_SIZE(value)):
        part = PyTuple_GET_ITEM(value, i)
        if not (PyUnicode_Check(part) or PyLong_Check(part) or part == <PyObject *>None):
            return False
    return True


def unusual_types(values not None, long ignored):
    """The types of the values of a 1-D object array that are not usual labels.

    Usual are strings, numbers of Python other than NaN and ``ignored``, and tuples of str, int and
    None.
    """
    cdef:
        Py_buffer buffer
        PyObject *value
        PyTypeObject *last = NULL
        Py_ssize_t i
        set types = set()
    PyObject_GetBuffer(values, &buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT)
    try:
        if buffer.ndim != 1 or buffer.format != b"O":
            raise ValueError("values must be a one-dimensional array of objects")
        for i in range(buffer.shape[0]):
            memcpy(&value, <char *>buffer.buf + i * buffer.strides[0], sizeof(value))
            if value == NULL:  # numpy reads it as None
                value = <PyObject *>None
            if not is_usual(value, ignored) and Py_TYPE(value) != last:
                last = Py_TYPE(value)
                types.add(<object><PyObject *>last)
    finally:
        PyBuffer_Release(&buffer)
    return types


cdef class StringTable:
    """Strings numbered in the order of their first occurrence.

    ``symbols`` is the list of strings, and must not be changed from outside. The GIL is held
    throughout, and no Python code runs inside a call.
    """

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

        If there is a non-string, nothing is changed.
        """
        return self.intern(tokens, ids, True)

    def lookup(self, list tokens not None, int32_t[::1] ids not None):
        """Fill ``ids``, -1 for unknown strings; return the index of the first non-string, or -1."""
        return self.intern(tokens, ids, False)

    def add_joined(
        self,
        str prefix not None,
        str separator not None,
        list parts not None,                   # n_parts lists of str
        const int32_t[:, ::1] codes not None,  # (n_parts, n_strings) IN
        int32_t[::1] ids not None,             # (n_strings,) OUT
    ):
        """Fill ``ids`` for the prefix followed by ``parts[k][codes[k, i]]`` for every ``k``."""
        self.intern_joined(prefix, separator, parts, codes, ids, True)

    def lookup_joined(
        self,
        str prefix not None,
        str separator not None,
        list parts not None,                   # n_parts lists of str
        const int32_t[:, ::1] codes not None,  # (n_parts, n_strings) IN
        int32_t[::1] ids not None,             # (n_strings,) OUT
    ):
        """As :meth:`add_joined`, with -1 for unknown strings."""
        self.intern_joined(prefix, separator, parts, codes, ids, False)

    cdef Py_ssize_t intern(self, list tokens, int32_t[::1] ids, bint append) except -2:
        cdef:
            PyObject *items = <PyObject *>tokens
            Py_ssize_t n = len(tokens), start, i
            Text[BATCH] texts
        if ids.shape[0] != n:
            raise ValueError(f"ids has {ids.shape[0]} places, but there are {n} tokens")
        i = first_invalid(items, n)
        if i >= 0:
            return i
        for start in range(0, n, BATCH):
            for i in range(start, min(start + BATCH, n)):
                if i + AHEAD < n:
                    prefetch(PyList_GET_ITEM(items, i + AHEAD))
                texts[i - start] = text_of(PyList_GET_ITEM(items, i))
            self.number(texts, <int>min(BATCH, n - start), &ids[start], append)
        return -1

    cdef int intern_joined(
        self, str prefix, str separator, list parts, const int32_t[:, ::1] codes,
        int32_t[::1] ids, bint append,
    ) except -1:
        cdef:
            Joiner joiner = Joiner(prefix, separator, parts)
            Py_ssize_t n = ids.shape[0], start, i
            Text[BATCH] texts
        if not parts or codes.shape[0] != len(parts) or codes.shape[1] != n:
            raise ValueError(f"{n} ids of {len(parts)} parts do not fit the shape of the codes")
        for start in range(0, n, BATCH):
            joiner.used = 0
            for i in range(start, min(start + BATCH, n)):
                joiner.join(&codes[0, i], n, &texts[i - start])
            for i in range(min(BATCH, n - start)):
                texts[i].data = joiner.buffer + <size_t>texts[i].data
            self.number(texts, <int>min(BATCH, n - start), &ids[start], append)
        return 0

    cdef int number(self, const Text *texts, int n_texts, int32_t *ids, bint append) except -1:
        """Number one batch of strings: each step prefetches the memory that the next step reads."""
        cdef:
            PyObject *symbols = <PyObject *>self.symbols
            uint32_t[BATCH] hashes
            Slot *slot
            size_t mask
            int i
        if append:
            self.reserve(n_texts)
        mask = self.capacity - 1
        for i in range(n_texts):
            hashes[i] = hash_text(texts[i], &self.key)
            prefetch(&self.slots[hashes[i] & mask])
        for i in range(n_texts):
            slot = &self.slots[hashes[i] & mask]
            if slot.entry != 0 and slot.hash == hashes[i]:
                prefetch(PyList_GET_ITEM(symbols, slot.entry - 1))
        for i in range(n_texts):
            ids[i] = self.find(texts[i], hashes[i], append)
        return 0

    cdef int32_t find(self, Text text, uint32_t h, bint append) except -2:
        cdef:
            PyObject *symbols = <PyObject *>self.symbols
            size_t mask = self.capacity - 1
            size_t at = h & mask
            Slot *slot = &self.slots[at]
        while slot.entry != 0:
            if slot.hash == h and equal(PyList_GET_ITEM(symbols, slot.entry - 1), text):
                return slot.entry - 1
            at = (at + 1) & mask
            slot = &self.slots[at]
        if not append:
            return -1
        if text.string != NULL:
            self.symbols.append(PyUnicode_FromObject(text.string))
        else:
            self.symbols.append(PyUnicode_FromKindAndData(text.kind, text.data, text.length))
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


cdef class Joiner:
    """Joins strings in a buffer, so that strings that are only looked up need no object."""

    cdef list strings    # the prefix and the separator are kept alive
    cdef list parts
    cdef Text *pieces    # the prefix, a part, the separator, a part, ...
    cdef Py_ssize_t n_pieces
    cdef char *buffer
    cdef size_t used
    cdef size_t capacity

    def __cinit__(self, str prefix, str separator, list parts):
        cdef Py_ssize_t j
        self.strings = [prefix, separator]
        self.parts = parts
        self.n_pieces = 2 * len(parts)
        self.pieces = <Text *>calloc(self.n_pieces, sizeof(Text))
        if self.pieces == NULL:
            raise MemoryError
        for j in range(0, self.n_pieces, 2):
            self.pieces[j] = text_of(<PyObject *>separator if j > 0 else <PyObject *>prefix)

    def __dealloc__(self):
        free(self.pieces)
        free(self.buffer)

    cdef int join(self, const int32_t *codes, Py_ssize_t stride, Text *joined) except -1:
        """Join the string with these codes; ``joined.data`` is its offset in the buffer."""
        cdef:
            PyObject *parts = <PyObject *>self.parts
            Text *pieces = self.pieces
            Py_ssize_t n_pieces = self.n_pieces, j
            size_t length = 0
            int kind = 0
            char *to
        for j in range(n_pieces):
            if j & 1:
                pieces[j] = text_of(PyList_GET_ITEM(PyList_GET_ITEM(parts, j >> 1), codes[0]))
                codes += stride
            length += pieces[j].length
            kind |= pieces[j].kind
        kind = 4 if kind & 4 else kind & 2 or 1
        self.used = (self.used + 3) & ~<size_t>3
        self.reserve(length * kind)
        to = self.buffer + self.used
        for j in range(n_pieces):
            widen(&pieces[j], kind, to)
            to += pieces[j].length * kind
        joined[0] = Text(<const char *>self.used, length, kind, NULL)
        self.used += length * kind
        return 0

    cdef int reserve(self, size_t n) except -1:
        """Make room for ``n`` more bytes."""
        cdef char *buffer
        if self.used + n > self.capacity:
            buffer = <char *>realloc(self.buffer, 2 * (self.used + n))
            if buffer == NULL:
                raise MemoryError
            self.buffer = buffer
            self.capacity = 2 * (self.used + n)
        return 0
