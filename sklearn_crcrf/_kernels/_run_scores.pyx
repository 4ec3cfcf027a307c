"""Scores of three or more labels in a row, for the runs of candidates of lattices; see _lattice.pyx.

A table has an entry for each context, the labels before the last one, that has scores. Contexts are
numbers with one digit for each label, to the base of the number of labels, and rise. The scores of a
context are at starts[c] to starts[c + 1], with rising last labels; all other last labels have the score
unseen[c], and all other contexts the score 0.
"""

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._lattice cimport LatticeRuns, Runs, number_of, real, start_of
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn

ctypedef fused integer:
    int32_t
    int64_t


cdef inline int64_t place_from(
    const integer *sorted, int64_t low, int64_t high, int64_t value
) noexcept nogil:
    """The first place, of low to high, with a number that is not below the value."""
    cdef int64_t middle
    while low < high:
        middle = low + (high - low) // 2
        if sorted[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def score_lattice_runs(
    LatticeRuns lattice,
    const int32_t[::1] label,          # (n_candidates,) rising for each token IN
    int64_t n_labels,
    int64_t n,                         # the runs have n + 1 labels
    tuple table,                       # contexts, starts, last, score and unseen
    real[::1] runs_out,                # (n_runs,) OUT, at the runs of n + 1 labels
):
    """Write the scores of all runs of n + 1 labels."""
    cdef:
        const Runs *runs = &lattice.runs
        const int64_t[::1] contexts = table[0], starts = table[1]
        const int32_t[::1] last = table[2]
        const double[::1] score = table[3], unseen = table[4]
        int64_t n_contexts = contexts.shape[0], u, t, c, k, d, key, digit, rest, place, e, stop
        int64_t n_here, at
        real other
    if n_contexts == 0 or lattice.n_runs == 0:
        runs_out[start_of(runs, n, 0):start_of(runs, n, runs.n_places - 1)] = 0.0
        return
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            for t in range(runs.offsets[u] + n, runs.offsets[u + 1]):
                at, n_here = start_of(runs, n, t), number_of(runs, 0, t)
                for c in range(number_of(runs, n - 1, t - 1)):
                    key, digit, rest = 0, 1, c
                    for d in range(t - 1, t - 1 - n, -1):
                        k = rest % number_of(runs, 0, d)
                        rest //= number_of(runs, 0, d)
                        key += digit * label[start_of(runs, 0, d) + k]
                        digit *= n_labels
                    place = place_from[int64_t](&contexts[0], 0, n_contexts, key)
                    other, e, stop = 0.0, 0, 0
                    if place < n_contexts and contexts[place] == key:
                        other, e, stop = <real>unseen[place], starts[place], starts[place + 1]
                    for k in range(n_here):
                        d = label[start_of(runs, 0, t) + k]
                        if e < stop:
                            e = place_from[int32_t](&last[0], e, stop, d)
                        runs_out[at] = other
                        if e < stop and last[e] == d:
                            runs_out[at] = <real>score[e]
                        at += 1
        take_turn()
