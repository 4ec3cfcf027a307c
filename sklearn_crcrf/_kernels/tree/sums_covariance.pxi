# Covariances of how often a labelling of trees uses each score and the sum of the values of its
# labels, in probabilities. tree/sums.pyx defines b, m, d and e, and tree/covariance.pxi the means
# a, u, o and b, of which b is called r here. For values x_v(j) with mean zero at each node,
#
#     u_c(i) = sum_j e_c(i, j) b_c(j) a_c(j) / m_c(i)
#     a_p(i) = x_p(i) + sum_c u_c(i)
#     o_c(i) = a_p(i) - u_c(i) + r_p(i)
#     r_c(j) = b_c(j) sum_i d_c(i) o_c(i) e_c(i, j) / p(y_c = j)
#
#     Cov(c, i, j) = e_c(i, j) (d_c(i) o_c(i) b_c(j) + d_c(i) b_c(j) a_c(j))
#     Cov(c, j)    = p(y_c = j) (a_c(j) + r_c(j))

from libc.stdint cimport uint8_t


# Where the rows of the work space of the way down begin.
cdef enum:
    BEFORE = 0                         # (TREE_PANEL, width) d, then d o
    AFTER = BEFORE + TREE_PANEL        # (TREE_PANEL, width) b a, then b
    PRODUCTS = AFTER + TREE_PANEL      # (2 STRIP, width)
    PAIRS = PRODUCTS + 2 * STRIP       # (n_labels, width) sums of before.T @ after


cdef struct MeanRows:
    # Rows of a block, each of ``width`` numbers
    double *a
    double *u
    double *r
    double *p                      # marginals


def tree_covariances(
    TreeRows tree_rows,            # IN
    BatchPotentials batch,         # IN
    const double[:, ::1] b,        # (n_tokens, width) of sum_up IN
    const double[:, ::1] m,        # (n_tokens, width) of sum_up IN
    const uint8_t[::1] left_out,   # (n_units,) IN
    const double[:, ::1] values,   # (n_tokens, n_labels) x IN
    double[:, ::1] states,         # (n_tokens, n_labels) INOUT
    BatchCounts counts,            # transitions and edges INOUT
):
    """Add the covariances of all units but those that are left out."""
    cdef:
        Trees trees = tree_rows.trees
        Potentials potentials = batch.in_rows_of(b.shape[1])
        const double[:, ::1] potential = batch.transition
        double[:, ::1] transitions = counts.transition
        int64_t n = potentials.n, largest = max(<int64_t>1, trees.largest_block), block, i, j
        double[:, ::1] both = empty_rows(2 * n, n, DOUBLE)
        const double *packed = packed_potential(potential, False, both[:n])
        const double *upwards = packed_potential(potential, True, both[n:])
        double[:, ::1] memory = empty_rows(4 * largest, n, DOUBLE)
        double[:, ::1] work = empty_rows(PAIRS + n, n, DOUBLE)
        double[:, ::1] pairs = work[PAIRS:]
        MeanRows rows
        unsigned denormals
    rows.a, rows.u = &memory[0, 0], &memory[largest, 0]
    rows.r, rows.p = &memory[2 * largest, 0], &memory[3 * largest, 0]
    pairs[:] = 0.0
    with nogil:
        give_turn()
        denormals = flush_denormals()
        for block in range(trees.n_blocks):
            average_up(
                &trees, block, &potentials, upwards, b, m, left_out, values, &work[PRODUCTS, 0],
                rows,
            )
            add_tree_block(
                &trees, block, &potentials, packed, b, m, left_out, work, rows, states, counts
            )
        for i in range(n):
            for j in range(n):
                transitions[i, j] += potential[i, j] * pairs[i, j]
        restore_denormals(denormals)
        take_turn()


