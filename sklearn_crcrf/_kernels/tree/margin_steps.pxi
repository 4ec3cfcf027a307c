# Steps whose size depends on the margin: passive-aggressive and adaptive regularisation of weights.
#
# Let d = features(gold) - features(found), for the labelling found with the best score, and
#
#     loss = score(found) - score(gold) + (number of wrong labels) ** power
#     size = min(bound, loss / (sum_k v_k d_k^2 + slack))
#     w_k += size * v_k * d_k;    1 / v_k += d_k^2 / spread
#
# The variances v are 1 if there are none; a feature whose variance is 0 has no weight, and with an
# infinite spread variances stay as they are. Crammer et al. (JMLR 2006) have v = 1; Crammer, Kulesza
# & Dredze (NIPS 2009) have an infinite bound, and slack = spread.

from libc.math cimport pow


cdef struct Change:
    # The difference d of one unit, and the variances of its features
    double *difference             # zero between units
    int8_t *is_noted
    int64_t *places                # where the difference was changed
    int64_t n_places
    double *variance               # NULL for ones


cdef class MarginSteps:
    """The sizes of steps, the variances, and work space.

    sizes are the arrays bound, slack and spread (n_units,). variances are arrays of the shapes of
    the weights of tokens and of links, or None. n_weights and most are, for tokens and for links,
    the number of weights and the largest number of features of two labellings of a unit.
    """

    cdef:
        double power
        const double[::1] bound, slack, spread
        Change state, pairs
        list kept                      # the memory that pointers point to

    def __init__(self, power, sizes, variances, n_weights, most):
        self.power = power
        self.bound, self.slack, self.spread = sizes
        state, pairs = (None, None) if variances is None else variances
        self.kept = make_change(&self.state, state, n_weights[0], most[0])
        self.kept += make_change(&self.pairs, pairs, n_weights[1], most[1])


cdef list make_change(Change *change, double[:, ::1] variance, int64_t n_weights, int64_t most):
    cdef:
        double[::1] difference = np.zeros(n_weights + 1)
        int8_t[::1] is_noted = np.zeros(n_weights + 1, dtype=np.int8)
        int64_t[::1] places = np.empty(most + 1, dtype=np.int64)
    change.difference = &difference[0]
    change.is_noted = &is_noted[0]
    change.places = &places[0]
    change.n_places = 0
    change.variance = NULL
    if variance is not None and variance.size:
        change.variance = &variance[0, 0]
    return [difference, is_noted, places, variance]


def step_by_margin(
    Search search,
    MarginSteps steps,
    const int64_t[::1] order,      # units, in the order in which they are learned from IN
    const int32_t[::1] gold,       # (n_tokens,) IN
    const int64_t[::1] indptr,     # attributes of tokens, CSR (n_tokens, n_attributes) IN
    const int32_t[::1] indices,
    const real[::1] values,
    real[:, ::1] state,            # (n_attributes, n) weights INOUT
    int32_t[::1] found,            # (n_tokens,) the labels with the best score OUT
    double[::1] losses,            # (n_units,) 0 where all labels are gold OUT
    double[::1] sizes,             # (n_units,) OUT
):
    """Take a step on each unit that is labelled wrongly.

    A unit whose scores are not finite changes nothing: its loss becomes NaN.
    """
    cdef:
        int64_t position, u, first, length, wrong
        bint are_finite
        real[:, ::1] rows = rows_for(search, state)
    with nogil:
        for position in range(order.shape[0]):
            u = order[position]
            first, length = search.offsets[u], search.offsets[u + 1] - search.offsets[u]
            losses[u] = sizes[u] = 0.0
            if length == 0:
                continue
            are_finite = read_scores(search, u, indptr, indices, values, state, rows)
            find_best(search, u, &gold[first], 0.0, &found[first])
            wrong = n_wrong(&found[first], &gold[first], length)
            if wrong == 0 and are_finite:
                continue
            losses[u] = (
                pow(wrong, steps.power)
                + score_difference(search, u, &found[first], &gold[first])
            )
            if not (are_finite and isfinite(losses[u])):
                losses[u] = NAN
                continue
            collect_tokens(
                &steps.state, first, length, &gold[first], &found[first], indptr, indices, values,
                state.shape[1],
            )
            collect_links(&steps.pairs, search, first, length, &gold[first], &found[first])
            sizes[u] = step_size(steps, u, losses[u])
            move(&steps.state, sizes[u], steps.spread[u], &state[0, 0])
            move[double](&steps.pairs, sizes[u], steps.spread[u], search.links.weights)
            read_links(search, first, length, &gold[first], &found[first])


