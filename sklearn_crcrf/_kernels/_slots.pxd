"""The tokens of graphs, their slots, and the scores of their links; see _graph_order.pyx."""

from libc.stdint cimport int64_t


cdef struct Slots:
    int64_t n                      # labels
    const int64_t *start           # (n_tokens + 1,) first slot of each token
    const int64_t *middle          # (n_tokens,) its first slot for a later token
    const int64_t *neighbour       # (n_slots,) token at the other end
    const int64_t *reverse         # (n_slots,) slot of the token at the other end
    const int64_t *key             # (n_slots,) 2t if the token is the first end, else 2t + 1
    const double *table            # (n_tables, n, n) scores; of links with the table t


cdef inline Slots slots_of(
    const int64_t[::1] start,
    const int64_t[::1] middle,
    const int64_t[::1] neighbour,
    const int64_t[::1] reverse,
    const int64_t[::1] key,
    const double[:, :, ::1] tables,
) noexcept:
    cdef Slots slots
    slots.n = tables.shape[1]
    slots.start = &start[0]
    slots.middle = &middle[0] if middle.shape[0] else NULL
    slots.neighbour = &neighbour[0] if neighbour.shape[0] else NULL
    slots.reverse = &reverse[0] if reverse.shape[0] else NULL
    slots.key = &key[0] if key.shape[0] else NULL
    slots.table = &tables[0, 0, 0]
    return slots


cdef inline double slot_score(
    const Slots *slots, int64_t slot, int64_t x, int64_t other
) noexcept nogil:
    """The score of a label of the token of a slot, and a label of the token at the other end."""
    cdef:
        int64_t n = slots.n, key = slots.key[slot]
        const double *table = slots.table + key // 2 * n * n
    return table[other * n + x] if key % 2 else table[x * n + other]