cdef void average_up(
    const Trees *trees, int64_t block, const Potentials *potentials, const double *packed,
    const double[:, ::1] b, const double[:, ::1] m, const uint8_t[::1] left_out,
    const double[:, ::1] values,
    double *work,                  # (STRIP, width) work space
    MeanRows rows,
) noexcept nogil:
    """The recursion of a and u."""
    cdef:
        int64_t first_level = trees.block_level[block], last_level = trees.block_level[block + 1]
        int64_t start = trees.level_start[first_level], level, first, stop, n_rows, k, r, c, j
        int64_t n = potentials.n, width = potentials.width
        double *a
        double *u
    for level in range(last_level - 1, first_level - 1, -1):
        stop = trees.level_start[level + 1]
        while stop > trees.level_start[level]:
            n_rows = min(<int64_t>STRIP, stop - trees.level_start[level])
            first = stop - n_rows
            for k in range(n_rows):
                r = first + k
                a = rows.a + (r - start) * width
                memset(a, 0, width * sizeof(double))
                if not left_out[trees.unit[r]]:
                    memcpy(a, &values[trees.token[r], 0], n * sizeof(double))
                    for c in range(trees.first_child[r], trees.first_child[r] + trees.n_children[r]):
                        u = rows.u + (c - start) * width
                        for j in range(width):
                            a[j] += u[j]
                products(1.0, &b[r, 0], a, width, work + k * width)
            u = rows.u + (first - start) * width
            product(work, n_rows, packed, n, width, u)
            for k in range(n_rows):
                r = first + k
                if potentials.has_edges and not left_out[trees.unit[r]]:
                    add_edges(potentials, trees.token[r], work + k * width, u + k * width, True)
                quotients(u + k * width, &m[r, 0], width, u + k * width)
            stop = first


cdef void add_tree_block(
    const Trees *trees, int64_t block, const Potentials *potentials, const double *packed,
    const double[:, ::1] b, const double[:, ::1] m, const uint8_t[::1] left_out,
    double[:, ::1] work,           # (PAIRS + n_labels, width) INOUT
    MeanRows rows, double[:, ::1] states, BatchCounts counts,
) noexcept nogil:
    cdef:
        int64_t first_level = trees.block_level[block], last_level = trees.block_level[block + 1]
        int64_t start = trees.level_start[first_level], level, first, stop, n_rows, k, r, j
        int64_t pending = 0, n = potentials.n, width = potentials.width, of_parent, at
        double[:, ::1] before = work[BEFORE:AFTER], after = work[AFTER:PRODUCTS]
        double[:, ::1] sent = work[PRODUCTS:PAIRS]
        double *pairs = &work[PAIRS, 0]
        double *d
        double *p
        double *others
        double *of_token
    for r in range(start, trees.level_start[first_level + 1]):
        at = (r - start) * width
        memset(rows.r + at, 0, width * sizeof(double))
        memset(rows.p + at, 0, width * sizeof(double))
        if not left_out[trees.unit[r]]:
            memcpy(rows.p + at, &b[r, 0], width * sizeof(double))
        of_token = &states[trees.token[r], 0]
        add_products(1.0, rows.p + at, rows.a + at, n, of_token, of_token)
    for level in range(first_level + 1, last_level):
        first = trees.level_start[level]
        stop = trees.level_start[level + 1]
        while first < stop:
            n_rows = min(<int64_t>STRIP, stop - first)
            if pending + 2 * n_rows > TREE_PANEL:
                outer_products(&before[0, 0], &after[0, 0], pending, n, width, pairs)
                pending = 0
            for k in range(n_rows):
                r = first + k
                at = (r - start) * width
                of_parent = (trees.parent_row[r] - start) * width
                d = &before[pending + k, 0]
                others = &before[pending + n_rows + k, 0]
                quotients(rows.p + of_parent, &m[r, 0], width, d)
                for j in range(width):
                    others[j] = d[j] * (
                        rows.a[of_parent + j] - rows.u[at + j] + rows.r[of_parent + j]
                    )
                products(1.0, &b[r, 0], rows.a + at, width, &after[pending + k, 0])
                memcpy(&after[pending + n_rows + k, 0], &b[r, 0], width * sizeof(double))
            product(&before[pending, 0], 2 * n_rows, packed, n, width, &sent[0, 0])
            for k in range(n_rows):
                r = first + k
                at = (r - start) * width
                p = &sent[k, 0]
                others = &sent[n_rows + k, 0]
                if potentials.has_edges and not left_out[trees.unit[r]]:
                    for j in range(2):
                        d = &before[pending + j * n_rows + k, 0]
                        add_edges(potentials, trees.token[r], d, &sent[j * n_rows + k, 0], False)
                        count_edges(
                            potentials, trees.token[r], d, &after[pending + j * n_rows + k, 0],
                            counts,
                        )
                multiply_positive(&b[r, 0], width, p)
                multiply_positive(&b[r, 0], width, others)
                memcpy(rows.p + at, p, width * sizeof(double))
                quotients(others, p, width, rows.r + at)
                of_token = &states[trees.token[r], 0]
                add_products(1.0, p, rows.a + at, n, of_token, of_token)
                add_row(1.0, others, n, of_token)
            pending += 2 * n_rows
            first += n_rows
    outer_products(&before[0, 0], &after[0, 0], pending, n, width, pairs)
