# Lattices, in which each token has a few candidates: their scores, and their best paths.
#
# A run is a sequence of candidates of tokens that follow each other. The score of a path is the sum
# of the scores of all its runs of 1, 2, ..., order + 1 candidates (for order 1: labels and pairs of
# labels). Runs that end at token t are numbered with the last candidate fastest, so run a of length
# n + 1 begins with run a // N(t) of length n that ends at t - 1, and ends with run a % R of length n
# that ends at t, where N(t) is the number of candidates and R the number of runs of length n.
#
# For the best path, with the runs s of the last ``order`` candidates as states, and x_t(a) the sum of
# the scores of all runs that a run a of order + 1 candidates ends with,
#
#     alpha_t(s) = max_{a: a % S = s} alpha_{t-1}(a // N(t)) + x_t(a),
#
# where S is the number of states. Before there are ``order`` tokens, states are all candidates so far.
#
# All runs have one place each in arrays of length n_runs: first the runs of one candidate, then the
# runs of two, and so on; within a length in the order of tokens.

cdef class LatticeRuns:
    """Where the runs of candidates of each token are.

    offsets (n_units + 1,) are the tokens of each unit; start (order + 1, n_tokens + 1) says where
    the runs of n + 1 candidates that end at each token start, in row n.
    """

    def __cinit__(self, const int64_t[::1] offsets, const int64_t[:, ::1] start):
        cdef int64_t order = start.shape[0] - 1, n_places = start.shape[1]
        sizes = np.diff(start, axis=1)
        self.arrays = offsets, start
        self.n_units = offsets.shape[0] - 1
        self.n_runs = start[order, n_places - 1]
        self.largest = sizes.max(initial=0)
        self.runs = Runs(order, n_places, &offsets[0], &start[0, 0])


cdef bint add_scores_of_ends(
    const Runs *runs, int64_t t, int64_t longest, const real *score, double *total
) noexcept nogil:
    """The sum of the scores of all runs that each run of longest + 1 candidates ends with.

    Returns whether all are below infinity, which NaN is not.
    """
    cdef:
        int64_t n_runs = number_of(runs, longest, t), n, size, a, b
        const real *own = score + start_of(runs, longest, t)
        bint is_finite = True
    for a in range(n_runs):
        total[a] = own[a]
    for n in range(longest):
        own, size, a = score + start_of(runs, n, t), number_of(runs, n, t), 0
        while a < n_runs:
            for b in range(size):
                total[a + b] += own[b]
            a += size
    for a in range(n_runs):
        is_finite &= total[a] < INFINITY
    return is_finite


cdef inline void add_messages(
    const double *before, int64_t n_before, int64_t n_here, double *x
) noexcept nogil:
    """Add the messages of the states before to the scores of the runs that go on from each."""
    cdef int64_t s, k
    for s in range(n_before):
        for k in range(n_here):
            x[s * n_here + k] += before[s]


def best_lattice_paths(
    LatticeRuns lattice,
    const real[::1] score,             # (n_runs,) IN
    double[::1] message,               # (n_runs,) work space
    int32_t[::1] choice,               # (n_runs,) work space
    double[::1] value,                 # (n_units,) OUT
    int32_t[::1] candidate,            # (n_tokens,) OUT
):
    """The best path of each unit: its score, and the number of the candidate of each token.

    Of ties, the path with the lowest candidates at its end.
    """
    cdef int64_t u
    cdef double[::1] work = np.empty(lattice.largest + 1)
    if lattice.n_runs == 0:
        value[:] = 0.0
        return
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            value[u] = best_path_of_unit[real](
                &lattice.runs, u, &score[0], &message[0], &work[0], &choice[0], &candidate[0]
            )
        take_turn()


cdef double best_path_of_unit(
    const Runs *runs, int64_t unit, const real *score, double *message, double *x,
    int32_t *choice, int32_t *candidate
) noexcept nogil:
    """The score of the best path of a unit, whose candidates are filled in."""
    cdef:
        int64_t first = runs.offsets[unit], stop = runs.offsets[unit + 1]
        int64_t t, longest, n_arcs, n_states, n_here, a, s, best
        int32_t *chosen
        double *alpha = NULL
        const double *before = NULL
        bint is_finite = True
    if first == stop:
        return 0.0
    for t in range(first, stop):
        longest = min(t - first, runs.order)
        n_arcs, n_here = number_of(runs, longest, t), number_of(runs, 0, t)
        is_finite &= add_scores_of_ends[real](runs, t, longest, score, x)
        if t > first:
            add_messages(before, number_of(runs, longest - 1, t - 1), n_here, x)
        n_states = number_of(runs, min(longest, runs.order - 1), t)
        alpha = message + start_of(runs, min(longest, runs.order - 1), t)
        chosen = choice + start_of(runs, min(longest, runs.order - 1), t)
        for s in range(n_states):
            best = s
            a = s + n_states
            while a < n_arcs:
                if x[a] > x[best]:
                    best = a
                a += n_states
            alpha[s], chosen[s] = x[best], <int32_t>(best // n_here)
        before = alpha
    s = 0
    for a in range(1, n_states):
        if alpha[a] > alpha[s]:
            s = a
    best = s
    for t in range(stop - 1, first - 1, -1):
        candidate[t] = <int32_t>(s % number_of(runs, 0, t))
        s = choice[start_of(runs, min(t - first, runs.order - 1), t) + s]
    return alpha[best] if is_finite else NAN


def score_lattice_paths(
    LatticeRuns lattice,
    const real[::1] score,             # (n_runs,) IN
    const int32_t[::1] candidate,      # (n_tokens,) IN, -1 for a label that is no candidate
    double[::1] value,                 # (n_units,) OUT; -inf for a path that is not in the lattice
):
    """The scores of given paths."""
    cdef:
        const Runs *runs = &lattice.runs
        int64_t u, t, n, run
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            value[u] = 0.0
            for t in range(runs.offsets[u], runs.offsets[u + 1]):
                if candidate[t] < 0:
                    value[u] = -INFINITY
                    break
                for n in range(min(t - runs.offsets[u], runs.order) + 1):
                    run = run_of_path(runs, t, n, &candidate[0])
                    value[u] += score[start_of(runs, n, t) + run]
        take_turn()


def add_lattice_paths(
    LatticeRuns lattice,
    const int32_t[::1] candidate,      # (n_tokens,) IN, -1 for a label that is no candidate
    const double[::1] weight,          # (n_units,) IN
    real[::1] gradient,                # (n_runs,) INOUT
):
    """Add the weight of a unit to the derivatives by all runs of its path that are in the lattice."""
    cdef:
        const Runs *runs = &lattice.runs
        int64_t u, t, n, run
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            for t in range(runs.offsets[u], runs.offsets[u + 1]):
                for n in range(min(t - runs.offsets[u], runs.order) + 1):
                    if candidate[t - n] < 0:
                        break
                    run = run_of_path(runs, t, n, &candidate[0])
                    gradient[start_of(runs, n, t) + run] += <real>weight[u]
        take_turn()
