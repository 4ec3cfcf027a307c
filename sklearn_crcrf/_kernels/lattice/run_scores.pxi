# Scores of three or more labels in a row, for the runs of candidates of lattices; see lattice/best_paths.pxi.
#
# A table has an entry for each context, the labels before the last one, that has scores. Contexts are
# numbers with one digit for each label, to the base of the number of labels, and rise. The scores of a
# context are at starts[c] to starts[c + 1], with rising last labels; all other last labels have the score
# unseen[c], and all other contexts the score 0.

cdef struct Known:
    # The scores of one context: of all last labels but those from start to stop.
    double other
    int64_t start
    int64_t stop


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
        int64_t n_contexts = contexts.shape[0], u, t, c, k, d, n_here, at, key, place, before
        int64_t[::1] number = np.zeros(n + 1, dtype=np.int64)
        Known known
    if n_contexts == 0 or lattice.n_runs == 0:
        runs_out[start_of(runs, n, 0):start_of(runs, n, runs.n_places - 1)] = 0.0
        return
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            for t in range(runs.offsets[u] + n, runs.offsets[u + 1]):
                at, n_here, place, before = start_of(runs, n, t), number_of(runs, 0, t), 0, -1
                for d in range(n):
                    number[d] = 0
                for c in range(number_of(runs, n - 1, t - 1)):
                    key = 0
                    for d in range(n):
                        key = key * n_labels + label[start_of(runs, 0, t - n + d) + number[d]]
                    # Keys rise, so that not more contexts than keys are between two of them.
                    k = n_contexts if before < 0 else min(n_contexts, place + key - before)
                    place, before = place_from(&contexts[0], place, k, key), key
                    known = Known(0.0, 0, 0)
                    if place < n_contexts and contexts[place] == key:
                        known = Known(unseen[place], starts[place], starts[place + 1])
                    for k in range(n_here):
                        d = label[start_of(runs, 0, t) + k]
                        if known.start < known.stop:
                            known.start = place_from(&last[0], known.start, known.stop, d)
                        runs_out[at] = <real>known.other
                        if known.start < known.stop and last[known.start] == d:
                            runs_out[at] = <real>score[known.start]
                        at += 1
                    # The next labels before the last one: the last of these changes fastest.
                    d = n - 1
                    number[d] += 1
                    while d > 0 and number[d] == number_of(runs, 0, t - n + d):
                        number[d] = 0
                        d -= 1
                        number[d] += 1
        take_turn()
