# The k best paths of a lattice; see lattice/best_paths.pxi for runs, states s and their scores x_t(a).
#
#     delta_t(s, r) = the r-th largest of all delta_{t-1}(a // N(t), q) + x_t(a) with a % S = s
#
# As in chain/k_best.pxi, the lists of the states before are merged with a heap. Of a state s, these are the
# states s // N(t) + m S / N(t), one for each candidate m of the token that s no longer has.

def k_best_lattice_paths(
    LatticeRuns lattice,
    int64_t unit,
    const real[::1] score,         # (n_runs,) of all units IN
    int64_t n_states,              # the number of states of all tokens of the unit
    int32_t[:, ::1] candidate,     # (k, length) OUT
    double[::1] values,            # (k,) decreasing OUT, -inf where there are fewer paths
):
    """The k best paths of one unit of at least one token; n_states * k is below 2^31."""
    cdef:
        const Runs *runs = &lattice.runs
        int64_t first = runs.offsets[unit], stop = runs.offsets[unit + 1]
        int64_t k = values.shape[0], largest = lattice.largest
        int64_t t, s, m, q, n_here, n_now = 0, n_ways, at, place
        double[:, :, ::1] delta = np.full((2, largest, k), -np.inf)
        int32_t[:, ::1] origin = np.zeros((n_states, k), dtype=np.int32)
        int32_t[::1] last = np.zeros(k, dtype=np.int32)
        int64_t[::1] start = np.empty(stop - first + 1, dtype=np.int64)
        double[::1] x = np.empty(largest), into = np.empty(largest), heap_score = np.empty(largest)
        int32_t[::1] heap_label = np.empty(largest, dtype=np.int32)
        int64_t[::1] taken = np.empty(largest, dtype=np.int64)
        Heap heap = Heap(0, &heap_score[0], &heap_label[0])
    start[0] = 0
    with nogil:
        for t in range(first, stop):
            m = min(t - first, runs.order)
            n_now = number_of(runs, min(m, runs.order - 1), t)
            n_here, n_ways = number_of(runs, 0, t), number_of(runs, m, t) // n_now
            start[t - first + 1] = start[t - first] + n_now
            add_scores_of_ends[real](runs, t, m, &score[0], &x[0])
            for s in range(n_now):
                if t == first:
                    delta[0, s, 0] = x[s]
                    continue
                for m in range(n_ways):
                    into[m] = x[s + m * n_now]
                best_ways(
                    &delta[(t - first - 1) % 2, s // n_here, 0], n_now // n_here * k, &into[0],
                    n_ways, k, &heap, &taken[0],
                    &delta[(t - first) % 2, s, 0], &origin[start[t - first] + s, 0],
                )
        for s in range(n_now):
            into[s] = 0.0
        best_ways(
            &delta[(stop - first - 1) % 2, 0, 0], k, &into[0], n_now, k, &heap, &taken[0],
            &values[0], &last[0],
        )
        for q in range(k):
            s, at = last[q] // k, last[q] % k
            for t in range(stop - 1, first - 1, -1):
                n_here = number_of(runs, 0, t)
                n_now = start[t - first + 1] - start[t - first]
                place = start[t - first] + s
                candidate[q, t - first] = <int32_t>(s % n_here)
                s = s // n_here + origin[place, at] // k * (n_now // n_here)
                at = origin[place, at] % k
