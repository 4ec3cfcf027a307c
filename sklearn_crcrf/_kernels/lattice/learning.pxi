# Learning from the lattice of one unit after another: AdaGrad on the log loss.
#
# For each unit, the scores of all runs of candidates are computed, then the derivatives d of
#
#     log Z - score(gold)
#
# by these scores, and each weight w that has a part in a score is moved at once,
#
#     G += d^2,    w -= rate * d / sqrt(G),
#
# (Duchi, Hazan & Singer 2011), as weights change with each unit. A penalty of the squares of weights
# adds a share of its derivative to each d. The mean of the weights after each unit is w - u / n, where
# u is the sum of the steps, each times the number of units before it.
#
# All weights are rows (w, G, u, penalty) of one table: weights of pairs of attribute and label, then of
# runs of labels, then of the scores that are known beforehand, one for each label.
#
# Scores and derivatives of only one unit are kept at a time, so that they stay in the cache.

import numpy as np

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.lattice.runs cimport (
    LatticeRuns, Runs, number_of, real, run_of_path, start_of,
)
from sklearn_crcrf._kernels.vectors cimport prefetch

# Smaller derivatives by scores move no weights.
cdef double SMALLEST = 1e-3
# The weights of an attribute are fetched from memory this number of attributes ahead.
cdef enum: SOON = 8


cdef struct Numbers:
    # Which weights are in which scores.
    const int64_t *indptr              # (n_tokens + 1,) of attributes in CSR
    const int64_t *first_pair          # (n_entries + 1,)
    const int32_t *pair                # (n_numbers,) weights of pairs, -1 for none
    const int32_t *run                 # (n_runs,) weights of runs, -1 for none
    const int64_t *extra_indptr        # (n_units + 1,) of runs at the ends of units
    const int64_t *extra_place         # (n_extra,)
    const int32_t *extra               # (n_extra,) weights of runs, -1 for none
    const int32_t *known               # (n_candidates,) weights of scores known beforehand
    int64_t first_run                  # the rows of the table where these weights begin
    int64_t first_known
    bint has_known


cdef struct Unit:
    # One unit as a lattice of its own, whose runs have the places of all runs less a shift.
    Runs runs
    int64_t number
    int64_t first                      # its first token
    int64_t *shift                     # (order + 1,)
    double *score                      # (n_runs,) of the unit, as all that follow
    double *gradient
    double *message
    double *conditional


