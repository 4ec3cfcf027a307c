"""Sums and samples over the paths of lattices; see lattice/best_paths.pxi for lattices and their runs.

With the runs s of the last ``order`` candidates as states, f_t(a) the score of a run a of order + 1
candidates, and x_t(s) the sum of the scores of all runs that a state s ends with,

    alpha_t(s) = exp(x_t(s)) sum_{a: a % S = s} v_t(a),    v_t(a) = alpha_{t-1}(a // N(t)) exp(f_t(a)),

and Z is the sum over the last states. The shares of the v_t(a) in that sum are the probabilities
p_t(a | s) of the first candidate given the others, and on the way back

    p_t(a) = p_t(s) p_t(a | s),    p_{t-1}(s') = sum_{a: a // N(t) = s'} p_t(a).

Before there are ``order`` tokens, states are all candidates so far. The work is the number of runs
of order + 1 candidates (Mueller, Schmid & Schuetze 2013, "Efficient Higher-Order CRFs for
Morphological Tagging").

As every state follows from any other within ``order`` tokens, alphas of a token differ by a factor
of at most exp(2 order r), where r is the largest |f| + |x|. If r is small, all are divided by the
same number from time to time. Units of larger scores, and of scores of -inf, are summed with alpha in
logarithms.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, isinf, log
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.lattice.runs cimport (
    LatticeRuns, Runs, add_scores_of_ends, number_of, real, start_of,
)
from sklearn_crcrf._kernels.log_sums cimport log_of_sum
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport exponentiate_row

# The alphas of a token are divided by their sum if it is not between 1 / MOST and MOST. With the
# other logarithms of factors, RANGE, all then are between 1e-300 and 1e300.
cdef double MOST = 1e30, RANGE = 600.0


cdef double sum_forward_of_unit(
    const Runs *runs, int64_t unit, const real *score, double *message, double *conditional
) noexcept nogil:
    """log Z of a unit; fills the probabilities of its last states, and of runs given their ends."""
    cdef:
        int64_t first = runs.offsets[unit], stop = runs.offsets[unit + 1]
        double reach
    if first == stop:
        return 0.0
    reach = exponentiate_scores[real](runs, first, stop, score, message, conditional)
    if (2 * runs.order + 1) * reach < RANGE:
        return sum_exponentials(runs, first, stop, message, conditional)
    return sum_logarithms[real](runs, first, stop, score, message, conditional)


cdef double exponentiate_scores(
    const Runs *runs, int64_t first, int64_t stop, const real *score, double *message,
    double *conditional
) noexcept nogil:
    """exp(x) of all states and exp(f) of all runs of a unit; returns the largest |f| + |x|.

    This is inf if a score is NaN.
    """
    cdef:
        int64_t n, start, t, last = runs.order - 1
        double largest = 0.0
    for n in range(min(last, stop - first)):
        t, start = first + n, start_of(runs, n, first + n)
        add_scores_of_ends[real](runs, t, n, score, message + start)
        largest = max(largest, exponentiate_row(message + start, number_of(runs, n, t)))
    if stop - first > last:
        start = start_of(runs, last, first + last)
        n = start_of(runs, last, stop) - start
        if last == 0:
            copy_row[real](score + start, n, message + start)
        else:
            for t in range(first + last, stop):
                add_scores_of_ends[real](runs, t, last, score, message + start_of(runs, last, t))
        largest = max(largest, exponentiate_row(message + start, n))
    if stop - first > runs.order:
        start = start_of(runs, runs.order, first + runs.order)
        n = start_of(runs, runs.order, stop) - start
        copy_row[real](score + start, n, conditional + start)
        largest += exponentiate_row(conditional + start, n)
    return largest


cdef inline void copy_row(const real *row, int64_t n, double *out) noexcept nogil:
    cdef int64_t k
    for k in range(n):
        out[k] = row[k]


cdef double sum_exponentials(
    const Runs *runs, int64_t first, int64_t stop, double *message, double *conditional
) noexcept nogil:
    """log Z, given exponentials of scores in place of messages and probabilities."""
    cdef:
        int64_t t, level, n_states, n_here, s, k
        double total, factor, log_z = 0.0
        double *own
        double *alpha = NULL
        const double *before = NULL
    for t in range(first, stop):
        level = min(t - first, runs.order - 1)
        n_states, n_here = number_of(runs, level, t), number_of(runs, 0, t)
        alpha, total = message + start_of(runs, level, t), 0.0
        if t - first < runs.order:
            own = conditional + start_of(runs, level, t)
            s = 0
            while s < n_states:
                factor = before[s // n_here] if t > first else 1.0
                for k in range(n_here):
                    alpha[s] *= factor
                    total += alpha[s]
                    own[s] = 1.0
                    s += 1
        else:
            own = conditional + start_of(runs, runs.order, t)
            total = add_ways(own, number_of(runs, 0, t - runs.order), n_states, n_here, before, alpha)
        if t == stop - 1 or not 1.0 / MOST < total < MOST:
            log_z += log(total)
            factor = 1.0 / total
            for s in range(n_states):
                alpha[s] *= factor
        before = alpha
    return log_z


cdef inline double add_ways(
    double *own, int64_t n_ways, int64_t n_states, int64_t n_here, const double *before,
    double *alpha
) noexcept nogil:
    """Sum over the ways to each state; exponentials of runs become probabilities of these ways."""
    cdef:
        int64_t n_groups = n_states // n_here, s = 0, w, k, g
        double way, factor, of_state, total = 0.0
    for g in range(n_groups):
        for k in range(n_here):
            of_state = 0.0
            for w in range(n_ways):
                way = own[w * n_states + s] * before[w * n_groups + g]
                own[w * n_states + s] = way
                of_state += way
            factor = 1.0 / of_state
            for w in range(n_ways):
                own[w * n_states + s] *= factor
            alpha[s] *= of_state
            total += alpha[s]
            s += 1
    return total


cdef double sum_logarithms(
    const Runs *runs, int64_t first, int64_t stop, const real *score, double *message,
    double *conditional
) noexcept nogil:
    """As sum_forward_of_unit, with the logarithms of alpha."""
    cdef:
        int64_t t, longest, n_states, n_here, n_ways, s, k
        double *x
        double *alpha = NULL
        const double *before = NULL
        double log_z
        bint is_finite = True
    for t in range(first, stop):
        longest = min(t - first, runs.order)
        n_here = number_of(runs, 0, t)
        x = conditional + start_of(runs, longest, t)
        is_finite &= add_scores_of_ends[real](runs, t, longest, score, x)
        for s in range(number_of(runs, longest - 1, t - 1) if t > first else 0):
            for k in range(n_here):
                x[s * n_here + k] += before[s]
        n_states = number_of(runs, min(longest, runs.order - 1), t)
        alpha = message + start_of(runs, min(longest, runs.order - 1), t)
        n_ways = number_of(runs, 0, t - longest) if longest == runs.order else 1
        for s in range(n_states):
            alpha[s] = condition_on_end(x + s, n_states, n_ways)
        before = alpha
    if not is_finite:
        return NAN
    log_z = log_of_sum(alpha, n_states)
    for s in range(n_states):
        alpha[s] = exp(alpha[s] - log_z) if log_z > -INFINITY else 0.0
    return log_z


cdef inline double condition_on_end(double *x, int64_t stride, int64_t n) noexcept nogil:
    """The logarithm of a sum of n exponentials, of every stride-th x; x become their shares."""
    cdef double top = x[0], total = 0.0
    cdef int64_t k, best = 0
    if n == 1:
        x[0] = 1.0
        return top
    for k in range(1, n):
        if x[k * stride] > top:
            top, best = x[k * stride], k
    if isinf(top):
        for k in range(n):
            x[k * stride] = 0.0
        return top
    for k in range(n):
        x[k * stride] = exp(x[k * stride] - top) if k != best else 1.0
        total += x[k * stride]
    for k in range(n):
        x[k * stride] /= total
    return top + log(total)


cdef void sum_backward_of_unit(
    const Runs *runs, int64_t unit, const double *message, const double *conditional,
    double weight, double *work, int64_t largest, real *gradient
) noexcept nogil:
    """Add the probabilities of all runs of a unit, times a weight, to the gradient.

    The work space has two rows of the largest number of runs.
    """
    cdef:
        int64_t first = runs.offsets[unit], t = runs.offsets[unit + 1] - 1
        int64_t longest, n_arcs, n_states, n_here, n, size, a, s, b, k
        double total, p
        double *here = work
        double *before = work + largest
        const double *given
        real *out
    if t < first:
        return
    n = min(t - first, runs.order - 1)
    n_states, given = number_of(runs, n, t), message + start_of(runs, n, t)
    for s in range(n_states):
        here[s] = weight * given[s]
    while t >= first:
        longest = min(t - first, runs.order)
        n_arcs, n_here = number_of(runs, longest, t), number_of(runs, 0, t)
        if longest == runs.order:
            given, out = conditional + start_of(runs, longest, t), gradient + start_of(runs, longest, t)
            n_states = number_of(runs, longest - 1, t)
            a = b = 0
            while a < n_arcs:
                s = 0
                while s < n_states:
                    total = 0.0
                    for k in range(n_here):
                        p = given[a] * here[s]
                        out[a] += <real>p
                        total += p
                        a += 1
                        s += 1
                    before[b] = total
                    b += 1
        elif t > first:
            n_states = n_arcs
            s = b = 0
            while s < n_states:
                total = 0.0
                for k in range(n_here):
                    total += here[s]
                    s += 1
                before[b] = total
                b += 1
        else:
            n_states = n_arcs
        # The probability of a shorter run is the sum over its first candidate.
        for n in range(min(longest, runs.order - 1), -1, -1):
            out, size = gradient + start_of(runs, n, t), number_of(runs, n, t)
            for a in range(size):
                out[a] += <real>here[a]
            if n > 0:
                a = size = number_of(runs, n - 1, t)
                while a < number_of(runs, n, t):
                    for s in range(size):
                        here[s] += here[a + s]
                    a += size
        here, before = before, here
        t -= 1


def sum_lattice_forward(
    LatticeRuns lattice,
    const real[::1] score,             # (n_runs,) IN
    double[::1] message,               # (n_runs,) OUT, at the last states of each unit
    double[::1] conditional,           # (n_runs,) OUT, at the longest runs of each token
    double[::1] log_z,                 # (n_units,) OUT; NaN where a score is NaN or inf
):
    """Log-partitions, and what :func:`sum_lattice_backward` needs for derivatives."""
    cdef int64_t u
    if lattice.n_runs == 0:
        log_z[:] = 0.0
        return
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            log_z[u] = sum_forward_of_unit[real](
                &lattice.runs, u, &score[0], &message[0], &conditional[0]
            )
        take_turn()


def sum_lattice_backward(
    LatticeRuns lattice,
    const double[::1] message,         # (n_runs,) of sum_lattice_forward IN
    const double[::1] conditional,     # (n_runs,) of sum_lattice_forward IN
    const double[::1] log_z,           # (n_units,) IN
    const double[::1] weight,          # (n_units,) IN
    real[::1] gradient,                # (n_runs,) INOUT
):
    """Add the probabilities of all runs, times the weight of their unit.

    Units without a possible path, or with weight 0, add nothing.
    """
    cdef int64_t u, largest = lattice.largest
    cdef double[::1] work = np.empty(2 * largest + 1)
    if lattice.n_runs == 0:
        return
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            if weight[u] != 0.0 and log_z[u] > -INFINITY:
                sum_backward_of_unit[real](
                    &lattice.runs, u, &message[0], &conditional[0], weight[u],
                    &work[0], largest, &gradient[0],
                )
        take_turn()


def sample_lattice_paths(
    LatticeRuns lattice,
    const double[::1] message,         # (n_runs,) of sum_lattice_forward IN
    const double[::1] conditional,     # (n_runs,) of sum_lattice_forward IN
    const double[:, ::1] uniform,      # (n_samples, n_tokens) numbers in [0, 1) IN
    int32_t[:, ::1] candidate,         # (n_samples, n_tokens) OUT
):
    """Draw paths from the last token to the first, each candidate given those after it."""
    cdef:
        const Runs *runs = &lattice.runs
        int64_t k, u, t, first, s, level, longest, n_states, n_arcs
        const double *given
        double rest
    with nogil:
        give_turn()
        for k in range(uniform.shape[0]):
            for u in range(lattice.n_units):
                first, t = runs.offsets[u], runs.offsets[u + 1] - 1
                if t < first:
                    continue
                level = min(t - first, runs.order - 1)
                n_states, rest = number_of(runs, level, t), uniform[k, t]
                given = &message[start_of(runs, level, t)]
                s = 0
                rest -= given[s]
                while rest >= 0.0 and s + 1 < n_states:
                    s += 1
                    rest -= given[s]
                candidate[k, t] = <int32_t>(s % number_of(runs, 0, t))
                while t > first:
                    longest = min(t - first, runs.order)
                    n_states = number_of(runs, min(longest, runs.order - 1), t)
                    n_arcs = number_of(runs, longest, t)
                    given = &conditional[start_of(runs, longest, t)]
                    t -= 1
                    rest = uniform[k, t] - given[s]
                    while rest >= 0.0 and s + n_states < n_arcs:
                        s += n_states
                        rest -= given[s]
                    s //= number_of(runs, 0, t + 1)
                    candidate[k, t] = <int32_t>(s % number_of(runs, 0, t))
        take_turn()


include "learning.pxi"
