# Corrections of the weights by the paths that were found in place of the gold paths.


def correct(
    Search search,
    const int64_t[::1] order,      # sequences, in the order in which they are learned from IN
    const int32_t[::1] gold,       # (n_tokens,) IN
    const double[::1] rate,        # (n_sequences,) size of corrections; 0 for none IN
    const double[::1] cost,        # (n_sequences,) cost of each wrong label IN
    const int64_t[::1] indptr,     # attributes of tokens, CSR (n_tokens, n_attributes) IN
    const int32_t[::1] indices,
    const real[::1] values,
    real[:, ::1] state,            # (n_attributes, n) weights INOUT
    int32_t[::1] found,            # (n_tokens,) the paths with the best score plus cost OUT
    double[::1] losses,            # (n_sequences,) their score plus cost minus gold score OUT
):
    """weights += rate * (features of the gold path - features of the path found)

    A sequence whose scores are not finite corrects nothing: its loss becomes NaN.
    """
    cdef:
        int64_t position, s, first, length
        bint are_finite
        real[::1] row = np.empty(state.shape[1], dtype=np.asarray(state).dtype)
    with nogil:
        for position in range(order.shape[0]):
            s = order[position]
            first, length = search.offsets[s], search.offsets[s + 1] - search.offsets[s]
            losses[s] = 0.0
            if length == 0:
                continue
            are_finite = read_scores(search, s, indptr, indices, values, state, row)
            find_path(search, s, &gold[first], cost[s], &found[first])
            losses[s] = (
                cost[s] * n_wrong(&found[first], &gold[first], length)
                + score_path(search, s, &found[first])
                - score_path(search, s, &gold[first])
            )
            if rate[s] != 0 and not (are_finite and isfinite(losses[s])):
                losses[s] = NAN
            elif rate[s] != 0:
                add_tokens(
                    rate[s], first, length, &gold[first], &found[first], indptr, indices, values,
                    state,
                )
                add_pairs_between(search, rate[s], first, length, &gold[first], &found[first])


cdef void add_tokens(
    double rate,
    int64_t first,
    int64_t length,
    const int32_t *gold,
    const int32_t *found,
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const real[::1] values,
    real[:, ::1] state,
) noexcept nogil:
    """Add the difference of the features of two paths at tokens."""
    cdef int64_t t, k
    cdef real step
    for t in range(length):
        if found[t] == gold[t]:
            continue
        for k in range(indptr[first + t], indptr[first + t + 1]):
            step = <real>rate * values[k]
            state[indices[k], gold[t]] += step
            state[indices[k], found[t]] -= step


cdef void add_pairs_between(
    Search search,
    double rate,
    int64_t first,
    int64_t length,
    const int32_t *gold,
    const int32_t *found,
) noexcept nogil:
    """Add the difference of the features of two paths at pairs of tokens."""
    cdef:
        AttributePairs *pairs = &search.pairs
        int64_t n = search.step.n, t, k
        double *weights
    for t in range(1, length):
        if found[t] == gold[t] and found[t - 1] == gold[t - 1]:
            continue
        for k in range(pairs.indptr[first + t], pairs.indptr[first + t + 1]):
            weights = pairs.weights + pairs.indices[k] * n * n
            weights[gold[t] * n + gold[t - 1]] += rate * pairs.values[k]
            weights[found[t] * n + found[t - 1]] -= rate * pairs.values[k]
        read_transition(search, gold[t - 1], gold[t])
        read_transition(search, found[t - 1], found[t])
