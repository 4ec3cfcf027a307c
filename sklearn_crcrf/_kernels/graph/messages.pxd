from libc.stdint cimport int64_t


cdef struct Slots:
    int64_t n                      # labels
    const int64_t *start           # (n_tokens + 1,) first slot of each token
    const int64_t *middle          # (n_tokens,) its first slot for a later token
    const int64_t *neighbour       # (n_slots,) token at the other end
    const int64_t *reverse         # (n_slots,) slot of the token at the other end
    const int64_t *key             # (n_slots,) 2t if the token is the first end, else 2t + 1
    const double *share            # (n_slots,) appearance probability, or NULL for 1
    const double *table            # (n_tables, n, n) scores; of links with the table t


cdef class GraphMessages:
    cdef:
        const int64_t[::1] offsets     # (n_units + 1,)
        Slots slots
        double[:, ::1] state           # (n_tokens, n_labels)
        double[:, ::1] m               # (n_slots, n_labels)
        tuple arrays                   # what slots point to


cdef inline double slot_score(
    const Slots *slots, int64_t slot, int64_t x, int64_t other
) noexcept nogil:
    """The score of a label of the token of a slot, and a label of the token at the other end."""
    cdef:
        int64_t n = slots.n, key = slots.key[slot]
        const double *table = slots.table + key // 2 * n * n
    return table[other * n + x] if key % 2 else table[x * n + other]
