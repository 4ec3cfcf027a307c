# Which pairs of attribute and label occur at some token, and how often.
#
# Tokens are visited label by label, so that an attribute's entries for one label come in a row.

# Rows are fetched from memory this number of tokens ahead, and the pairs of the next token. This is
# written out twice, as compilers drop calls of functions that only prefetch.
cdef enum: TOKENS_AHEAD = 8


cdef struct Pair:
    int32_t label
    int32_t number


def count_pairs(
    const int64_t[::1] indptr,     # (n_tokens + 1,) of a CSR matrix IN
    const int32_t[::1] indices,    # (n_entries,) attributes IN
    const real[::1] values,        # (n_entries,) IN
    const int32_t[::1] y,          # (n_tokens,) label ids, -1 for unknown labels IN
    int64_t n_attributes,
):
    """The sums of values, the labels, and the indptr of all pairs, attribute by attribute."""
    cdef:
        const int64_t[::1] tokens = np.argsort(y, kind="stable")[np.count_nonzero(np.less(y, 0)) :]
        int64_t n = tokens.shape[0], a
        # The latest pair of each attribute, numbered from 0.
        int32_t[:, ::1] latest = np.full((n_attributes, 2), -1, dtype=np.int32)
        Pair *pairs
        int64_t[::1] starts = np.zeros(n_attributes + 1, dtype=np.int64)
        int32_t[::1] labels
        double[::1] sums
    if n == 0 or indices.shape[0] == 0:
        return np.zeros(0), np.zeros(0, dtype=np.int32), np.asarray(starts)
    pairs = <Pair *>&latest[0, 0]
    with nogil:
        number_pairs(&indptr[0], &indices[0], &y[0], &tokens[0], n, pairs)
        for a in range(n_attributes):
            starts[a + 1] = starts[a] + pairs[a].number + 1
    check_number(starts[n_attributes], "pairs of attribute and label")
    for a in range(n_attributes):
        pairs[a] = Pair(-1, <int32_t>(starts[a] - 1))
    labels = np.empty(starts[n_attributes], dtype=np.int32)
    sums = np.zeros(starts[n_attributes])
    if labels.shape[0] == 0:
        return np.asarray(sums), np.asarray(labels), np.asarray(starts)
    with nogil:
        sum_pairs(
            &indptr[0], &indices[0], &values[0], &y[0], &tokens[0], n, pairs, &labels[0], &sums[0]
        )
    return np.asarray(sums), np.asarray(labels), np.asarray(starts)


cdef void number_pairs(
    const int64_t *indptr, const int32_t *indices, const int32_t *y,
    const int64_t *tokens,         # (n,) ordered by label IN
    int64_t n,
    Pair *latest,                  # (n_attributes,) INOUT
) noexcept nogil:
    """Number the pairs of each attribute."""
    cdef:
        int64_t i, k, t
        int32_t label
        Pair *pair
    for i in range(n):
        t = tokens[i]
        label = y[t]
        if i + TOKENS_AHEAD < n:
            k = tokens[i + TOKENS_AHEAD]
            fetch_row(<const float *>&indices[indptr[k]], indptr[k + 1] - indptr[k])
        if i + 1 < n:
            for k in range(indptr[tokens[i + 1]], indptr[tokens[i + 1] + 1]):
                prefetch(&latest[indices[k]])
        for k in range(indptr[t], indptr[t + 1]):
            pair = &latest[indices[k]]
            pair.number += pair.label != label
            pair.label = label


cdef void sum_pairs(
    const int64_t *indptr, const int32_t *indices, const real *values, const int32_t *y,
    const int64_t *tokens,         # (n,) ordered by label IN
    int64_t n,
    Pair *latest,                  # (n_attributes,) INOUT
    int32_t *labels,               # (n_pairs,) OUT
    double *sums,                  # (n_pairs,) INOUT
) noexcept nogil:
    """Add the values of each pair, and note its label."""
    cdef:
        int64_t i, k, t
        int32_t label
        Pair *pair
    for i in range(n):
        t = tokens[i]
        label = y[t]
        if i + TOKENS_AHEAD < n:
            k = tokens[i + TOKENS_AHEAD]
            fetch_row(<const float *>&indices[indptr[k]], indptr[k + 1] - indptr[k])
            fetch_row(&values[indptr[k]], indptr[k + 1] - indptr[k])
        if i + 1 < n:
            for k in range(indptr[tokens[i + 1]], indptr[tokens[i + 1] + 1]):
                prefetch(&latest[indices[k]])
        for k in range(indptr[t], indptr[t + 1]):
            pair = &latest[indices[k]]
            if pair.label != label:
                pair.label = label
                pair.number += 1
                labels[pair.number] = label
            sums[pair.number] += values[k]
