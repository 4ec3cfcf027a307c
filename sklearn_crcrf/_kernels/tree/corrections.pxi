# Corrections of the weights by the labellings that were found in place of the gold labellings.


def correct(
    Search search,
    const int64_t[::1] order,      # units, in the order in which they are learned from IN
    const int32_t[::1] gold,       # (n_tokens,) IN
    const double[::1] rate,        # (n_units,) size of corrections; 0 for none IN
    const double[::1] cost,        # (n_units,) cost of each wrong label IN
    const int64_t[::1] indptr,     # attributes of tokens, CSR (n_tokens, n_attributes) IN
    const int32_t[::1] indices,
    const real[::1] values,
    real[:, ::1] state,            # (n_attributes, n) weights INOUT
    int32_t[::1] found,            # (n_tokens,) the labels with the best score plus cost OUT
    double[::1] losses,            # (n_units,) their score plus cost minus gold score OUT
):
    """weights += rate * (features of the gold labelling - features of the labelling found)

    A unit whose scores are not finite corrects nothing: its loss becomes NaN.
    """
    cdef:
        int64_t position, u, first, length
        bint are_finite
        real[:, ::1] rows = rows_for(search, state)
    with nogil:
        for position in range(order.shape[0]):
            u = order[position]
            first, length = search.offsets[u], search.offsets[u + 1] - search.offsets[u]
            losses[u] = 0.0
            if length == 0:
                continue
            are_finite = read_scores(search, u, indptr, indices, values, state, rows)
            find_best(search, u, &gold[first], cost[u], &found[first])
            losses[u] = (
                cost[u] * n_wrong(&found[first], &gold[first], length)
                + score_difference(search, u, &found[first], &gold[first])
            )
            if rate[u] != 0 and not (are_finite and isfinite(losses[u])):
                losses[u] = NAN
            elif rate[u] != 0:
                add_tokens(
                    rate[u], first, length, &gold[first], &found[first], indptr, indices, values,
                    state,
                )
                add_links(search, rate[u], first, length, &gold[first], &found[first])


cdef void add_tokens(
    double rate, int64_t first, int64_t length, const int32_t *gold, const int32_t *found,
    const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
    real[:, ::1] state,
) noexcept nogil:
    """Add the difference of the features of two labellings at tokens."""
    cdef int64_t t, k
    cdef real step
    for t in range(length):
        if found[t] == gold[t]:
            continue
        for k in range(indptr[first + t], indptr[first + t + 1]):
            step = <real>rate * values[k]
            state[indices[k], gold[t]] += step
            state[indices[k], found[t]] -= step


cdef void add_links(
    Search search, double rate, int64_t first, int64_t length, const int32_t *gold,
    const int32_t *found,
) noexcept nogil:
    """Add the difference of the features of two labellings at links."""
    cdef:
        LinkAttributes *links = &search.links
        int64_t n = search.steps.n, t, k, p
        double *weights
    for t in range(length):
        p = previous_of(search, first, t)
        if p < 0 or (found[t] == gold[t] and found[p] == gold[p]):
            continue
        for k in range(links.indptr[first + t], links.indptr[first + t + 1]):
            weights = links.weights + links.indices[k] * n * n
            weights[gold[t] * n + gold[p]] += rate * links.values[k]
            weights[found[t] * n + found[p]] -= rate * links.values[k]
        read_transition(search, gold[p], gold[t])
        read_transition(search, found[p], found[t])
