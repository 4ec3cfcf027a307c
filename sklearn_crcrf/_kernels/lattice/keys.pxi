# Labels, weights and derivatives of the runs of lattices; see lattice/best_paths.pxi for lattices.
#
# The weight of a run has a number, -1 for none. Runs at the ends of units have two more weights at
# most; these are listed beside the place of the run.

def write_run_keys(
    LatticeRuns lattice,
    const int32_t[::1] label,          # (n_candidates,) IN
    int64_t base,                      # above all label ids plus 1
    int64_t[::1] key,                  # (n_runs,) OUT
):
    """The labels of all runs as numbers, with a digit for each label, which is its id plus 1."""
    cdef:
        const Runs *runs = &lattice.runs
        int64_t u, t, n, k, before, run, first, n_here
    with nogil:
        give_turn()
        for k in range(label.shape[0]):
            key[k] = label[k] + 1
        for n in range(1, runs.order + 1):
            for u in range(lattice.n_units):
                for t in range(runs.offsets[u] + n, runs.offsets[u + 1]):
                    run, first = start_of(runs, n, t), start_of(runs, 0, t)
                    n_here = number_of(runs, 0, t)
                    for before in range(start_of(runs, n - 1, t - 1), start_of(runs, n - 1, t)):
                        for k in range(n_here):
                            key[run + k] = key[before] * base + key[first + k]
                        run += n_here
        take_turn()


def write_run_weights(
    const int32_t[::1] run,            # (n_runs,) numbers of weights IN
    const int64_t[::1] place,          # (n_ends,) runs at the ends of units IN
    const int32_t[::1] end,            # (n_ends,) numbers of weights IN
    const real[::1] weights,           # (n_weights,) IN
    real[::1] scores,                  # (n_runs,) OUT
):
    """The weight of each run, and the weights of those at the ends of units."""
    cdef int64_t k
    with nogil:
        give_turn()
        for k in range(run.shape[0]):
            scores[k] = weights[run[k]] if run[k] >= 0 else 0
        for k in range(end.shape[0]):
            if end[k] >= 0:
                scores[place[k]] += weights[end[k]]
        take_turn()


def add_run_derivatives(
    const int32_t[::1] run,            # as in write_run_weights
    const int64_t[::1] place,
    const int32_t[::1] end,
    const real[::1] derivatives,       # (n_runs,) by the scores of runs IN
    double[::1] gradient,              # (n_weights,) INOUT
):
    """Add the derivatives by the scores of runs to the derivatives by their weights."""
    cdef int64_t k
    with nogil:
        give_turn()
        for k in range(run.shape[0]):
            if run[k] >= 0:
                gradient[run[k]] += derivatives[k]
        for k in range(end.shape[0]):
            if end[k] >= 0:
                gradient[end[k]] += derivatives[place[k]]
        take_turn()


def find_candidates(
    const int64_t[::1] indptr,         # (n_tokens + 1,) the candidates of each token IN
    const int32_t[::1] label,          # (n_candidates,) IN
    const int32_t[::1] y,              # (n_tokens,) label ids IN
    int32_t[::1] number,               # (n_tokens,) OUT, -1 for a label that is no candidate
):
    """Which of the candidates of its token each label is."""
    cdef int64_t t, k
    with nogil:
        give_turn()
        for t in range(y.shape[0]):
            number[t] = -1
            for k in range(indptr[t], indptr[t + 1]):
                if label[k] == y[t]:
                    number[t] = <int32_t>(k - indptr[t])
                    break
        take_turn()
