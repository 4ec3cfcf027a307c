"""Sums over all labellings of trees, in probabilities: the rows of a level go together, so that the
recursion becomes products of matrices. See chain/edges.pxd for the scores, in which the parent is the
token before, and tree/order.pxi for the rows.

    b_v(j) = exp(state_v(j)) prod_c m_c(j) / z_v      (c: the children of v)
    m_c(i) = sum_j e_c(i, j) b_c(j)
    log Z  = sum_v log z_v + the maxima subtracted in state and e

with e = exp(transition - maximum of transition) and z_v such that b_v sums to one: b_v are the
probabilities of the labels of v, given the scores of its subtree. From the roots down,

    p(y_v = j)            = b_v(j)                                        (v: a root)
    p(y_p = i, y_c = j)   = d_c(i) e_c(i, j) b_c(j),    d_c(i) = p(y_p = i) / m_c(i)
    p(y_c = j)            = b_c(j) sum_i d_c(i) e_c(i, j)

where d is zero if m is (Pearl 1988). Nothing can grow on the way down, so only the way up needs
care: a unit in which a nonzero probability could come near the smallest representable number
gets no result here, and its log_z is NaN.
"""

from sklearn_crcrf._kernels.tree.messages cimport TreeRows, Trees

include "sklearn_crcrf/_kernels/chain/scaled_scores.pxi"

# Number of rows that go together.
cdef enum: STRIP = 32
# Number of rows over which expected transitions are summed at once.
cdef enum: TREE_PANEL = 128
# Rows of the result are fetched from memory this number of rows ahead.
cdef enum: AHEAD = 8


cdef struct Sums:
    # Running values for each unit, and for each row
    double tiny                    # what probabilities must not fall below
    double small                   # its square root
    double *factor                 # (n_units,) product of the z_v whose logarithm is to be added
    double *n_links                # (n_units,) how often the top of transitions is to be added
    double *scaled                 # (n_units,) sum of log(x), if products were divided by x
    double *log_z                  # (n_units,)
    double *least                  # (n_rows,) lower bound of the nonzero m of a row


def sum_up(
    TreeRows tree_rows,            # IN
    BatchPotentials batch,         # IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    real[:, ::1] b,                # (n_tokens, width) OUT
    real[:, ::1] m,                # (n_tokens, width) OUT
    double[::1] log_z,             # (n_units,) OUT, NaN for no result
):
    """Log-partition of each unit."""
    cdef:
        Trees trees = tree_rows.trees
        Potentials potentials = batch.in_rows_of(b.shape[1])
        int64_t n = potentials.n, block
        object dtype = DOUBLE if real is double else FLOAT
        real[:, ::1] rows = empty_rows(2 * STRIP + SPARE + n, n, dtype)
        const real *packed = packed_potential(batch.transition, True, rows[2 * STRIP + SPARE :])
        double[:, ::1] of_units = units_to_sum(len(log_z))
        double[::1] least = np.empty(trees.n_rows)
        Sums sums = sums_of(sizeof(real) == 8, of_units, least, log_z)
        unsigned denormals
    with nogil:
        give_turn()
        denormals = flush_denormals()
        log_z[:] = 0.0
        for block in range(trees.n_blocks):
            sum_up_block(&trees, block, 0, &potentials, state, packed, rows, b, m, &sums)
        finish_sums(&sums, log_z.shape[0], potentials.top)
        restore_denormals(denormals)
        take_turn()


def units_to_sum(int64_t n_units):
    """The fields ``factor``, ``n_links`` and ``scaled`` of Sums."""
    return np.repeat([[1.0], [0.0], [0.0]], n_units, axis=1)


cdef Sums sums_of(
    bint is_double, double[:, ::1] of_units, double[::1] least, double[::1] log_z
) noexcept:
    cdef Sums sums
    sums.tiny = 1e-260 if is_double else 1e-28
    sums.small = 1e-130 if is_double else 1e-14
    # Without units or tokens these are addresses that are never read.
    sums.factor, sums.n_links = &of_units[0, 0], &of_units[1, 0]
    sums.scaled = &of_units[2, 0]
    sums.log_z, sums.least = &log_z[0], &least[0]
    return sums


cdef void finish_sums(Sums *sums, int64_t n_units, double top) noexcept nogil:
    cdef int64_t u
    for u in range(n_units):
        sums.log_z[u] += log(sums.factor[u]) + sums.n_links[u] * top + sums.scaled[u]


cdef void sum_up_block(
    const Trees *trees, int64_t block,
    int64_t origin,                # the row whose values are first in b, m and sums.least
    const Potentials *potentials, const real[:, ::1] state, const real *packed,
    real[:, ::1] rows,             # (2 STRIP + SPARE, width) work space
    real[:, ::1] b, real[:, ::1] m, Sums *sums,
) noexcept nogil:
    cdef:
        int64_t first_level = trees.block_level[block], last_level = trees.block_level[block + 1]
        int64_t start = trees.level_start[first_level], level, first, stop, r, n_rows, k
        int64_t n = potentials.n, width = potentials.width
        real top[STRIP]
        double least
        double total[STRIP]
        double one[STRIP]
        real *v = &rows[STRIP, 0]  # exponentials of scores, in rows that are not padded
        const real *score[STRIP]
    for k in range(STRIP):
        one[k] = 1.0
    for level in range(last_level - 1, first_level - 1, -1):
        stop = trees.level_start[level + 1]
        while stop > trees.level_start[level]:
            n_rows = min(<int64_t>STRIP, stop - trees.level_start[level])
            first = stop - n_rows
            for k in range(n_rows):
                # The rows before these are next.
                if first + k >= start + STRIP:
                    fetch_row(&state[trees.token[first + k - STRIP], 0], n)
                score[k] = node_scores(trees, potentials, first + k, state, &rows[k, 0])
            least = exp(<double>shift_rows(score, n_rows, n, v, top))
            for k in range(n_rows - 1, -1, -1):
                multiply_messages(
                    trees, first + k, origin, potentials, least, v + k * n, m,
                    &b[first + k - origin, 0], sums,
                )
            exponentials(v, n_rows * n)
            memset(v + n_rows * n, 0, ALIGNMENT)
            multiply(one, n_rows, v, n, &b[first - origin, 0], total)
            scale_nodes(trees, first, n_rows, origin, potentials, top, total, b, sums)
            if level > first_level:
                product(&b[first - origin, 0], n_rows, packed, n, width, &m[first - origin, 0])
                for r in range(first, stop if potentials.has_edges else first):
                    add_edges(
                        potentials, trees.token[r], &b[r - origin, 0], &m[r - origin, 0], True
                    )
            stop = first


