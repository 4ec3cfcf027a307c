# Rows of probabilities, and transitions of single tokens: what sums over chains and trees share. See
# chain/edges.pxd for the scores.

import numpy as np

from libc.math cimport INFINITY, NAN, exp, isnan, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sklearn_crcrf._kernels.chain.scores cimport BatchCounts, BatchScores
from sklearn_crcrf._kernels.chain.edges cimport Edges, is_table
from sklearn_crcrf._kernels.chain.scores cimport BatchPotentials, Potentials
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
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


def empty_rows(int64_t n_rows, int64_t n, dtype):
    """Padded rows of n numbers, not initialised, in memory aligned to vectors."""
    cdef int64_t itemsize = dtype.itemsize, start
    cdef int64_t width = padded_d(n) if itemsize == 8 else padded_f(n)
    memory = np.empty(n_rows * width + ALIGNMENT // itemsize, dtype)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT // itemsize
    return memory[start : start + n_rows * width].reshape(n_rows, width)


cdef const real *packed_potential(
    const double[:, ::1] potential, bint transposed, real[:, ::1] rows
) noexcept:
    """The potentials, padded and packed into rows, one for each label."""
    cdef int64_t n = potential.shape[0]
    pack(&potential[0, 0], n, 1 if transposed else n, n if transposed else 1, &rows[0, 0])
    return &rows[0, 0]


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
    int64_t n, const real *before, const real *ahead,
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
    const Potentials *potentials, int64_t token, const real *x, real *out, bint backwards
) noexcept nogil:
    """Correct ``out = x @ potential`` by the edges into a token."""
    cdef:
        int64_t k, i, j, row = potentials.edges.row[token]
        double raised
    if row < 0:
        return
    if is_table(potentials.edges, row, potentials.n):
        multiply_by_table(
            potentials.edges.score + potentials.edges.indptr[row], potentials.n, x, out, backwards
        )
        return
    for k in range(potentials.edges.indptr[row], potentials.edges.indptr[row + 1]):
        i = potentials.edges.previous[k]
        j = potentials.edges.current[k]
        raised = potentials.edges.score[k] - potentials.transition[i * potentials.n + j]
        if backwards:
            out[i] += <real>(raised * x[j])
        else:
            out[j] += <real>(raised * x[i])


cdef void count_edges(
    const Potentials *potentials, int64_t token, const real *before, const real *ahead,
    BatchCounts counts,
) noexcept nogil:
    """The expected counts of the edges into a token, instead of the transitions they replace."""
    cdef:
        int64_t k, i, j, row = potentials.edges.row[token]
        double both
    if row < 0:
        return
    k = potentials.edges.indptr[row]
    if is_table(potentials.edges, row, potentials.n):
        count_table(
            potentials.edges.score + k, potentials.transition, potentials.n, before, ahead,
            &counts.edges[k], counts.transition,
        )
        return
    for k in range(potentials.edges.indptr[row], potentials.edges.indptr[row + 1]):
        i = potentials.edges.previous[k]
        j = potentials.edges.current[k]
        both = <double>before[i] * ahead[j]
        counts.edges[k] += both * potentials.edges.score[k]
        counts.transition[i, j] -= both * potentials.transition[i * potentials.n + j]
