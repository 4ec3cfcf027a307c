# Expected counts of trees: the way down of the recursion in _tree_sums.pxi.


def sum_down(
    const int64_t[::1] level_start,
    const int64_t[::1] block_level,
    const int64_t[::1] token,
    const int64_t[::1] unit,
    const int64_t[::1] parent_row,
    const int64_t[::1] first_child,
    const int64_t[::1] n_children,
    const real[:, ::1] state,
    const double[::1] begin,
    const double[::1] end,
    const double[:, ::1] potential,
    double top,
    double spread,
    bint forbids,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_potential,
    real[:, ::1] b,                # (n_tokens, width) of sum_up IN; of a block if log_z is given
    real[:, ::1] m,                # (n_tokens, width) of sum_up IN; of a block if log_z is given
    double[::1] log_z,             # (n_units,) OUT, or None after sum_up
    double[::1] weight,            # (n_units,) INOUT, 0 where log_z has no result
    bint adds,                     # whether to add to the marginals, not overwrite them
    real[:, ::1] marginals,        # (n_tokens, n_labels) INOUT, or OUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] begins,            # (n_labels,) INOUT
    double[::1] ends,              # (n_labels,) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the expected counts of each unit, times its weight; nothing where that is 0.

    If log_z is given, this does the way up too, block by block, so that the values of a block are
    still in the cache: b and m are work space for the rows of the largest block.
    """
    cdef:
        Scores scores = scores_of(
            potential, b.shape[1], top, spread, forbids,
            edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_potential),
        )
        Trees trees = trees_of(level_start, token, unit, parent_row, first_child, n_children)
        int64_t n = scores.n, width = b.shape[1], n_blocks = block_level.shape[0] - 1, block, i, j
        int64_t largest = largest_block(level_start, block_level), n_work = 2 * STRIP + SPARE
        object dtype = DOUBLE if real is double else FLOAT
        real[:, ::1] rows = empty_rows(n_work + TREE_PANEL + 3 * n, n, dtype)
        real[:, ::1] d = rows[n_work : n_work + TREE_PANEL]
        real[:, ::1] outer = rows[n_work + TREE_PANEL : n_work + TREE_PANEL + n]
        const real *packed = packed_potential(
            potential, False, rows[n_work + TREE_PANEL + n : n_work + TREE_PANEL + 2 * n]
        )
        const real *upwards = packed_potential(
            potential, True, rows[n_work + TREE_PANEL + 2 * n :]
        )
        real[:, ::1] p = empty_rows(largest, n, dtype)
        bint is_new = log_z is not None
        double[:, ::1] of_units = units_to_sum(len(weight))
        double[::1] least = np.empty(largest if is_new else 0)
        Sums sums
        unsigned denormals
    if is_new:
        sums = sums_of(sizeof(real) == 8, of_units, least, log_z)
    with nogil:
        give_turn()
        denormals = flush_denormals()
        if is_new:
            log_z[:] = 0.0
        for block in range(n_blocks):
            if is_new:
                sum_up_block(
                    &trees, block_level[block], block_level[block + 1],
                    level_start[block_level[block]], &scores, state, begin, end, upwards, rows, b,
                    m, &sums,
                )
            # In single precision, sums over many blocks would lose digits.
            memset(&outer[0, 0], 0, n * width * sizeof(real))
            sum_down_block(
                &trees, block_level[block], block_level[block + 1], is_new, &scores, packed, b, m,
                log_z, weight, adds, d, p, outer, marginals, transitions, begins, ends,
                edge_counts,
            )
            for i in range(n):
                for j in range(n):
                    transitions[i, j] += potential[i, j] * outer[i, j]
        if is_new:
            finish_sums(&sums, log_z.shape[0], top)
        restore_denormals(denormals)
        take_turn()


def largest_block(const int64_t[::1] level_start, const int64_t[::1] block_level):
    """The number of rows of the largest block."""
    return np.max(np.diff(np.asarray(level_start)[np.asarray(block_level)]), initial=0)


cdef void sum_down_block(
    const Trees *trees,
    int64_t first_level,
    int64_t last_level,
    bint is_new,                   # whether b and m begin with the rows of this block
    const Scores *scores,
    const real *packed,
    const real[:, ::1] b,
    const real[:, ::1] m,
    const double[::1] log_z,
    double[::1] weight,
    bint adds,
    real[:, ::1] d,                # (TREE_PANEL, width) work space
    real[:, ::1] p,                # (rows of the block, width) marginals: work space
    real[:, ::1] outer,            # (n_labels, width) sums of d.T @ b INOUT
    real[:, ::1] marginals,
    double[:, ::1] transitions,
    double[::1] begins,
    double[::1] ends,
    double[::1] edge_counts,
) noexcept nogil:
    cdef:
        int64_t start = trees.level_start[first_level], stop = start, level, first, r, u, k, n_rows
        int64_t origin = start if is_new else 0, pending = 0, width = scores.width
        real *row
    for r in range(start, trees.level_start[first_level + 1]):
        u = trees.unit[r]
        if is_new and isnan(log_z[u]):
            weight[u] = 0.0
        row = &p[r - start, 0]
        scale(<real>weight[u], &b[r - origin, 0], width, row)
        add_row_counts(row, scores.n, &begins[0])
    for level in range(first_level + 1, last_level):
        stop = trees.level_start[level + 1]
        first = trees.level_start[level]
        while first < stop:
            n_rows = min(<int64_t>STRIP, stop - first)
            if pending + n_rows > TREE_PANEL:
                outer_products(
                    &d[0, 0], &b[first - pending - origin, 0], pending, scores.n, width, &outer[0, 0]
                )
                pending = 0
            for k in range(n_rows):
                r = first + k
                quotients(
                    &p[trees.parent_row[r] - start, 0], &m[r - origin, 0], width, &d[pending + k, 0]
                )
            product(&d[pending, 0], n_rows, packed, scores.n, width, &p[first - start, 0])
            for k in range(n_rows):
                r = first + k
                # Where the weight is zero, scores may be infinite.
                if scores.has_edges and weight[trees.unit[r]] != 0:
                    row = &d[pending + k, 0]
                    add_edges(scores, trees.token[r], row, &p[r - start, 0], False)
                    count_edges(
                        scores, trees.token[r], row, &b[r - origin, 0], transitions, edge_counts
                    )
                multiply_positive(&b[r - origin, 0], width, &p[r - start, 0])
            pending += n_rows
            first += n_rows
    outer_products(&d[0, 0], &b[stop - pending - origin, 0], pending, scores.n, width, &outer[0, 0])
    for r in range(start, trees.level_start[last_level]):
        row = &p[r - start, 0]
        if r + AHEAD < stop:
            fetch_row(&marginals[trees.token[r + AHEAD], 0], scores.n)
        if trees.n_children[r] == 0:
            add_row_counts(row, scores.n, &ends[0])
        if adds:
            add_row(1, row, scores.n, &marginals[trees.token[r], 0])
        else:
            memcpy(&marginals[trees.token[r], 0], row, scores.n * sizeof(real))


cdef void add_row_counts(const real *row, int64_t n, double *out) noexcept nogil:
    cdef int64_t j
    for j in range(n):
        out[j] += row[j]