cdef inline const real *node_scores(
    const Trees *trees, const Potentials *potentials, int64_t r, const real[:, ::1] state,
    real *work,
) noexcept nogil:
    """The state scores of a row, with begin and end; readable to the width."""
    cdef:
        int64_t j, n = potentials.n, token = trees.token[r]
        bint is_root = trees.parent_row[r] < 0, is_leaf = trees.n_children[r] == 0
    if not is_root and not is_leaf and token * n + potentials.width <= state.shape[0] * n:
        return &state[token, 0]
    for j in range(n):
        work[j] = state[token, j]
    if is_root:
        for j in range(n):
            work[j] += <real>potentials.begin[j]
    if is_leaf:
        for j in range(n):
            work[j] += <real>potentials.end[j]
    return work


cdef void multiply_messages(
    const Trees *trees, int64_t r, int64_t origin, const Potentials *potentials,
    double least,                  # lower bound of the nonzero exponentials of the state scores
    const real *logarithms,        # (n_labels,) of these exponentials
    const real[:, ::1] m,
    real *row,                     # (width,) product of the messages of the children OUT
    Sums *sums,
) noexcept nogil:
    cdef:
        int64_t j, c, first = trees.first_child[r], stop = first + trees.n_children[r]
        int64_t width = potentials.width
        double bound = 1.0
    for c in range(first, stop):
        bound *= sums.least[c - origin]
    if first == stop:
        for j in range(width):
            row[j] = j < potentials.n
    else:
        memcpy(row, &m[first - origin, 0], width * sizeof(real))
        if bound > sums.small:
            for c in range(first + 1, stop):
                products(1, row, &m[c - origin, 0], width, row)
        else:
            bound = multiply_carefully(trees, r, origin, width, m, row, sums)
    # The lower bound of the scores may come from another row.
    if bound * least < sums.tiny and bound * exp(<double>least_finite(logarithms, potentials.n)) < sums.tiny:
        sums.log_z[trees.unit[r]] = NAN


cdef double multiply_carefully(
    const Trees *trees, int64_t r, int64_t origin, int64_t width, const real[:, ::1] m, real *row,
    Sums *sums,
) noexcept nogil:
    """Multiply the messages of all but the first child to row, scaled in between.

    Returns a lower bound of the products that are not zero, or zero where one could be lost.
    """
    cdef:
        int64_t j, c, first = trees.first_child[r], u = trees.unit[r]
        double bound = least_positive(row, width), of_child
        real top
    for c in range(first + 1, first + trees.n_children[r]):
        of_child = sums.least[c - origin]
        if bound * of_child < sums.tiny:
            of_child = least_positive(&m[c - origin, 0], width)
            top = 0
            for j in range(width):
                top = max(top, row[j])
            if top > 0:
                sums.scaled[u] += log(top)
                scale(1 / top, row, width, row)
            bound = least_positive(row, width)
            if bound * of_child < sums.tiny:
                return 0
        bound *= of_child
        products(1, row, &m[c - origin, 0], width, row)
    return bound


cdef void scale_nodes(
    const Trees *trees, int64_t first, int64_t n_rows, int64_t origin, const Potentials *potentials,
    const real *top,               # (n_rows,) the maxima subtracted in the state scores
    const double *total,           # (n_rows,) z
    real[:, ::1] b, Sums *sums,
) noexcept nogil:
    """Divide rows by their sums z, and add the logarithms of these sums to log Z."""
    cdef:
        int64_t k, r, u, width = potentials.width
        double most = 1e100 if real is double else 1e12, rarely = 1e-40
        double shrinks = exp(-potentials.spread), least
        real *row
    # From the last row to the first, as strips are: the sums of a unit are the same beside others.
    for k in range(n_rows - 1, -1, -1):
        r = first + k
        u = trees.unit[r]
        row = &b[r - origin, 0]
        least = 1.0
        if 0 < total[k] < most:
            scale(<real>(1 / total[k]), row, width, row)
            sums.factor[u] *= total[k]
            if not rarely < sums.factor[u] < 1 / rarely:
                sums.log_z[u] += log(sums.factor[u])
                sums.factor[u] = 1.0
            sums.log_z[u] += top[k]
            if trees.parent_row[r] >= 0:
                sums.n_links[u] += 1.0
                # If no transition is impossible, any label has a part in all messages.
                least = shrinks * (least_positive(row, width) if potentials.forbids else 1.0)
        else:
            memset(row, 0, width * sizeof(real))
            sums.log_z[u] = NAN
        if least < sums.tiny:
            sums.log_z[u] = NAN
        sums.least[r - origin] = least


include "sums_down.pxi"
include "sums_covariance.pxi"
include "maxima.pxi"
