# A hash table from strings to integers that does not change, over arrays that may be a mapped file.
#
# The table is as in text/interning.pxi, but strings are no objects: each lies in one blob of bytes, a byte
# with its kind (bytes per character) before its characters as CPython stores them. The key of the
# hashes is drawn when a table is built, and stored with it.

cdef enum: SMALLEST_FROZEN = 16


def frozen_arrays(list strings not None):
    """The arrays of a table in which ``strings[i]`` is number i; they differ.

    Returns
    -------
    blob : uint8 (n_bytes,)
    starts : int64 (n_strings + 1,)
    slots : int32 (capacity, 2)
    key : uint64 (3,)
    """
    return arrays_of(len(strings), NULL, None, None, strings)


def frozen_texts(
    const uint8_t[::1] data not None, const int64_t[::1] begins not None,
    const int64_t[::1] ends not None,
):
    """The same of the texts ``data[begins[i] : ends[i]]`` in UTF-8.

    Raises ValueError if one has a null character, is not UTF-8, or is there twice.
    """
    cdef:
        int64_t n = begins.shape[0], i, j
        dict others = {}
        uint8_t bits
        bint has_null = False
    for i in range(n):
        bits = 0
        for j in range(begins[i], ends[i]):
            bits |= data[j]
            has_null |= data[j] == 0
        if bits >= 0x80:
            others[i] = bytes(data[begins[i] : ends[i]]).decode("utf-8")
    if has_null:
        raise ValueError("a text has a null character")
    return arrays_of(n, &data[0] if n else NULL, begins, ends, others)


def texts_with(
    int character, const uint8_t[::1] data not None, const int64_t[::1] begins not None,
    const int64_t[::1] ends not None,
):
    """Which texts have a character in ASCII, bool (n,)."""
    cdef:
        int64_t i
        uint8_t[::1] out = np.empty(begins.shape[0], dtype=np.uint8)
    for i in range(begins.shape[0]):
        out[i] = memchr(&data[0] + begins[i], character, ends[i] - begins[i]) != NULL
    return out.base.view(bool)


cdef Text text_number(
    int64_t i, const uint8_t *data, const int64_t[::1] begins, const int64_t[::1] ends, others
):
    """A text of ``others``, or one in ASCII in ``data``."""
    if data == NULL or (others and i in others):
        string = others[i]
        return text_of(<PyObject *>string)
    return Text(<const char *>data + begins[i], ends[i] - begins[i], 1, NULL)


cdef tuple arrays_of(
    int64_t n, const uint8_t *data, const int64_t[::1] begins, const int64_t[::1] ends, others
):
    cdef:
        int64_t i
        Text text
        int64_t[::1] starts = np.zeros(n + 1, dtype=np.int64)
        int64_t capacity = SMALLEST_FROZEN
        uint8_t[::1] blob
        int32_t[:, ::1] slots
        uint64_t[::1] drawn = np.frombuffer(bytearray(os.urandom(sizeof(Key))), np.uint64)
        Strings table
        uint64_t at
        uint32_t h
    for i in range(n):
        text = text_number(i, data, begins, ends, others)
        starts[i + 1] = starts[i] + 1 + text.length * text.kind
    while capacity < 2 * n:
        capacity *= 2
    blob = np.empty(starts[n] + 1, dtype=np.uint8)
    slots = np.zeros((capacity, 2), dtype=np.int32)
    memcpy(&table.key, &drawn[0], sizeof(Key))
    table.mask, table.slots = capacity - 1, <const Slot *>&slots[0, 0]
    table.starts, table.blob = &starts[0], <const char *>&blob[0]
    for i in range(n):
        text = text_number(i, data, begins, ends, others)
        blob[starts[i]] = text.kind
        memcpy(&blob[starts[i] + 1], text.data, text.length * text.kind)
        h = hash_text(text, &table.key)
        if find_text(&table, &text, h) >= 0:
            raise ValueError("a text is repeated")
        at = h & table.mask
        while slots[at, 1]:
            at = (at + 1) & table.mask
        (<Slot *>&slots[at, 0]).hash = h
        slots[at, 1] = <int32_t>(i + 1)
    return np.asarray(blob)[: starts[n]], np.asarray(starts), np.asarray(slots), np.asarray(drawn)


cdef class FrozenStrings:
    """A table of ``frozen_arrays``, which may come from a file: they are checked."""

    def __cinit__(
        self,
        const uint8_t[::1] blob,       # (n_bytes,)
        const int64_t[::1] starts,     # (n_strings + 1,)
        const int32_t[:, ::1] slots,   # (capacity, 2)
        const uint64_t[::1] key,       # (3,)
    ):
        cdef:
            int64_t n = starts.shape[0] - 1, capacity = slots.shape[0], i, n_used = 0
            bint is_sound = n >= 0 and slots.shape[1] == 2 and key.shape[0] == 3
        is_sound = is_sound and capacity > 0 and capacity & (capacity - 1) == 0
        is_sound = is_sound and starts[0] == 0 and starts[n] == blob.shape[0]
        if is_sound:
            for i in range(n):
                is_sound &= starts[i] < starts[i + 1]
            for i in range(capacity):
                is_sound &= 0 <= slots[i, 1] <= n
                n_used += slots[i, 1] != 0
        # A search ends at a free slot.
        if not is_sound or n_used == capacity:
            raise ValueError("the table of strings is damaged")
        self.arrays = blob, starts, slots, key
        self.table.slots = <const Slot *>&slots[0, 0]
        self.table.mask = capacity - 1
        self.table.starts = &starts[0]
        self.table.blob = <const char *>&blob[0] if blob.shape[0] else NULL
        memcpy(&self.table.key, &key[0], sizeof(Key))

    def find(self, str string not None):
        """The number of a string, -1 if it is not in the table."""
        cdef Text text = text_of(<PyObject *>string)
        return find_text(&self.table, &text, hash_text(text, &self.table.key))
