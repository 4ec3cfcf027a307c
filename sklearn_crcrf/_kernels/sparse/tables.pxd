"""Hash tables from integers to numbers: open addressing, never more than half full."""

from libc.stdint cimport int64_t, uint64_t


cdef struct Slot:
    int64_t key
    int64_t entry                  # number + 1; 0 where the slot is free


cdef struct Table:
    Slot *slots
    size_t capacity                # a power of two
    int64_t size


cdef inline uint64_t mix(int64_t key) noexcept nogil:
    """The finaliser of MurmurHash3: every bit of the key changes the low bits of the hash."""
    cdef uint64_t h = <uint64_t>key
    h = (h ^ (h >> 33)) * <uint64_t>0xff51afd7ed558ccd
    h = (h ^ (h >> 33)) * <uint64_t>0xc4ceb9fe1a85ec53
    return h ^ (h >> 33)


cdef inline Slot *find(const Table *table, int64_t key, uint64_t h) noexcept nogil:
    """The slot that holds the key, or the free one that is its place."""
    cdef size_t mask = table.capacity - 1, at = h & mask
    while table.slots[at].entry != 0 and table.slots[at].key != key:
        at = (at + 1) & mask
    return &table.slots[at]
