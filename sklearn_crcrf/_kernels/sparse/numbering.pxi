# Number integers in the order of their first occurrence.
#
# Keys are worked on in small batches: first all hashes, each requesting its slot from memory, then
# all probes.

cdef enum:
    BATCH = 32
    SMALLEST = 1024


cdef bint reserve(Table *table, size_t n) noexcept nogil:
    """Make room for ``n`` more keys; False where there is no memory."""
    cdef:
        size_t needed = 2 * (<size_t>table.size + n), old
        Slot *slots = table.slots
        size_t capacity = table.capacity
    if needed <= capacity:
        return True
    while table.capacity < needed:
        table.capacity *= 4
    table.slots = <Slot *>calloc(table.capacity, sizeof(Slot))
    if table.slots == NULL:
        table.slots = slots
        return False
    for old in range(capacity):
        if slots[old].entry != 0:
            find(table, slots[old].key, mix(slots[old].key))[0] = slots[old]
    free(slots)
    return True


cdef bint number_all(
    Table *table,
    const int64_t[::1] keys,       # (n_keys,) IN
    int32_t[::1] ids,              # (n_keys,) OUT
    int64_t[::1] first,            # (n_keys,), of which the first n_ids are set OUT
) noexcept nogil:
    cdef:
        Py_ssize_t n = keys.shape[0], start, stop = 0, i
        uint64_t[BATCH] hashes
        Slot *slot
    while stop < n:
        start = stop
        stop = min(start + BATCH, n)
        if not reserve(table, stop - start):
            return False
        for i in range(start, stop):
            hashes[i - start] = mix(keys[i])
            prefetch(&table.slots[hashes[i - start] & (table.capacity - 1)])
        for i in range(start, stop):
            if keys[i] < 0:
                ids[i] = -1
                continue
            slot = find(table, keys[i], hashes[i - start])
            if slot.entry == 0:
                first[table.size] = i
                table.size += 1
                slot.key = keys[i]
                slot.entry = table.size
            ids[i] = <int32_t>(slot.entry - 1)
    return True


def number_keys(const int64_t[::1] keys not None):
    """Number keys in the order of their first occurrence.

    Parameters
    ----------
    keys : int64 (n_keys,)
        A negative number means no key.

    Returns
    -------
    ids : int32 (n_keys,)
        -1 where there is no key.
    first : int64 (n_ids,)
        Where each id occurs first.
    """
    cdef:
        Py_ssize_t n = keys.shape[0]
        Table table
        bint done
    check_number(n, "keys")
    ids = np.empty(n, dtype=np.int32)
    first = np.empty(n, dtype=np.int64)
    cdef int32_t[::1] ids_view = ids
    cdef int64_t[::1] first_view = first
    table.size = 0
    table.capacity = SMALLEST
    table.slots = <Slot *>calloc(table.capacity, sizeof(Slot))
    if table.slots == NULL:
        raise MemoryError
    with nogil:
        done = number_all(&table, keys, ids_view, first_view)
        free(table.slots)
    if not done:
        raise MemoryError
    return ids, first[:table.size].copy()


def distinct_codes(const int32_t[::1] codes not None):
    """The codes that occur, in the order of their first occurrence.

    Parameters
    ----------
    codes : int32 (n_tokens,)
        Time and memory are linear in the largest code. A negative number means no code.

    Returns
    -------
    distinct : int32 (n_distinct,)
    """
    cdef:
        Py_ssize_t n = codes.shape[0], n_distinct = 0, i
        int64_t largest = -1
        uint8_t[::1] seen
        int32_t[::1] view
    for i in range(n):
        largest = max(largest, <int64_t>codes[i])
    seen = np.zeros(largest + 1, dtype=np.uint8)
    distinct = view = np.empty(min(n, largest + 1), dtype=np.int32)
    with nogil:
        for i in range(n):
            if codes[i] >= 0 and not seen[codes[i]]:
                seen[codes[i]] = True
                view[n_distinct] = codes[i]
                n_distinct += 1
    return distinct[:n_distinct].copy()
