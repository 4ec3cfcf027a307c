# Blocks of sequences that are summed in lock step. Lock-step order has the first tokens of all
# sequences of a block, then the second tokens, and so on.

# Number of sequences that go in lock step.
cdef enum: BLOCK = 16


cdef struct Block:
    # Sequences in lock step: row[t] + b is the row of token t of sequence b of the block
    int64_t n_steps
    int64_t *active                # (n_steps + 1,) how many sequences have a token t
    int64_t *row                   # (n_steps + 1,)
    const int64_t *order           # (active[0],) numbers of the sequences, longest first
    int64_t[BLOCK] origin          # the first token of each sequence
    int64_t[BLOCK] length


cdef inline int64_t length_of(
    const int64_t[::1] offsets, const int64_t[::1] order, int64_t s
) noexcept nogil:
    return offsets[order[s] + 1] - offsets[order[s]]


cdef Block make_block(
    const int64_t[::1] offsets, const int64_t[::1] order, int64_t first, int64_t start,
    int64_t[:, ::1] steps,         # (2, longest + 1) work space
) noexcept nogil:
    """The sequences from ``first`` on, whose rows begin at ``start``."""
    cdef:
        Block block
        int64_t t, b, n = min(<int64_t>BLOCK, order.shape[0] - first)
    block.order = &order[first]
    for b in range(n):
        block.origin[b] = offsets[order[first + b]]
        block.length[b] = length_of(offsets, order, first + b)
    block.n_steps = block.length[0]
    block.active = &steps[0, 0]
    block.row = &steps[1, 0]
    for t in range(block.n_steps + 1):
        while n > 0 and block.length[n - 1] <= t:
            n -= 1
        block.active[t] = n
        block.row[t] = start
        start += n
    return block
