# Weights of single pairs of attribute and label.

# Weights are fetched from memory this number of entries ahead.
cdef enum: AHEAD = 24


def find_single_weights(
    const int64_t[::1] indptr,     # (n_tokens + 1,) of attributes in CSR IN
    const int32_t[::1] indices,    # (n_entries,) IN
    const real[::1] values,        # (n_entries,) IN
    const int64_t[::1] pair_indptr,  # (n_attributes + 1,) of pairs in CSR IN
    const int32_t[::1] pair_label,   # (n_pairs,) IN
    const uint8_t[::1] is_single,    # (n_attributes,) IN
    int64_t n_labels,
):
    """The entries of attributes with single weights, as the other functions take them."""
    cdef:
        int64_t n_tokens = indptr.shape[0] - 1, n_cells = 0, t, k, p
        int32_t a
        int64_t[::1] starts = np.zeros(n_tokens + 1, dtype=np.int64)
        int64_t[::1] place
        int32_t[::1] pair
        real[::1] value
    check_number(pair_indptr[pair_indptr.shape[0] - 1], "pairs of attribute and label")
    with nogil:
        for t in range(n_tokens):
            for k in range(indptr[t], indptr[t + 1]):
                a = indices[k]
                if is_single[a]:
                    n_cells += pair_indptr[a + 1] - pair_indptr[a]
            starts[t + 1] = n_cells
    place = np.empty(n_cells, dtype=np.int64)
    pair = np.empty(n_cells, dtype=np.int32)
    value = np.empty(n_cells, dtype=np.asarray(values).dtype)
    n_cells = 0
    with nogil:
        for t in range(n_tokens):
            for k in range(indptr[t], indptr[t + 1]):
                a = indices[k]
                if not is_single[a]:
                    continue
                for p in range(pair_indptr[a], pair_indptr[a + 1]):
                    place[n_cells] = t * n_labels + pair_label[p]
                    pair[n_cells], value[n_cells] = <int32_t>p, values[k]
                    n_cells += 1
    return np.asarray(starts), np.asarray(place), np.asarray(pair), np.asarray(value)


def add_weights_to_scores(
    const int64_t[::1] indptr,     # (n_tokens + 1,) entries of each token IN
    const int64_t[::1] place,      # (n_entries,) token * n_labels + label IN
    const int32_t[::1] pair,       # (n_entries,) IN
    const real[::1] value,         # (n_entries,) IN
    const real[::1] weights,       # (n_pairs,) IN
    real[:, ::1] scores,           # (stop - start, n_labels) INOUT
    int64_t start,
    int64_t stop,
):
    """Add value[k] * weights[pair[k]] to the scores at place[k], for the entries k of tokens."""
    cdef:
        int64_t k, last = indptr[stop], origin = start * scores.shape[1]
        real *score
    if indptr[start] == last:
        return
    score = &scores[0, 0]
    with nogil:
        give_turn()
        for k in range(indptr[start], last):
            if k + AHEAD < last:
                fetch_row(&weights[pair[k + AHEAD]], 1)
            score[place[k] - origin] += value[k] * weights[pair[k]]
        take_turn()


def add_scores_to_weights(
    const int64_t[::1] indptr,
    const int64_t[::1] place,
    const int32_t[::1] pair,
    const real[::1] value,
    const real[:, ::1] scores,     # (stop - start, n_labels) IN
    real[::1] weights,             # (n_pairs,) INOUT
    int64_t start,
    int64_t stop,
):
    """Add value[k] times the score at place[k] to weights[pair[k]], for the entries k of tokens."""
    cdef:
        int64_t k, last = indptr[stop], origin = start * scores.shape[1]
        const real *score
    if indptr[start] == last:
        return
    score = &scores[0, 0]
    with nogil:
        give_turn()
        for k in range(indptr[start], last):
            if k + AHEAD < last:
                fetch_row(&weights[pair[k + AHEAD]], 1)
            weights[pair[k]] += value[k] * score[place[k] - origin]
        take_turn()


def add_at(
    const real[::1] source,        # IN
    const int64_t[::1] places,     # (n,) of source IN
    real[::1] out,                 # INOUT
    const int64_t[::1] out_places,   # (n,) of out IN
):
    """out[out_places[k]] += source[places[k]], for all k."""
    cdef int64_t k
    with nogil:
        give_turn()
        for k in range(places.shape[0]):
            out[out_places[k]] += source[places[k]]
        take_turn()
