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


cdef Slots slots_of(arrays, key, share, const double[:, :, ::1] tables) except *:
    cdef Slots slots
    slots.n, slots.table = tables.shape[1], &tables[0, 0, 0]
    slots.start, slots.middle = integers_at(arrays.start), integers_at(arrays.middle)
    slots.neighbour, slots.reverse = integers_at(arrays.neighbour), integers_at(arrays.reverse)
    slots.key, slots.share = integers_at(key), numbers_at(share)
    return slots
