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
    cdef:
        Py_ssize_t n = len(strings), i
        Text text
        int64_t[::1] starts = np.zeros(n + 1, dtype=np.int64)
        int64_t capacity = SMALLEST_FROZEN
        uint8_t[::1] blob
        int32_t[:, ::1] slots
        uint64_t[::1] drawn = np.frombuffer(bytearray(os.urandom(sizeof(Key))), np.uint64)
        Strings table
        uint64_t at
        uint32_t h
        str string
    for i in range(n):
        string = strings[i]
        text = text_of(<PyObject *>string)
        starts[i + 1] = starts[i] + 1 + text.length * text.kind
    while capacity < 2 * n:
        capacity *= 2
    blob = np.empty(starts[n] + 1, dtype=np.uint8)
    slots = np.zeros((capacity, 2), dtype=np.int32)
    memcpy(&table.key, &drawn[0], sizeof(Key))
    table.mask = capacity - 1
    for i in range(n):
        string = strings[i]
        text = text_of(<PyObject *>string)
        blob[starts[i]] = text.kind
        memcpy(&blob[starts[i] + 1], text.data, text.length * text.kind)
        h = hash_text(text, &table.key)
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