cdef class LatticeWeights:
    """The numbers of the weights in the scores of all runs, and work space for one unit.

    indptr (n_tokens + 1,), first_pair (n_entries + 1,) and pair (n_numbers,) are of the attributes
    of tokens; run (n_runs,), of runs; extras are indptr (n_units + 1,), places and numbers (n_extra,)
    of runs with a mark at an end of a unit; known (n_candidates,), of scores known beforehand. sizes
    are the numbers of weights of the three kinds.
    """

    cdef:
        Numbers numbers
        Unit unit
        tuple arrays

    def __cinit__(self, LatticeRuns lattice, indptr, first_pair, pair, run, extras, known, sizes):
        cdef:
            const int64_t[::1] starts = indptr, firsts = first_pair
            const int32_t[::1] pairs = padded(pair), runs = padded(run), knowns = padded(known)
            const int64_t[::1] extra_starts = extras[0], places = padded(extras[1])
            const int32_t[::1] extra = padded(extras[2])
            int64_t longest = 0, largest = 0, u, first, stop, n, order = lattice.runs.order, total
            int64_t[::1] own, offsets = np.zeros(2, dtype=np.int64)
            int64_t[::1] shift = np.zeros(order + 1, dtype=np.int64)
            double[:, ::1] work
        for u in range(lattice.n_units):
            first, stop = lattice.runs.offsets[u], lattice.runs.offsets[u + 1]
            total = 0
            for n in range(order + 1):
                total += start_of(&lattice.runs, n, stop) - start_of(&lattice.runs, n, first)
            longest, largest = max(longest, stop - first), max(largest, total)
        own, work = np.zeros((order + 1) * (longest + 1), dtype=np.int64), np.zeros((4, largest + 1))
        self.arrays = (
            starts, firsts, pairs, runs, knowns, extra_starts, places, extra, own, offsets, shift, work
        )
        self.numbers = Numbers(
            &starts[0], &firsts[0], &pairs[0], &runs[0], &extra_starts[0], &places[0], &extra[0],
            &knowns[0], sizes[0], sizes[0] + sizes[1], sizes[2] > 0,
        )
        self.unit = Unit(
            Runs(order, 0, &offsets[0], &own[0]), 0, 0, &shift[0], &work[0, 0], &work[1, 0],
            &work[2, 0], &work[3, 0],
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
        double[::1] space = np.empty(2 * lattice.largest + 1)
        int64_t k, u, r
        Unit *unit = &weights.unit
        const real *value = &values[0] if values.shape[0] else NULL
    if lattice.n_runs == 0:
        return 0.0
    with nogil:
        for k in range(order.shape[0]):
            u = order[k]
            copy_unit(&lattice.runs, u, unit)
            fill_scores[real](unit, &weights.numbers, value, &known[0], &table[0, 0])
            log_z = sum_forward_of_unit[double](
                &unit.runs, 0, unit.score, unit.message, unit.conditional
            )
            for r in range(start_of(&unit.runs, unit.runs.order, unit.runs.n_places - 1)):
                unit.gradient[r] = 0.0
            sum_backward_of_unit[double](
                &unit.runs, 0, unit.message, unit.conditional, weight[u], &space[0],
                lattice.largest, unit.gradient,
            )
            total += weight[u] * (log_z - subtract_gold_runs(unit, &gold[unit.first], weight[u]))
            move_weights[real](
                unit, &weights.numbers, value, &known[0], rate, n_before + k, &table[0, 0]
            )
    return total


cdef void copy_unit(const Runs *runs, int64_t number, Unit *unit) noexcept nogil:
    """Make a unit a lattice of its own."""
    cdef:
        int64_t first = runs.offsets[number], n_tokens = runs.offsets[number + 1] - first
        int64_t n, t, n_before = 0, n_places = n_tokens + 1
        int64_t *offsets = <int64_t *>unit.runs.offsets
        int64_t *start = <int64_t *>unit.runs.start
    unit.number, unit.first, unit.runs.n_places, offsets[1] = number, first, n_places, n_tokens
    for n in range(runs.order + 1):
        unit.shift[n] = start_of(runs, n, first) - n_before
        for t in range(n_places):
            start[n * n_places + t] = start_of(runs, n, first + t) - unit.shift[n]
        n_before = start[n * n_places + n_tokens]


cdef inline int64_t place_of_extra(const Unit *unit, int64_t place) noexcept nogil:
    """Where the score of a run at an end of the unit is, given its place among all runs."""
    cdef int64_t n = unit.runs.order
    while place - unit.shift[n] < start_of(&unit.runs, n, 0):
        n -= 1
    return place - unit.shift[n]


cdef void fill_scores(
    Unit *unit, const Numbers *numbers, const real *value, const real *known, const real *table
) noexcept nogil:
    """The scores of all runs of a unit."""
    cdef:
        int64_t t, n, r, k, c, p, n_here, shift, n_tokens = unit.runs.n_places - 1
        int64_t last = numbers.indptr[unit.first + n_tokens]
        const real *of_runs = table + 4 * numbers.first_run
        double *own
    for n in range(unit.runs.order + 1):
        shift = unit.shift[n]
        for r in range(start_of(&unit.runs, n, 0), start_of(&unit.runs, n, n_tokens)):
            unit.score[r] = weight_of[real](of_runs, numbers.run[r + shift])
    for t in range(n_tokens):
        own, n_here = unit.score + start_of(&unit.runs, 0, t), number_of(&unit.runs, 0, t)
        for k in range(numbers.indptr[unit.first + t], numbers.indptr[unit.first + t + 1]):
            if k + SOON < last and value[k + SOON] != 0.0:
                for p in range(numbers.first_pair[k + SOON], numbers.first_pair[k + SOON + 1]):
                    prefetch(table + 4 * <int64_t>numbers.pair[p])
            if value[k] != 0.0:
                p = numbers.first_pair[k]
                for c in range(n_here):
                    own[c] += value[k] * weight_of[real](table, numbers.pair[p + c])
    if numbers.has_known:
        for c in range(start_of(&unit.runs, 0, n_tokens)):
            r = c + unit.shift[0]
            unit.score[c] += known[r] * table[4 * (numbers.first_known + numbers.known[r])]
    for k in range(numbers.extra_indptr[unit.number], numbers.extra_indptr[unit.number + 1]):
        r = place_of_extra(unit, numbers.extra_place[k])
        unit.score[r] += weight_of[real](of_runs, numbers.extra[k])


cdef inline double weight_of(const real *table, int32_t number) noexcept nogil:
    return table[4 * <int64_t>number] if number >= 0 else 0.0


cdef double subtract_gold_runs(Unit *unit, const int32_t *gold, double weight) noexcept nogil:
    """Subtract the weight from the derivatives by the runs of the gold path; return its score."""
    cdef:
        int64_t t, n, run
        double total = 0.0
    for t in range(unit.runs.n_places - 1):
        for n in range(min(t, unit.runs.order) + 1):
            run = start_of(&unit.runs, n, t) + run_of_path(&unit.runs, t, n, gold)
            total += unit.score[run]
            unit.gradient[run] -= weight
    return total


cdef void move_weights(
    const Unit *unit, const Numbers *numbers, const real *value, const real *known, double rate,
    double n_before, real *table
) noexcept nogil:
    """Move all weights that are in the scores of a unit."""
    cdef:
        int64_t t, n, r, k, c, n_tokens = unit.runs.n_places - 1
        real *of_runs = table + 4 * numbers.first_run
        real *of_known = table + 4 * numbers.first_known
        double d
    for n in range(unit.runs.order + 1):
        for r in range(start_of(&unit.runs, n, 0), start_of(&unit.runs, n, n_tokens)):
            if fabs(unit.gradient[r]) > SMALLEST:
                k = numbers.run[r + unit.shift[n]]
                move_weight[real](of_runs, k, unit.gradient[r], rate, n_before)
    for t in range(n_tokens):
        for c in range(number_of(&unit.runs, 0, t)):
            r = start_of(&unit.runs, 0, t) + c
            d = unit.gradient[r]
            if fabs(d) <= SMALLEST:
                continue
            r += unit.shift[0]
            if numbers.has_known and known[r] != 0.0:
                move_weight[real](of_known, numbers.known[r], d * known[r], rate, n_before)
            for k in range(numbers.indptr[unit.first + t], numbers.indptr[unit.first + t + 1]):
                if value[k] != 0.0:
                    n = numbers.pair[numbers.first_pair[k] + c]
                    move_weight[real](table, n, d * value[k], rate, n_before)
    for k in range(numbers.extra_indptr[unit.number], numbers.extra_indptr[unit.number + 1]):
        d = unit.gradient[place_of_extra(unit, numbers.extra_place[k])]
        if fabs(d) > SMALLEST:
            move_weight[real](of_runs, numbers.extra[k], d, rate, n_before)


cdef inline void move_weight(
    real *table, int64_t number, double derivative, double rate, double n_before
) noexcept nogil:
    cdef:
        real *row
        double d, step
    if number < 0:
        return
    row = table + 4 * number
    d = derivative + row[3] * row[0]
    if d == 0.0:
        return
    row[1] += <real>(d * d)
    step = -rate * d / sqrt(row[1])
    row[0] += <real>step
    row[2] += <real>(n_before * step)
