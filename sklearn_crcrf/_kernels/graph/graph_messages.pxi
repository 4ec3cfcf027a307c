# The messages between linked tokens of graphs, and what they are made from; see graph/propagation.pyx.

cdef class GraphMessages:
    """The messages of a batch of graphs, their slots, and the scores of tokens and links.

    offsets (n_units + 1,); slots has the attributes start (n_tokens + 1,), middle (n_tokens,),
    neighbour and reverse (n_slots,), see graph/order.pxi; key (n_slots,) is 2t if the token of a
    slot is the first end of a link with the scores tables[t], else 2t + 1; tables
    (n_tables, n_labels, n_labels), divided by the appearance probabilities of links, share
    (n_slots,), or empty if they are 1; state (n_tokens, n_labels); m (n_slots, n_labels).
    """

    def __cinit__(self, offsets, slots, key, tables, share, state, m):
        self.offsets, self.state, self.m = offsets, state, m
        self.arrays = slots.start, slots.middle, slots.neighbour, slots.reverse, key, share, tables
        self.slots = slots_of(slots, key, share, tables)


cdef Slots slots_of(
    arrays, const int64_t[::1] key, const double[::1] share, const double[:, :, ::1] tables
) except *:
    cdef:
        const int64_t[::1] start = arrays.start, middle = arrays.middle
        const int64_t[::1] neighbour = arrays.neighbour, reverse = arrays.reverse
        Slots slots
    slots.n = tables.shape[1]
    slots.start = &start[0]
    slots.middle = &middle[0] if middle.shape[0] else NULL
    slots.neighbour = &neighbour[0] if neighbour.shape[0] else NULL
    slots.reverse = &reverse[0] if reverse.shape[0] else NULL
    slots.key = &key[0] if key.shape[0] else NULL
    slots.share = &share[0] if share.shape[0] else NULL
    slots.table = &tables[0, 0, 0]
    return slots
