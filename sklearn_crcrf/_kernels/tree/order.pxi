# The order in which recursions go through the nodes of trees.
#
# Trees are numbered in blocks, and the nodes of a block level by level, from the roots down: these
# numbers are the rows of a recursion. The children of a node have consecutive rows, in the order of
# their tokens, and the children of a row come before the children of the next row.

# A block ends when its levels have this number of rows on average: products of matrices are then
# efficient. It does not end with fewer rows than the square of this number.
cdef enum: MEAN_ROWS = 16


cdef class TreeRows:
    """The rows of trees, as one argument of kernels.

    It is made of what level_order returns, level_start (n_levels + 1,) and block_level
    (n_blocks + 1,), and what it fills: token, unit, parent_row, first_child and n_children, all
    (n_tokens,).
    """

    def __cinit__(self, *arrays):
        cdef:
            const int64_t[::1] level_start, block_level
            const int64_t[::1] token, unit, parent_row, first_child, n_children
            Trees *trees = &self.trees
            int64_t block
        level_start, block_level, token, unit, parent_row, first_child, n_children = arrays
        self.arrays = arrays
        trees.n_rows, trees.n_blocks = token.shape[0], block_level.shape[0] - 1
        trees.level_start, trees.block_level = &level_start[0], &block_level[0]
        # Without tokens these are addresses that are never read.
        trees.token, trees.unit, trees.parent_row = &token[0], &unit[0], &parent_row[0]
        trees.first_child, trees.n_children = &first_child[0], &n_children[0]
        trees.largest_block = 0
        for block in range(trees.n_blocks):
            trees.largest_block = max(
                trees.largest_block,
                level_start[block_level[block + 1]] - level_start[block_level[block]],
            )

    def __reduce__(self):
        return TreeRows, self.arrays

    @property
    def largest_block(self):
        """The number of rows of the largest block."""
        return self.trees.largest_block


def level_order(
    const int64_t[::1] offsets,
    const int64_t[::1] parent,     # (n_tokens,) number of the parent of a token, -1 for a root IN
    int64_t[::1] token,            # (n_tokens,) the token of each row OUT
    int64_t[::1] unit,             # (n_tokens,) the unit of each row OUT
    int64_t[::1] parent_row,       # (n_tokens,) the row of the parent, -1 for a root OUT
    int64_t[::1] first_child,      # (n_tokens,) the row of the first child OUT
    int64_t[::1] n_children,       # (n_tokens,) OUT
):
    """Fill the rows; return where levels start, the first level of each block, and the number of
    a unit whose parents make a cycle, or -1."""
    cdef:
        int64_t n_units = offsets.shape[0] - 1, n_tokens = parent.shape[0], u, i, stop, n_blocks = 0
        int64_t n_levels = 0, in_block, row = 0, cycle = -1
        int64_t[::1] first = np.zeros(n_tokens + 2, dtype=np.int64)
        int64_t[::1] children = np.empty(n_tokens, dtype=np.int64)
        int64_t[::1] depth = np.zeros(n_units, dtype=np.int64)
        int64_t[::1] level_start = np.empty(n_tokens + 1, dtype=np.int64)
        int64_t[::1] block_level = np.empty(n_tokens + 1, dtype=np.int64)
        const int64_t[::1] order
        Rows rows
    if n_tokens:
        rows = Rows(
            &parent[0], &first[0], &children[0], &token[0], &unit[0], &parent_row[0],
            &first_child[0], &n_children[0],
        )
        with nogil:
            find_children(rows, n_tokens)
            for u in range(n_units):
                stop = add_roots(rows, offsets[u], offsets[u + 1], u, offsets[u])
                depth[u] = add_levels(rows, offsets[u], &stop, &level_start[0])
                if stop < offsets[u + 1]:
                    cycle = u
                    break
    order = np.argsort(-np.asarray(depth), kind="stable")
    with nogil:
        u = 0
        while n_tokens and cycle < 0 and u < n_units:
            # The deepest trees of all that are left, so that their levels have many rows.
            in_block = stop = 0
            i = u
            while i < n_units and in_block < MEAN_ROWS * max(depth[order[u]], <int64_t>MEAN_ROWS):
                in_block += offsets[order[i] + 1] - offsets[order[i]]
                i += 1
            if in_block == 0:
                break
            stop = row
            while u < i:
                stop = add_roots(rows, offsets[order[u]], offsets[order[u] + 1], order[u], stop)
                u += 1
            block_level[n_blocks] = n_levels
            n_blocks += 1
            n_levels += add_levels(rows, row, &stop, &level_start[n_levels])
            row = stop
        level_start[n_levels] = row
        block_level[n_blocks] = n_levels
    return np.array(level_start[: n_levels + 1]), np.array(block_level[: n_blocks + 1]), cycle


cdef struct Rows:
    const int64_t *parent          # (n_tokens,)
    int64_t *first                 # (n_tokens + 2,) token t has the children from first[t]
    int64_t *children              # to first[t + 1] - 1; (n_tokens,)
    int64_t *token                 # The rows, as in level_order
    int64_t *unit
    int64_t *parent_row
    int64_t *first_child
    int64_t *n_children


cdef void find_children(Rows rows, int64_t n_tokens) noexcept nogil:
    """Fill ``first``, which is zero before, and ``children``."""
    cdef int64_t t, p
    for t in range(n_tokens):
        if rows.parent[t] >= 0:
            rows.first[rows.parent[t] + 2] += 1
    for t in range(n_tokens):
        rows.first[t + 1] += rows.first[t]
    for t in range(n_tokens):
        p = rows.parent[t]
        if p >= 0:
            # first[p + 1] moves from the beginning of the children of p to their end.
            rows.children[rows.first[p + 1]] = t
            rows.first[p + 1] += 1


cdef int64_t add_roots(
    Rows rows, int64_t start, int64_t stop, int64_t unit, int64_t row
) noexcept nogil:
    """Make rows of the roots from token ``start`` to ``stop``; return the row after them."""
    cdef int64_t t
    for t in range(start, stop):
        if rows.parent[t] < 0:
            rows.token[row] = t
            rows.unit[row] = unit
            rows.parent_row[row] = -1
            row += 1
    return row


cdef int64_t add_levels(Rows rows, int64_t row, int64_t *stop, int64_t *level_start) noexcept nogil:
    """Add all descendants of the rows from ``row`` to ``stop``; return the number of levels."""
    cdef int64_t n_levels = 0, end, child, i, t
    while row < stop[0]:
        level_start[n_levels] = row
        n_levels += 1
        end = stop[0]
        while row < end:
            t = rows.token[row]
            rows.first_child[row] = child = stop[0]
            for i in range(rows.first[t], rows.first[t + 1]):
                rows.token[child] = rows.children[i]
                rows.unit[child] = rows.unit[row]
                rows.parent_row[child] = row
                child += 1
            rows.n_children[row] = child - stop[0]
            stop[0] = child
            row += 1
    return n_levels
