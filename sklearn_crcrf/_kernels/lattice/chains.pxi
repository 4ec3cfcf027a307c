# Where the runs of the candidates of lattices are, and their scores by the scores of chains.
#
# See lattice/best_paths.pxi for lattices, and chain/edges.pxd for the scores of chains.

def starts_of_runs(
    const int64_t[::1] offsets,        # (n_units + 1,) IN
    const int64_t[::1] first,          # (n_tokens + 1,) the first candidate of each token IN
    int64_t order,
):
    """Where the runs of n + 1 candidates start that end at each token, in row n.

    Returns an int64 array of shape (order + 1, n_tokens + 1); see LatticeRuns.
    """
    cdef:
        int64_t n_tokens = first.shape[0] - 1, n, u, t, total = 0
        int64_t[:, ::1] start = np.empty((order + 1, n_tokens + 1), dtype=np.int64)
        int64_t[::1] number = np.empty(n_tokens, dtype=np.int64)
    with nogil:
        for n in range(order + 1):
            for u in range(offsets.shape[0] - 1):
                # The number of shorter runs at the token before is still there.
                for t in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                    if n == 0:
                        number[t] = first[t + 1] - first[t]
                    elif t > offsets[u]:
                        number[t] = number[t - 1] * (first[t + 1] - first[t])
                    else:
                        number[t] = 0
            for t in range(n_tokens):
                start[n, t] = total
                total += number[t]
            start[n, n_tokens] = total
    return np.asarray(start)


def score_labels_and_pairs(
    LatticeRuns lattice,
    const int32_t[::1] label,          # (n_candidates,) IN
    BatchScores batch,                 # IN
    const real[:, ::1] state,          # (n_tokens, n_labels) IN
    real[::1] runs_out,                # (n_runs,) OUT, at the runs of one and two candidates
):
    """Write the scores of chains at the runs of single candidates, and of two in a row."""
    cdef:
        const Runs *runs = &lattice.runs
        const double[:, ::1] transition = batch.transition
        const double[::1] begin = batch.begin, end = batch.end
        Edges edges = batch.edges
        int64_t u, t, k, i, j, entry, at
        int32_t previous, current
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            for t in range(runs.offsets[u], runs.offsets[u + 1]):
                for k in range(start_of(runs, 0, t), start_of(runs, 0, t + 1)):
                    runs_out[k] = state[t, label[k]]
                    if t == runs.offsets[u]:
                        runs_out[k] = <real>(runs_out[k] + begin[label[k]])
                    if t == runs.offsets[u + 1] - 1:
                        runs_out[k] = <real>(runs_out[k] + end[label[k]])
                if t == runs.offsets[u]:
                    continue
                at = start_of(runs, 1, t)
                for i in range(number_of(runs, 0, t - 1)):
                    previous = label[start_of(runs, 0, t - 1) + i]
                    for j in range(number_of(runs, 0, t)):
                        current = label[start_of(runs, 0, t) + j]
                        entry = find_entry(edges, t, previous, current)
                        if entry >= 0:
                            runs_out[at] = <real>edges.score[entry]
                        else:
                            runs_out[at] = <real>transition[previous, current]
                        at += 1
        take_turn()
