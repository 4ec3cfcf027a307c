# Steps of the dual of the max-margin problem.
#
# The dual variables of a unit are weights alpha, which sum to 1, of its active paths. A step
# moves weight to one path from the other paths, from path k the share beta_k:
#
#     alpha += size * (1[path] - beta)
#     weights += size * bound * (sum_k beta_k * features(path_k) - features(path))
#
# The value of a path is its score plus the number of its wrong labels. The gain of a step is the
# value of the path minus sum_k beta_k * value(path_k). The size is chosen so that
#
#     size * gain - size ** 2 * bound / 2 * ||sum_k beta_k * features(path_k) - features(path)||^2
#
# is largest: the dual rises by this, times the weight of the unit.


cdef class ActivePaths:
    """The active paths, that is labellings, of all units.

    paths (capacity, n_tokens), int32; alpha (n_units, capacity); number (n_units,) of
    active paths, int64, less than the capacity; wrong (n_units,), their mean number of wrong
    labels.
    """

    cdef:
        int32_t[:, ::1] paths
        double[:, ::1] alpha
        int64_t[::1] number
        double[::1] wrong

    def __init__(self, paths, alpha, number, wrong):
        self.paths, self.alpha, self.number, self.wrong = paths, alpha, number, wrong


cdef class Move:
    """A step of one unit, and work space for it."""

    cdef:
        int64_t u, first, length, n_paths
        int32_t[::1] path              # (longest,) that weight is moved to
        double[::1] value, beta        # (capacity,) of the active paths
        double gain, wrong             # value and wrong labels of the path minus the beta means
        double most                    # the largest size
        # Differences of the features at tokens, for the attributes of these tokens
        double[::1] token              # (n,) of one token
        int64_t n_rows
        int32_t[::1] attribute         # (n_rows,)
        int32_t[::1] row_of            # (n_attributes,) -1 between steps
        double[:, ::1] rows            # (n_rows, n)
        int8_t[::1] differs            # (longest,) whether the paths of a step differ at a token
        # Differences of the features at links, where there are any
        int64_t n_entries
        int64_t[::1] place             # (n_entries,)
        double[::1] amount             # (n_entries,)
        double[::1] at_place           # (n_link_attributes * n * n,) 0 between steps

    def __init__(self, Search search, const int64_t[::1] indptr, n_attributes, capacity):
        n, offsets = search.steps.n, np.asarray(search.offsets)
        most_entries = np.max(np.diff(np.asarray(indptr)[offsets]), initial=1)
        most_at_links = np.max(np.diff(np.asarray(search.link_indptr)[offsets]), initial=1)
        self.path = np.empty(search.scores.shape[0], dtype=np.int32)
        self.differs = np.empty(search.scores.shape[0], dtype=np.int8)
        self.value, self.beta, self.token = np.empty(capacity), np.empty(capacity), np.empty(n)
        self.attribute = np.empty(min(most_entries, n_attributes), dtype=np.int32)
        self.row_of = np.full(n_attributes, -1, dtype=np.int32)
        self.rows = np.empty((len(self.attribute), n))
        self.place = np.empty(most_at_links * capacity, dtype=np.int64)
        self.amount = np.empty(most_at_links * capacity)
        self.at_place = np.zeros(search.n_attributes * n * n)


# Chooses the shares beta of n paths by their weights alpha and values; returns the largest size.
ctypedef double (*Choose)(
    const double *alpha, const double *value, int64_t n, double *beta
) noexcept nogil


cdef double from_all(
    const double *alpha, const double *value, int64_t n, double *beta
) noexcept nogil:
    """From all paths in proportion to their weights."""
    memcpy(beta, alpha, n * sizeof(double))
    return 1.0


cdef double from_worst(
    const double *alpha, const double *value, int64_t n, double *beta
) noexcept nogil:
    """From the path with the lowest value only."""
    cdef int64_t k, worst = 0
    for k in range(1, n):
        if value[k] < value[worst]:
            worst = k
    memset(beta, 0, n * sizeof(double))
    beta[worst] = 1.0
    return alpha[worst]


cdef class Choice:
    """A rule that says from which active paths the best path takes weight."""

    cdef Choose choose


cdef Choice choice_of(Choose choose):
    cdef Choice choice = Choice()
    choice.choose = choose
    return choice


