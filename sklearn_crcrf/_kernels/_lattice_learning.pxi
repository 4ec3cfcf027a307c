"""Learning from the lattice of one unit after another: AdaGrad on the log loss.

For each unit, the scores of all runs of candidates are computed, then the derivatives d of

    log Z - score(gold)

by these scores, and each weight w that has a part in a score is moved at once,

    G += d^2,    w -= rate * d / sqrt(G),

(Duchi, Hazan & Singer 2011), as weights change with each unit. A penalty of the squares of weights
adds a share of its derivative to each d. The mean of the weights after each unit is w - u / n, where
u is the sum of the steps, each times the number of units before it.

All weights are rows (w, G, u, penalty) of one table: weights of pairs of attribute and label, of
runs of labels, and of the scores that are known beforehand, one for each label.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._lattice cimport (
    LatticeRuns, Runs, number_of, real, run_of_path, start_of,
)

# Smaller derivatives by scores move no weights.
cdef double SMALLEST = 1e-3


cdef struct Numbers:
    # Which weights are in which scores.
    const int64_t *indptr              # (n_tokens + 1,) of attributes in CSR
    const int64_t *first_pair          # (n_entries,)
    const int32_t *pair                # (n_numbers,) rows of the table, -1 for none
    const int32_t *run                 # (n_runs,)
    const int64_t *extra_indptr        # (n_units + 1,) of runs at the ends of units
    const int64_t *extra_place         # (n_extra,)
    const int32_t *extra               # (n_extra,)
    const int32_t *known               # (n_candidates,)


cdef class LatticeWeights:
    """The numbers of the weights in the scores of all runs, and work space.

    indptr (n_tokens + 1,), first_pair (n_entries,) and pair (n_numbers,) are of the attributes of
    tokens; run (n_runs,), of runs; extra_indptr (n_units + 1,), extra_place and extra (n_extra,), of
    runs with a mark at an end of a unit; known (n_candidates,), of scores known beforehand.
    """

    cdef:
        Numbers numbers
        tuple arrays
        double[:, ::1] work            # (4, n_runs)

    def __cinit__(self, LatticeRuns lattice, indptr, first_pair, pair, run, extras, known):
        cdef:
            const int64_t[::1] starts = indptr, firsts = padded(first_pair)
            const int32_t[::1] pairs = padded(pair), runs = padded(run), knowns = padded(known)
            const int64_t[::1] extra_starts = extras[0], places = padded(extras[1])
            const int32_t[::1] extra = padded(extras[2])
        self.arrays = starts, firsts, pairs, runs, knowns, extra_starts, places, extra
        self.work = np.zeros((4, lattice.n_runs + 1))
        self.numbers = Numbers(
            &starts[0], &firsts[0], &pairs[0], &runs[0], &extra_starts[0], &places[0], &extra[0],
            &knowns[0],
        )


def padded(array):
    """The array, or a longer one if it is empty, so that it has an address."""
    return array if len(array) else np.zeros(1, dtype=array.dtype)


def learn_lattices(
    LatticeRuns lattice,
    LatticeWeights weights,
    const real[::1] values,            # (n_entries,) of attributes IN, 0 to leave one out
    const real[::1] known,             # (n_candidates,) the scores known beforehand IN
    const int32_t[::1] gold,           # (n_tokens,) numbers of candidates IN
    const double[::1] weight,          # (n_units,) IN
    const int64_t[::1] order,          # the units to learn from IN
    real[:, ::1] table,                # (n_weights, 4) INOUT
    double rate,
    double n_before,                   # number of units since the mean began
):
    """Learn from units; return the sum of their losses, each before its weights are moved."""
    cdef:
        double total = 0.0, log_z
        double *score = &weights.work[0, 0]
        double *gradient = &weights.work[1, 0]
        double *message = &weights.work[2, 0]
        double *conditional = &weights.work[3, 0]
        double[::1] space = np.empty(2 * lattice.largest + 1)
        int64_t k, u
        Runs *runs = &lattice.runs
        const real *value = &values[0] if values.shape[0] else NULL
    if lattice.n_runs == 0:
        return 0.0
    with nogil:
        for k in range(order.shape[0]):
            u = order[k]
            fill_scores[real](runs, &weights.numbers, u, value, &known[0], &table[0, 0], score)
            log_z = sum_forward_of_unit[double](runs, u, score, message, conditional)
            clear_runs(runs, u, gradient)
            sum_backward_of_unit[double](
                runs, u, message, conditional, weight[u], &space[0], lattice.largest, gradient
            )
            total += weight[u] * (
                log_z - subtract_gold_runs(runs, u, &gold[0], score, weight[u], gradient)
            )
            move_weights[real](
                runs, &weights.numbers, u, value, &known[0], gradient, rate, n_before + k,
                &table[0, 0],
            )
    return total


cdef void fill_scores(
    const Runs *runs, const Numbers *numbers, int64_t unit, const real *value, const real *known,
    const real *table, double *score
) noexcept nogil:
    """The scores of all runs of a unit."""
    cdef:
        int64_t t, n, r, k, c, p, n_here, first = runs.offsets[unit]
        double *own
    for t in range(first, runs.offsets[unit + 1]):
        for n in range(min(t - first, runs.order) + 1):
            for r in range(start_of(runs, n, t), start_of(runs, n, t + 1)):
                score[r] = weight_of[real](table, numbers.run[r])
        own, n_here = score + start_of(runs, 0, t), number_of(runs, 0, t)
        for k in range(numbers.indptr[t], numbers.indptr[t + 1]):
            if value[k] != 0.0:
                p = numbers.first_pair[k]
                for c in range(n_here):
                    own[c] += value[k] * weight_of[real](table, numbers.pair[p + c])
        for c in range(start_of(runs, 0, t), start_of(runs, 0, t + 1)):
            score[c] += known[c] * weight_of[real](table, numbers.known[c])
    for k in range(numbers.extra_indptr[unit], numbers.extra_indptr[unit + 1]):
        score[numbers.extra_place[k]] += weight_of[real](table, numbers.extra[k])


cdef inline double weight_of(const real *table, int32_t number) noexcept nogil:
    return table[4 * <int64_t>number] if number >= 0 else 0.0


cdef void clear_runs(const Runs *runs, int64_t unit, double *gradient) noexcept nogil:
    """Set the derivatives by the scores of all runs of a unit to zero."""
    cdef int64_t n, r
    for n in range(runs.order + 1):
        for r in range(
            start_of(runs, n, runs.offsets[unit]), start_of(runs, n, runs.offsets[unit + 1])
        ):
            gradient[r] = 0.0


cdef double subtract_gold_runs(
    const Runs *runs, int64_t unit, const int32_t *gold, const double *score, double weight,
    double *gradient
) noexcept nogil:
    """Subtract the weight from the derivatives by the runs of the gold path; return its score."""
    cdef:
        int64_t t, n, run, first = runs.offsets[unit]
        double total = 0.0
    for t in range(first, runs.offsets[unit + 1]):
        for n in range(min(t - first, runs.order) + 1):
            run = start_of(runs, n, t) + run_of_path(runs, t, n, gold)
            total += score[run]
            gradient[run] -= weight
    return total


cdef void move_weights(
    const Runs *runs, const Numbers *numbers, int64_t unit, const real *value, const real *known,
    const double *gradient, double rate, double n_before, real *table
) noexcept nogil:
    """Move all weights that are in the scores of a unit."""
    cdef:
        int64_t t, n, r, k, c, p, n_here, origin, first = runs.offsets[unit]
    for t in range(first, runs.offsets[unit + 1]):
        for n in range(min(t - first, runs.order) + 1):
            for r in range(start_of(runs, n, t), start_of(runs, n, t + 1)):
                if fabs(gradient[r]) > SMALLEST:
                    move_weight[real](table, numbers.run[r], gradient[r], rate, n_before)
        origin, n_here = start_of(runs, 0, t), number_of(runs, 0, t)
        for c in range(n_here):
            if fabs(gradient[origin + c]) <= SMALLEST:
                continue
            if known[origin + c] != 0.0:
                move_weight[real](
                    table, numbers.known[origin + c], gradient[origin + c] * known[origin + c],
                    rate, n_before,
                )
            for k in range(numbers.indptr[t], numbers.indptr[t + 1]):
                if value[k] != 0.0:
                    p = numbers.first_pair[k] + c
                    move_weight[real](
                        table, numbers.pair[p], gradient[origin + c] * value[k], rate, n_before
                    )
    for k in range(numbers.extra_indptr[unit], numbers.extra_indptr[unit + 1]):
        if fabs(gradient[numbers.extra_place[k]]) > SMALLEST:
            move_weight[real](
                table, numbers.extra[k], gradient[numbers.extra_place[k]], rate, n_before
            )


cdef inline void move_weight(
    real *table, int32_t number, double derivative, double rate, double n_before
) noexcept nogil:
    cdef:
        real *row
        double d, step
    if number < 0:
        return
    row = table + 4 * <int64_t>number
    d = derivative + row[3] * row[0]
    if d == 0.0:
        return
    row[1] += <real>(d * d)
    step = -rate * d / sqrt(row[1])
    row[0] += <real>step
    row[2] += <real>(n_before * step)
