# Derivatives of the sums of lattice/sums.pyx in a direction, which are covariances.
#
# Let v(a) be the direction of the score of a run, and w_t(a) the sum of the directions of all runs that
# a run a of order + 1 candidates ends with. With the shares p_t(a | s) of the forward pass,
#
#     alpha'_t(s) = sum_{a: a % S = s} p_t(a | s) (alpha'_{t-1}(a // N(t)) + w_t(a)),
#     p'_t(a | s) = p_t(a | s) (alpha'_{t-1}(a // N(t)) + w_t(a) - alpha'_t(s)),
#
# the derivative of log Z is the mean of <v, f>, where f counts the runs of a path, and on the way back
#
#     p'_t(a) = p'_t(a | s) p_t(s) + p_t(a | s) p'_t(s)
#
# is the covariance of <v, f> and the run a (Pearlmutter 1994, "Fast exact multiplication by the
# Hessian"). See lattice/best_paths.pxi for runs, and lattice/sums.pyx
# for states.

cdef double mean_of_unit(
    const Runs *runs, int64_t unit, const double *direction, const double *message,
    const double *conditional, double *moved_message, double *moved
) noexcept nogil:
    """The mean of <v, f> of a unit; fills alpha', and p'(a | s) / p(a | s)."""
    cdef:
        int64_t first = runs.offsets[unit], stop = runs.offsets[unit + 1]
        int64_t t, longest, n_arcs, n_states = 0, n_here, a, s, place
        double mean = 0.0
        const double *share
        const double *before = NULL
        double *alpha = NULL
        double *w
    for t in range(first, stop):
        longest = min(t - first, runs.order)
        n_arcs, n_here = number_of(runs, longest, t), number_of(runs, 0, t)
        n_states = number_of(runs, min(longest, runs.order - 1), t)
        w, share = moved + start_of(runs, longest, t), conditional + start_of(runs, longest, t)
        add_scores_of_ends[double](runs, t, longest, direction, w)
        for a in range(n_arcs if t > first else 0):
            w[a] += before[a // n_here]
        alpha = moved_message + start_of(runs, min(longest, runs.order - 1), t)
        for s in range(n_states):
            alpha[s], a = 0.0, s
            while a < n_arcs:
                alpha[s] += share[a] * w[a]
                a += n_states
            a = s
            while a < n_arcs:
                w[a] -= alpha[s]
                a += n_states
        before = alpha
    place = start_of(runs, min(stop - 1 - first, runs.order - 1), stop - 1)
    for s in range(n_states):
        mean += message[place + s] * alpha[s]
    return mean


cdef void covariance_of_unit(
    const Runs *runs, int64_t unit, const double *message, const double *conditional,
    const double *moved_message, const double *moved, double mean, double weight,
    double *work, int64_t largest, real *gradient
) noexcept nogil:
    """Add the covariances of all runs of a unit, times a weight; the work space has six rows."""
    cdef:
        int64_t first = runs.offsets[unit], t = runs.offsets[unit + 1] - 1
        int64_t longest, n_arcs, n_states, n_here, n, size, a, s, place
        double *here = work
        double *moved_here = work + largest
        double *before = work + 2 * largest
        double *moved_before = work + 3 * largest
        double *p = work + 4 * largest
        double *moved_p = work + 5 * largest
        real *out
    longest = min(t - first, runs.order - 1)
    n_states, place = number_of(runs, longest, t), start_of(runs, longest, t)
    for s in range(n_states):
        here[s] = weight * message[place + s]
        moved_here[s] = here[s] * (moved_message[place + s] - mean)
    while t >= first:
        longest = min(t - first, runs.order)
        n_arcs, n_here = number_of(runs, longest, t), number_of(runs, 0, t)
        n_states = number_of(runs, min(longest, runs.order - 1), t)
        place, a = start_of(runs, longest, t), 0
        while a < n_arcs:
            for s in range(n_states):
                p[a + s] = conditional[place + a + s] * here[s]
                moved_p[a + s] = (
                    p[a + s] * moved[place + a + s] + conditional[place + a + s] * moved_here[s]
                )
            a += n_states
        for a in range(n_arcs // n_here):
            before[a] = moved_before[a] = 0.0
            for s in range(n_here):
                before[a] += p[a * n_here + s]
                moved_before[a] += moved_p[a * n_here + s]
        for n in range(longest, -1, -1):
            out, size = gradient + start_of(runs, n, t), number_of(runs, n, t)
            for a in range(size):
                out[a] += <real>moved_p[a]
            if n > 0:
                size = number_of(runs, n - 1, t)
                s = 0
                for a in range(size, number_of(runs, n, t)):
                    moved_p[s] += moved_p[a]
                    s = s + 1 if s + 1 < size else 0
        here, before = before, here
        moved_here, moved_before = moved_before, moved_here
        t -= 1


def move_lattice_sums(
    LatticeRuns lattice,
    const double[::1] direction,       # (n_runs,) IN
    const double[::1] message,         # (n_runs,) of sum_lattice_forward IN
    const double[::1] conditional,     # (n_runs,) of sum_lattice_forward IN
    const double[::1] log_z,           # (n_units,) IN
    double[::1] moved_message,         # (n_runs,) OUT, at the runs that are states
    double[::1] moved,                 # (n_runs,) OUT, at the longest runs of each token
    double[::1] mean,                  # (n_units,) OUT; NaN where no path is possible
):
    """Means of a linear function of paths, and what :func:`add_lattice_covariances` needs."""
    cdef int64_t u
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            mean[u] = NAN
            if lattice.runs.offsets[u] == lattice.runs.offsets[u + 1]:
                mean[u] = 0.0
            elif log_z[u] > -INFINITY:
                mean[u] = mean_of_unit(
                    &lattice.runs, u, &direction[0], &message[0], &conditional[0],
                    &moved_message[0], &moved[0],
                )
        take_turn()


def add_lattice_covariances(
    LatticeRuns lattice,
    tuple sums,                        # message, conditional and log_z of sum_lattice_forward
    tuple moves,                       # moved_message, moved and mean of move_lattice_sums
    const double[::1] weight,          # (n_units,) IN
    real[::1] gradient,                # (n_runs,) INOUT
):
    """Add the covariances of all runs and the linear function, times the weight of their unit.

    Units without a possible path, or with weight 0, add nothing.
    """
    cdef:
        const double[::1] message = sums[0], conditional = sums[1], log_z = sums[2]
        const double[::1] moved_message = moves[0], moved = moves[1], mean = moves[2]
        int64_t u, largest = lattice.largest
        double[::1] work = np.empty(6 * largest + 1)
    if lattice.n_runs == 0:
        return
    with nogil:
        give_turn()
        for u in range(lattice.n_units):
            if weight[u] != 0.0 and log_z[u] > -INFINITY and mean[u] == mean[u]:
                if lattice.runs.offsets[u] < lattice.runs.offsets[u + 1]:
                    covariance_of_unit[real](
                        &lattice.runs, u, &message[0], &conditional[0],
                        &moved_message[0], &moved[0], mean[u], weight[u],
                        &work[0], largest, &gradient[0],
                    )
        take_turn()