FROM_ALL, FROM_WORST = choice_of(from_all), choice_of(from_worst)


def take_steps(
    Choice choice,
    int64_t n_pairwise,
    Search search,
    const int64_t[::1] order,      # units, in the order of their steps IN
    const int32_t[::1] gold,       # (n_tokens,) IN
    const double[::1] bound,       # (n_units,) C times the weight of the unit IN
    const int64_t[::1] indptr,     # attributes of tokens, CSR (n_tokens, n_attributes) IN
    const int32_t[::1] indices,
    const real[::1] values,
    real[:, ::1] state,            # (n_attributes, n) weights INOUT
    ActivePaths active,            # INOUT
):
    """For each unit a step to its best path, and some from its worst to its best active path.

    A unit whose scores are not finite takes no step; its number of wrong labels becomes NaN.
    """
    cdef:
        int64_t position, step
        Move move = Move(search, indptr, state.shape[0], active.paths.shape[0])
        real[:, ::1] rows = rows_for(search, state)
        double squares, size
    with nogil:
        for position in range(order.shape[0]):
            move.u = order[position]
            move.first = search.offsets[move.u]
            move.length = search.offsets[move.u + 1] - move.first
            for step in range(1 + n_pairwise if move.length else 0):
                if not read_scores(search, move.u, indptr, indices, values, state, rows):
                    active.wrong[move.u] = NAN
                    break
                value_paths(move, search, &gold[move.first], active)
                if step == 0:
                    find_best(search, move.u, &gold[move.first], 1.0, &move.path[0])
                    value_move(move, choice.choose, search, &gold[move.first], active)
                else:
                    take_best(move, active)
                    value_move(move, from_worst, search, &gold[move.first], active)
                if not isfinite(move.gain):
                    active.wrong[move.u] = NAN
                if not 0 < move.gain < INFINITY:
                    break
                squares = subtract_tokens(move, indptr, indices, values, active)
                squares += subtract_links(move, search, active)
                size = move.most
                if size * bound[move.u] * squares > move.gain:
                    size = move.gain / (bound[move.u] * squares)
                add_state_differences(move, size * bound[move.u], state)
                add_link_differences(move, size * bound[move.u], search)
                shift_weight(move, size, active)


cdef void value_paths(
    Move move, Search search, const int32_t *gold, ActivePaths active
) noexcept nogil:
    """The values of the active paths."""
    cdef int64_t k
    cdef const int32_t *path
    move.n_paths = active.number[move.u]
    for k in range(move.n_paths):
        path = &active.paths[k, move.first]
        move.value[k] = score_labels(search, move.u, path) + n_wrong(path, gold, move.length)


cdef void take_best(Move move, ActivePaths active) noexcept nogil:
    """Make the best active path the path that weight is moved to."""
    cdef int64_t k, best = 0
    for k in range(1, move.n_paths):
        if move.value[k] > move.value[best]:
            best = k
    memcpy(&move.path[0], &active.paths[best, move.first], move.length * sizeof(int32_t))


cdef void value_move(
    Move move, Choose choose, Search search, const int32_t *gold, ActivePaths active
) noexcept nogil:
    """Choose the paths to take weight from, and compute the gain."""
    cdef int64_t k
    move.most = choose(&active.alpha[move.u, 0], &move.value[0], move.n_paths, &move.beta[0])
    move.wrong = n_wrong(&move.path[0], gold, move.length)
    move.gain = score_labels(search, move.u, &move.path[0]) + move.wrong
    for k in range(move.n_paths):
        if move.beta[k] != 0:
            move.gain -= move.beta[k] * move.value[k]
            move.wrong -= move.beta[k] * n_wrong(
                &active.paths[k, move.first], gold, move.length
            )


