# Expected counts of trees: the way down of the recursion in tree/sums.pyx.

# Where the rows of the work space of the way down begin; the marginals come last.
cdef enum:
    UP = 0                             # (2 STRIP + SPARE, width) of sum_up_block
    D = 2 * STRIP + SPARE              # (TREE_PANEL, width)
    OUTER = D + TREE_PANEL             # (n_labels, width) sums of d.T @ b


def sum_down(
    TreeRows tree_rows,            # IN
    BatchPotentials batch,         # IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    real[:, ::1] b,                # (n_tokens, width) of sum_up IN; of a block if log_z is given
    real[:, ::1] m,                # (n_tokens, width) of sum_up IN; of a block if log_z is given
    double[::1] log_z,             # (n_units,) OUT, or None after sum_up
    double[::1] weight,            # (n_units,) INOUT, 0 where log_z has no result
    bint adds,                     # whether to add to the marginals, not overwrite them
    real[:, ::1] marginals,        # (n_tokens, n_labels) INOUT, or OUT
    BatchCounts counts,            # INOUT
):
    """Add the expected counts of each unit, times its weight; nothing where that is 0.

    If log_z is given, this does the way up too, block by block, so that the values of a block are
    still in the cache: b and m are work space for the rows of the largest block.
    """
    cdef:
        Trees trees = tree_rows.trees
        Potentials potentials = batch.in_rows_of(b.shape[1])
        const double[:, ::1] potential = batch.transition
        double[:, ::1] transitions = counts.transition
        int64_t n = potentials.n, largest = trees.largest_block, block, i, j
        object dtype = DOUBLE if real is double else FLOAT
        real[:, ::1] both = empty_rows(2 * n, n, dtype)
        real[:, ::1] work = empty_rows(OUTER + n + largest, n, dtype)
        real[:, ::1] outer = work[OUTER : OUTER + n]
        const real *packed = packed_potential(potential, False, both[:n])
        const real *upwards = packed_potential(potential, True, both[n:])
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
        for block in range(trees.n_blocks):
            if is_new:
                sum_up_block(
                    &trees, block, trees.level_start[trees.block_level[block]], &potentials, state,
                    upwards, work, b, m, &sums,
                )
            # In single precision, sums over many blocks would lose digits.
            outer[:] = 0
            sum_down_block(
                &trees, block, &potentials, packed, b, m, log_z, weight, adds, work, marginals,
                counts,
            )
            for i in range(n):
                for j in range(n):
                    transitions[i, j] += potential[i, j] * outer[i, j]
        if is_new:
            finish_sums(&sums, log_z.shape[0], potentials.top)
        restore_denormals(denormals)
        take_turn()


cdef void sum_down_block(
    const Trees *trees, int64_t block, const Potentials *potentials, const real *packed,
    const real[:, ::1] b, const real[:, ::1] m,
    const double[::1] log_z,       # or None; if it is given, b and m begin with this block
    double[::1] weight, bint adds,
    real[:, ::1] work,             # (OUTER + n_labels + rows of the block, width) INOUT
    real[:, ::1] marginals, BatchCounts counts,
) noexcept nogil:
    cdef:
        int64_t first_level = trees.block_level[block], last_level = trees.block_level[block + 1]
        int64_t start = trees.level_start[first_level], stop = start, level, first, r, u, k, n_rows
        int64_t origin = start if log_z is not None else 0, pending = 0
        int64_t n = potentials.n, width = potentials.width
        real[:, ::1] d = work[D:OUTER], p = work[OUTER + n :]
        real *outer = &work[OUTER, 0]
        double *begins = &counts.begin[0]
        double *ends = &counts.end[0]
        real *row
    for r in range(start, trees.level_start[first_level + 1]):
        u = trees.unit[r]
        if log_z is not None and isnan(log_z[u]):
            weight[u] = 0.0
        row = &p[r - start, 0]
        scale(<real>weight[u], &b[r - origin, 0], width, row)
        add_row_counts(row, n, begins)
    for level in range(first_level + 1, last_level):
        stop = trees.level_start[level + 1]
        first = trees.level_start[level]
        while first < stop:
            n_rows = min(<int64_t>STRIP, stop - first)
            if pending + n_rows > TREE_PANEL:
                outer_products(&d[0, 0], &b[first - pending - origin, 0], pending, n, width, outer)
                pending = 0
            for k in range(n_rows):
                r = first + k
                quotients(
                    &p[trees.parent_row[r] - start, 0], &m[r - origin, 0], width, &d[pending + k, 0]
                )
            product(&d[pending, 0], n_rows, packed, n, width, &p[first - start, 0])
            for k in range(n_rows):
                r = first + k
                # Where the weight is zero, scores may be infinite.
                if potentials.has_edges and weight[trees.unit[r]] != 0:
                    row = &d[pending + k, 0]
                    add_edges(potentials, trees.token[r], row, &p[r - start, 0], False)
                    count_edges(potentials, trees.token[r], row, &b[r - origin, 0], counts)
                multiply_positive(&b[r - origin, 0], width, &p[r - start, 0])
            pending += n_rows
            first += n_rows
    outer_products(&d[0, 0], &b[stop - pending - origin, 0], pending, n, width, outer)
    for r in range(start, trees.level_start[last_level]):
        row = &p[r - start, 0]
        if r + AHEAD < stop:
            fetch_row(&marginals[trees.token[r + AHEAD], 0], n)
        if trees.n_children[r] == 0:
            add_row_counts(row, n, ends)
        if adds:
            add_row(1, row, n, &marginals[trees.token[r], 0])
        else:
            memcpy(&marginals[trees.token[r], 0], row, n * sizeof(real))


cdef void add_row_counts(const real *row, int64_t n, double *out) noexcept nogil:
    cdef int64_t j
    for j in range(n):
        out[j] += row[j]
