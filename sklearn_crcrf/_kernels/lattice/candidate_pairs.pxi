# Weights of pairs of attribute and label, for the candidate labels of tokens only.
#
# Pairs that have a weight are the entries of a CSR of attributes and labels. ``entry_of_column``
# brings the entries of the attributes of tokens in the order of columns, so that the pairs of an
# attribute are looked up in a table of labels that is filled once.

# Weights are fetched from memory this number of pairs ahead.
cdef enum: AHEAD = 24


def number_candidate_pairs(
    const int64_t[::1] column_indptr,  # (n_attributes + 1,) of attributes in CSC IN
    const int32_t[::1] column_token,   # (n_entries,) IN
    const int64_t[::1] column_entry,   # (n_entries,) places of the entries in CSR IN
    const int64_t[::1] first_pair,     # (n_entries,) where the numbers of each entry in CSR are IN
    const int64_t[::1] candidate_indptr,  # (n_tokens + 1,) IN
    const int32_t[::1] candidate_label,   # (n_candidates,) IN
    const int64_t[::1] pair_indptr,    # (n_attributes + 1,) of pairs in CSR IN
    const int32_t[::1] pair_label,     # (n_pairs,) IN
    int64_t n_labels,
    int32_t[::1] number,               # (n_numbers,) OUT
):
    """The numbers of the pairs of each entry with each candidate of its token; -1 for none."""
    cdef:
        int64_t a, k, c, p, at
        int32_t t
        int32_t[::1] of_label = np.full(n_labels, -1, dtype=np.int32)
    with nogil:
        for a in range(column_indptr.shape[0] - 1):
            if column_indptr[a] == column_indptr[a + 1]:
                continue
            for p in range(pair_indptr[a], pair_indptr[a + 1]):
                of_label[pair_label[p]] = <int32_t>p
            for k in range(column_indptr[a], column_indptr[a + 1]):
                t, at = column_token[k], first_pair[column_entry[k]]
                for c in range(candidate_indptr[t], candidate_indptr[t + 1]):
                    number[at] = of_label[candidate_label[c]]
                    at += 1
            for p in range(pair_indptr[a], pair_indptr[a + 1]):
                of_label[pair_label[p]] = -1


def add_pair_weights(
    const int64_t[::1] indptr,         # (n_tokens + 1,) of attributes in CSR IN
    const real[::1] values,            # (n_entries,) IN
    const int64_t[::1] candidate_indptr,  # (n_tokens + 1,) IN
    const int64_t[::1] first_pair,     # (n_entries,) IN
    const int32_t[::1] number,         # (n_numbers,) IN
    const real[::1] weights,           # (n_pairs,) IN
    real[::1] scores,                  # (n_candidates,) INOUT
    int64_t start,
    int64_t stop,
):
    """Add the weights of the attributes of the tokens start to stop to the scores of candidates."""
    cdef int64_t t, k, c, p, n = number.shape[0]
    with nogil:
        give_turn()
        for t in range(start, stop):
            for k in range(indptr[t], indptr[t + 1]):
                p = first_pair[k]
                for c in range(candidate_indptr[t], candidate_indptr[t + 1]):
                    if p + AHEAD < n and number[p + AHEAD] >= 0:
                        fetch_row(&weights[number[p + AHEAD]], 1)
                    if number[p] >= 0:
                        scores[c] += values[k] * weights[number[p]]
                    p += 1
        take_turn()


def add_pair_derivatives(
    const int64_t[::1] indptr,         # as in add_pair_weights
    const real[::1] values,
    const int64_t[::1] candidate_indptr,
    const int64_t[::1] first_pair,
    const int32_t[::1] number,
    const real[::1] scores,            # (n_candidates,) derivatives by scores IN
    real[::1] gradient,                # (n_pairs,) INOUT
    int64_t start,
    int64_t stop,
):
    """Add the derivatives by the weights of the attributes of the tokens start to stop."""
    cdef int64_t t, k, c, p, n = number.shape[0]
    with nogil:
        give_turn()
        for t in range(start, stop):
            for k in range(indptr[t], indptr[t + 1]):
                p = first_pair[k]
                for c in range(candidate_indptr[t], candidate_indptr[t + 1]):
                    if p + AHEAD < n and number[p + AHEAD] >= 0:
                        fetch_row(&gradient[number[p + AHEAD]], 1)
                    if number[p] >= 0:
                        gradient[number[p]] += values[k] * scores[c]
                    p += 1
        take_turn()


def add_rows_to_candidates(
    const int64_t[::1] indptr,         # (n_tokens + 1,) of attributes in CSR IN
    const int32_t[::1] indices,        # (n_entries,) IN
    const real[::1] values,            # (n_entries,) IN
    const int64_t[::1] pair_indptr,    # (n_attributes + 1,) of weights in CSR IN
    const int32_t[::1] pair_label,     # (n_pairs,) rising in each row IN
    const real[::1] weights,           # (n_pairs,) IN
    const int64_t[::1] candidate_indptr,  # (n_tokens + 1,) IN
    const int32_t[::1] candidate_label,   # (n_candidates,) IN
    real[::1] scores,                  # (n_candidates,) INOUT
):
    """Add the weights of all attributes of all tokens to the scores of candidates."""
    cdef int64_t t, k, c, at, stop
    with nogil:
        give_turn()
        for t in range(indptr.shape[0] - 1):
            for k in range(indptr[t], indptr[t + 1]):
                stop = pair_indptr[indices[k] + 1]
                for c in range(candidate_indptr[t], candidate_indptr[t + 1]):
                    at = pair_indptr[indices[k]]
                    if at < stop:
                        at = place_from(&pair_label[0], at, stop, candidate_label[c])
                    if at < stop and pair_label[at] == candidate_label[c]:
                        scores[c] += values[k] * weights[at]
        take_turn()