cdef void collect_tokens(
    Change *change, int64_t first, int64_t length, const int32_t *gold, const int32_t *found,
    const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, int64_t n,
) noexcept nogil:
    """Add up the difference of the features of two labellings at tokens."""
    cdef int64_t t, k, row
    for t in range(length):
        if found[t] == gold[t]:
            continue
        for k in range(indptr[first + t], indptr[first + t + 1]):
            row = indices[k] * n
            add_to_change(change, row + gold[t], values[k])
            add_to_change(change, row + found[t], -values[k])


cdef void collect_links(
    Change *change, Search search, int64_t first, int64_t length, const int32_t *gold,
    const int32_t *found,
) noexcept nogil:
    """Add up the difference of the features of two labellings at links."""
    cdef:
        LinkAttributes *links = &search.links
        int64_t n = search.steps.n, t, k, p, table
    for t in range(length):
        p = search.previous[first + t]
        if p < 0 or (found[t] == gold[t] and found[p] == gold[p]):
            continue
        for k in range(links.indptr[first + t], links.indptr[first + t + 1]):
            table = links.indices[k] * n * n
            add_to_change(change, table + gold[t] * n + gold[p], links.values[k])
            add_to_change(change, table + found[t] * n + found[p], -links.values[k])


cdef inline void add_to_change(Change *change, int64_t place, double value) noexcept nogil:
    if not change.is_noted[place]:
        change.is_noted[place] = True
        change.places[change.n_places] = place
        change.n_places += 1
    change.difference[place] += value


cdef double step_size(MarginSteps steps, int64_t u, double loss) noexcept nogil:
    """min(bound, loss / (sum_k v_k d_k^2 + slack)); 0 if no weight can change."""
    cdef double total = sum_of_squares(&steps.state) + sum_of_squares(&steps.pairs)
    if total == 0:
        return 0.0
    return min(steps.bound[u], loss / (total + steps.slack[u]))


cdef double sum_of_squares(const Change *change) noexcept nogil:
    """sum_k v_k d_k^2"""
    cdef:
        int64_t i, place
        double total = 0.0, square
    for i in range(change.n_places):
        place = change.places[i]
        square = change.difference[place] * change.difference[place]
        total += square if change.variance == NULL else change.variance[place] * square
    return total


cdef void move(Change *change, double size, double spread, real *weights) noexcept nogil:
    """Change weights and variances, and clear the difference."""
    cdef:
        int64_t i, place
        double difference
        double *variance
    for i in range(change.n_places):
        place = change.places[i]
        difference = change.difference[place]
        change.difference[place] = 0.0
        change.is_noted[place] = False
        if change.variance == NULL:
            weights[place] += <real>(size * difference)
            continue
        variance = change.variance + place
        weights[place] += <real>(size * variance[0] * difference)
        if size > 0:
            variance[0] /= 1.0 + variance[0] * difference * difference / spread
    change.n_places = 0


cdef void read_links(
    Search search, int64_t first, int64_t length, const int32_t *gold, const int32_t *found
) noexcept nogil:
    """Compute the transition scores of two labellings, whose weights have changed."""
    cdef int64_t t, p
    for t in range(length):
        p = search.previous[first + t]
        if p >= 0 and not (found[t] == gold[t] and found[p] == gold[p]):
            read_transition(search, gold[p], gold[t])
            read_transition(search, found[p], found[t])
