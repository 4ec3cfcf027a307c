# Exponentials of the scores of transitions, for sums in probabilities; see _edges.pxd for the
# scores.

import numpy as np

from libc.math cimport INFINITY, NAN, exp, isnan, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sklearn_crcrf._kernels._edges cimport Edges, edges_of
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport (
    add_products, add_row, both_products, exponentials, exponentiate, fetch_row,
    flush_denormals, least_finite, least_positive, multiply, multiply_positive, outer_products,
    pack, padded_d, padded_f, product, products, quotients, real, restore_denormals, scale,
    shift_rows
)

FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

# Bytes of the largest vectors: vectors that are not aligned to them are slow.
cdef enum: ALIGNMENT = 64
# Rows that are not padded are read to the end of a vector; this number of extra rows allows it.
cdef enum: SPARE = 16


cdef struct Scores:
    # Read by the forward and the backward half
    int64_t n                      # labels
    int64_t width                  # of a row, padded
    double top                     # of all transition scores
    double spread                  # largest difference of possible transition scores
    bint forbids                   # whether some transitions are impossible
    const double *potential        # (n, n) exp(transition - top)
    bint has_edges
    Edges edges                    # with exp(score - top) for the score


def empty_rows(int64_t n_rows, int64_t n, dtype):
    """Padded rows of n numbers, not initialised, in memory aligned to vectors."""
    cdef int64_t itemsize = dtype.itemsize, start
    cdef int64_t width = padded_d(n) if itemsize == 8 else padded_f(n)
    memory = np.empty(n_rows * width + ALIGNMENT // itemsize, dtype)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT // itemsize
    return memory[start : start + n_rows * width].reshape(n_rows, width)


cdef Scores scores_of(
    const double[:, ::1] potential, int64_t width, double top, double spread, bint forbids,
    Edges edges,
) noexcept:
    cdef Scores scores
    scores.n = potential.shape[0]
    scores.width = width
    scores.top = top
    scores.spread = spread
    scores.forbids = forbids
    scores.potential = &potential[0, 0]
    scores.has_edges = edges.score != NULL
    scores.edges = edges
    return scores


def potentials(
    const double[:, ::1] transition,
    double[:, ::1] potential,      # (n_labels, n_labels) exp(transition - top) OUT
):
    """The maximum of the transition scores, the least finite one, and whether some are -inf."""
    cdef:
        int64_t n = transition.shape[0], i, j
        double top = -INFINITY, lowest = INFINITY
        bint forbids = False
    for i in range(n):
        for j in range(n):
            top = max(top, transition[i, j])
            if transition[i, j] > -INFINITY:
                lowest = min(lowest, transition[i, j])
    top = top if top > -INFINITY else 0.0
    for i in range(n):
        for j in range(n):
            potential[i, j] = exp(transition[i, j] - top)
            forbids |= transition[i, j] == -INFINITY
    return top, min(lowest, top), forbids


cdef const real *packed_potential(
    const double[:, ::1] potential, bint transposed, real[:, ::1] rows
) noexcept:
    """The potentials, padded and packed into rows, one for each label."""
    cdef int64_t n = potential.shape[0]
    pack(&potential[0, 0], n, 1 if transposed else n, n if transposed else 1, &rows[0, 0])
    return &rows[0, 0]


cdef inline bint is_table(const Scores *scores, int64_t row) noexcept nogil:
    """Whether each pair of labels has an entry; entries are in the order of the current label."""
    return scores.edges.indptr[row + 1] - scores.edges.indptr[row] == scores.n * scores.n


cdef inline void multiply_by_table(
    const double *table,           # (n, n) row = current label
    int64_t n,
    const real *x,                 # (n,) IN
    real *out,                     # (n,) x @ table.T, or backwards x @ table OUT
    bint backwards,
) noexcept nogil:
    cdef:
        int64_t i, j, lane
        double lanes[8]
    if backwards:
        for i in range(n):
            out[i] = 0
        for j in range(n):
            for i in range(n):
                out[i] += <real>(table[j * n + i] * x[j])
        return
    for j in range(n):
        for lane in range(8):
            lanes[lane] = 0.0
        for i in range(0, n - 7, 8):
            for lane in range(8):
                lanes[lane] += table[j * n + i + lane] * x[i + lane]
        for i in range(n - n % 8, n):
            lanes[0] += table[j * n + i] * x[i]
        out[j] = <real>(
            ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
            + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
        )


cdef inline void count_table(
    const double *table,           # (n, n) row = current label
    const double *potential,       # (n, n) row = previous label
    int64_t n,
    const real *before,
    const real *ahead,
    double *counts,                # (n, n) row = current label INOUT
    double[:, ::1] transitions,
) noexcept nogil:
    cdef int64_t i, j
    for j in range(n):
        for i in range(n):
            counts[j * n + i] += <double>before[i] * ahead[j] * table[j * n + i]
    for i in range(n):
        for j in range(n):
            transitions[i, j] -= <double>before[i] * ahead[j] * potential[i * n + j]


cdef void add_edges(
    const Scores *scores, int64_t token, const real *x, real *out, bint backwards
) noexcept nogil:
    """Correct ``out = x @ potential`` by the edges into a token."""
    cdef:
        int64_t k, i, j, row = scores.edges.row[token]
        double raised
    if row < 0:
        return
    if is_table(scores, row):
        multiply_by_table(
            scores.edges.score + scores.edges.indptr[row], scores.n, x, out, backwards
        )
        return
    for k in range(scores.edges.indptr[row], scores.edges.indptr[row + 1]):
        i = scores.edges.previous[k]
        j = scores.edges.current[k]
        raised = scores.edges.score[k] - scores.potential[i * scores.n + j]
        if backwards:
            out[i] += <real>(raised * x[j])
        else:
            out[j] += <real>(raised * x[i])


cdef void count_edges(
    const Scores *scores,
    int64_t token,
    const real *before,
    const real *ahead,
    double[:, ::1] transitions,
    double[::1] edge_counts,
) noexcept nogil:
    """The expected counts of the edges into a token, instead of the transitions they replace."""
    cdef:
        int64_t k, i, j, row = scores.edges.row[token]
        double both
    if row < 0:
        return
    k = scores.edges.indptr[row]
    if is_table(scores, row):
        count_table(
            scores.edges.score + k, scores.potential, scores.n, before, ahead, &edge_counts[k],
            transitions,
        )
        return
    for k in range(scores.edges.indptr[row], scores.edges.indptr[row + 1]):
        i = scores.edges.previous[k]
        j = scores.edges.current[k]
        both = <double>before[i] * ahead[j]
        edge_counts[k] += both * scores.edges.score[k]
        transitions[i, j] -= both * scores.potential[i * scores.n + j]