cdef double subtract_tokens(
    Move move, const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
    ActivePaths active,
) noexcept nogil:
    """Set the differences of the features at tokens; return the sum of their squares."""
    cdef:
        int64_t n = move.token.shape[0], t, j, k
        int32_t row
        double squares = 0.0
    move.n_rows = 0
    for t in range(move.length):
        move.differs[t] = False
        for k in range(move.n_paths):
            if move.beta[k] != 0 and active.paths[k, move.first + t] != move.path[t]:
                move.differs[t] = True
        if not move.differs[t]:
            continue
        move.token[:] = 0.0
        move.token[move.path[t]] = -1.0
        for k in range(move.n_paths):
            move.token[active.paths[k, move.first + t]] += move.beta[k]
        for k in range(indptr[move.first + t], indptr[move.first + t + 1]):
            row = row_for(move, indices[k])
            add_row(values[k], &move.token[0], n, &move.rows[row, 0])
    for row in range(move.n_rows):
        move.row_of[move.attribute[row]] = -1
        for j in range(n):
            squares += move.rows[row, j] * move.rows[row, j]
    return squares


cdef int32_t row_for(Move move, int32_t attribute) noexcept nogil:
    """The row of an attribute; a new one if it has none."""
    cdef int32_t row = move.row_of[attribute]
    if row < 0:
        row = <int32_t>move.n_rows
        move.n_rows += 1
        move.row_of[attribute] = row
        move.attribute[row] = attribute
        move.rows[row] = 0.0
    return row


cdef double subtract_links(Move move, Search search, ActivePaths active) noexcept nogil:
    """Set the differences of the features at links; return the sum of their squares."""
    cdef:
        int64_t t, k, m, previous
        double squares = 0.0
    move.n_entries = 0
    for t in range(move.length):
        previous = search.previous[move.first + t]
        if previous < 0 or not (move.differs[t] or move.differs[previous]):
            continue
        subtract_link(move, t, -1.0, &move.path[0], search)
        for k in range(move.n_paths):
            if move.beta[k] != 0:
                subtract_link(move, t, move.beta[k], &active.paths[k, move.first], search)
    for m in range(move.n_entries):
        # If a place has several entries, the first entry gets the whole amount.
        move.amount[m] = move.at_place[move.place[m]]
        move.at_place[move.place[m]] = 0.0
        squares += move.amount[m] * move.amount[m]
    return squares


cdef void subtract_link(
    Move move, int64_t t, double share, const int32_t *path, Search search
) noexcept nogil:
    """Add the features of a path at the link into token t, times a share."""
    cdef:
        LinkAttributes *links = &search.links
        int64_t n = search.steps.n, previous = search.previous[move.first + t], k, place
    for k in range(links.indptr[move.first + t], links.indptr[move.first + t + 1]):
        place = (links.indices[k] * n + path[t]) * n + path[previous]
        if move.at_place[place] == 0:
            move.place[move.n_entries] = place
            move.n_entries += 1
        move.at_place[place] += share * links.values[k]


cdef void add_state_differences(Move move, double factor, real[:, ::1] state) noexcept nogil:
    """Add the differences of the features at tokens to the weights."""
    cdef:
        int64_t row, j
        real *weights
    for row in range(move.n_rows):
        weights = &state[move.attribute[row], 0]
        for j in range(state.shape[1]):
            weights[j] += <real>(factor * move.rows[row, j])


cdef void add_link_differences(Move move, double factor, Search search) noexcept nogil:
    """Add the differences of the features at links to the weights."""
    cdef int64_t n = search.steps.n, m, pair
    for m in range(move.n_entries):
        search.links.weights[move.place[m]] += factor * move.amount[m]
        pair = move.place[m] % (n * n)
        read_transition(search, pair % n, pair // n)


cdef void shift_weight(Move move, double size, ActivePaths active) noexcept nogil:
    """Move weight, and drop active paths whose weight becomes zero."""
    cdef:
        int64_t k, kept = 0, n_bytes = move.length * sizeof(int32_t)
        double *alpha = &active.alpha[move.u, 0]
        bint is_new = True
    for k in range(move.n_paths):
        alpha[k] -= size * move.beta[k]
        if memcmp(&active.paths[k, move.first], &move.path[0], n_bytes) == 0:
            alpha[k] += size
            is_new = False
        if alpha[k] <= 0:
            continue
        if kept < k:
            alpha[kept] = alpha[k]
            memcpy(&active.paths[kept, move.first], &active.paths[k, move.first], n_bytes)
        kept += 1
    if is_new:
        alpha[kept] = size
        memcpy(&active.paths[kept, move.first], &move.path[0], n_bytes)
        kept += 1
    active.number[move.u] = kept
    active.wrong[move.u] += size * move.wrong
