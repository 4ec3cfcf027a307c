# The best labellings of trees; see chain/edges.pxd for the scores, in which the parent is the token
# before, and tree/order.pxi for the rows.
#
#     best_v(j) = state[v, j] + sum_c max_j' transition_c(j, j') + best_c(j')     (c: the children)
#
# Rows of best are padded with NaN, which is never a maximum, so that only labels of the trees can be
# found.

from sklearn_crcrf._kernels.maxima cimport (
    add_all_maxima, copy_scores, first_largest, is_finite, splat_d, vector_d
)


def max_trees(
    TreeRows tree_rows,            # IN
    BatchScores batch,             # IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    double[:, ::1] best,           # (n_tokens, n_labels) of each token OUT, or None
    int32_t[::1] labels,           # (n_tokens,) OUT
    double[::1] values,            # (n_units,) OUT, -inf where no labelling is possible, NaN
                                   # where a state score is NaN or inf
):
    """The best labelling of each unit, of ties the lowest label of the node nearest to a root."""
    cdef:
        Trees trees = tree_rows.trees
        const double[:, ::1] transition = batch.transition
        int64_t n = transition.shape[0], block, i, j
        double[:, ::1] rows = empty_rows(2 * n + STRIP + trees.largest_block, n, DOUBLE)
    rows[:] = NAN
    rows[: 2 * n] = -INFINITY
    for i in range(n):
        for j in range(n):
            rows[i, j] = rows[n + j, i] = transition[i, j]
    with nogil:
        give_turn()
        values[:] = 0.0
        for block in range(trees.n_blocks):
            max_block(&trees, block, batch, state, rows, best, labels, values)
        take_turn()


cdef void max_block(
    const Trees *trees, int64_t block, BatchScores batch, const real[:, ::1] state,
    double[:, ::1] rows,           # (2 n + STRIP + rows of the block, width) transitions, these
                                   # transposed, and work space
    double[:, ::1] best, int32_t[::1] labels, double[::1] values,
) noexcept nogil:
    cdef:
        int64_t first_level = trees.block_level[block], last_level = trees.block_level[block + 1]
        int64_t start = trees.level_start[first_level], level, stop, n_rows, r, u, j, token
        int64_t n = state.shape[1], width = rows.shape[1]
        Edges edges = batch.edges
        const double *transition = &rows[0, 0]
        const double *transposed = transition + n * width
        double *messages = &rows[2 * n, 0]
        double *row = messages + STRIP * width
        double *delta = row - start * width  # row r is at delta + r * width
        bint is_proper = fill_nodes(
            trees, start, trees.level_start[last_level], state, &batch.begin[0], &batch.end[0],
            width, row,
        )
    for level in range(last_level - 1, first_level, -1):
        stop = trees.level_start[level + 1]
        while stop > trees.level_start[level]:
            n_rows = min(<int64_t>STRIP, stop - trees.level_start[level])
            send_maxima(
                trees, stop - n_rows, n_rows, edges, transposed, n, width, messages, delta
            )
            stop -= n_rows
    for r in range(start, trees.level_start[last_level]):
        u = trees.unit[r]
        token = trees.token[r]
        row = delta + r * width
        if best is not None:
            for j in range(n):
                best[token, j] = row[j]
        if trees.parent_row[r] < 0:
            labels[token] = <int32_t>first_largest(row, NULL, width)
            values[u] += row[labels[token]]
        else:
            labels[token] = <int32_t>best_child(
                edges, token, labels[trees.token[trees.parent_row[r]]], transition, row, n, width
            )
        for j in range(0 if is_proper else n):
            if not state[token, j] < INFINITY:
                values[u] = NAN


cdef bint fill_nodes(
    const Trees *trees, int64_t start, int64_t stop, const real[:, ::1] state,
    const double *begin, const double *end, int64_t width, double *out,
) noexcept nogil:
    """The state scores of rows, with begin and end; whether all of them are finite."""
    cdef:
        int64_t r, j, n = state.shape[1]
        vector_d sum = splat_d(0.0)
    for r in range(start, stop):
        if r + AHEAD < stop:
            fetch_row(&state[trees.token[r + AHEAD], 0], n)
        copy_scores(&state[trees.token[r], 0], n, out, &sum)
        if trees.parent_row[r] < 0:
            for j in range(n):
                out[j] += begin[j]
        if trees.n_children[r] == 0:
            for j in range(n):
                out[j] += end[j]
        out += width
    return is_finite(sum)


cdef void send_maxima(
    const Trees *trees, int64_t first, int64_t n_rows, Edges edges, const double *transposed,
    int64_t n, int64_t width, double *messages, double *delta,
) noexcept nogil:
    """Add to the rows of parents what their children in some rows add at most."""
    cdef:
        int64_t r, i, k, row, token
        double score
        double *message
        double *parent
    for k in range(n_rows * width):
        messages[k] = 0.0
    add_all_maxima(delta + first * width, n_rows, transposed, n, width, messages)
    # In the order of the rows, wherever other units end.
    for r in range(first + n_rows - 1, first - 1, -1):
        message = messages + (r - first) * width
        token = trees.token[r]
        row = edges.row[token] if edges.score != NULL else -1
        if row >= 0 and is_table(edges, row, n):
            raise_by_table(edges.score + edges.indptr[row], n, delta + r * width, message)
        elif row >= 0:
            for k in range(edges.indptr[row], edges.indptr[row + 1]):
                i = edges.previous[k]
                score = delta[r * width + edges.current[k]] + edges.score[k]
                message[i] = score if score > message[i] else message[i]
        parent = delta + trees.parent_row[r] * width
        for i in range(n):
            parent[i] += message[i]


cdef inline void raise_by_table(
    const double *table,           # (n, n) row = current label
    int64_t n,
    const double *delta,           # (n,) IN
    double *message,               # (n,) INOUT
) noexcept nogil:
    cdef:
        int64_t i, j
        double score
    for j in range(n):
        for i in range(n):
            score = delta[j] + table[j * n + i]
            message[i] = score if score > message[i] else message[i]


cdef int64_t best_child(
    Edges edges, int64_t token, int64_t previous, const double *transition, const double *delta,
    int64_t n, int64_t width,
) noexcept nogil:
    """The best label of a token, given the label of its parent; at a tie the lowest."""
    cdef:
        const double *into = transition + previous * width
        int64_t best = first_largest(delta, into, width)
        int64_t k, j, step = 1, row = edges.row[token] if edges.score != NULL else -1
        double score, best_score
    if row >= 0:
        best_score = delta[best] + into[best]
        k = edges.indptr[row]
        if is_table(edges, row, n):
            k += previous
            step = n
        while k < edges.indptr[row + 1]:
            if edges.previous[k] == previous:
                j = edges.current[k]
                score = delta[j] + edges.score[k]
                if score > best_score or (score == best_score and j < best):
                    best_score = score
                    best = j
            k += step
    return best
