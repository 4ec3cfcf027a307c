"""Which pairs of attribute and label occur at some token, and how often."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.vectors cimport fetch_row, prefetch, real

# Rows of tokens so many ahead are fetched from memory.
cdef enum: AHEAD = 8


def count_pairs(
    const int64_t[::1] indptr,     # (n_tokens + 1,) of a CSR matrix IN
    const int32_t[::1] indices,    # (n_entries,) attributes IN
    const real[::1] values,        # (n_entries,) IN
    const int32_t[::1] y,          # (n_tokens,) label ids, -1 where it is not known IN
    int64_t n_attributes,
):
    """The sums of values, the labels, and the indptr of all pairs, attribute by attribute."""
    cdef:
        # Label by label: an attribute has all entries of a pair one after the other.
        const int64_t[::1] tokens = np.argsort(y, kind="stable")[np.count_nonzero(np.less(y, 0)) :]
        # Of each attribute: the label it had last, and which of the pairs that was.
        int32_t[:, ::1] latest = np.full((n_attributes, 2), -1, dtype=np.int32)
        int64_t[::1] starts = np.zeros(n_attributes + 1, dtype=np.int64)
        int64_t i, k, t
        int32_t *pair
        int32_t[::1] labels
        double[::1] sums
    with nogil:
        for i in range(tokens.shape[0]):
            fetch_ahead(
                &tokens[i], tokens.shape[0] - i, &indptr[0], &indices[0], &latest[0, 0]
            )
            t = tokens[i]
            for k in range(indptr[t], indptr[t + 1]):
                pair = &latest[indices[k], 0]
                pair[1] += pair[0] != y[t]
                pair[0] = y[t]
        for k in range(n_attributes):
            starts[k + 1] = starts[k] + latest[k, 1] + 1
            latest[k, 0], latest[k, 1] = -1, <int32_t>(starts[k] - 1)
    labels = np.empty(starts[n_attributes], dtype=np.int32)
    sums = np.zeros(starts[n_attributes])
    with nogil:
        for i in range(tokens.shape[0]):
            fetch_ahead(
                &tokens[i], tokens.shape[0] - i, &indptr[0], &indices[0], &latest[0, 0]
            )
            t = tokens[i]
            for k in range(indptr[t], indptr[t + 1]):
                pair = &latest[indices[k], 0]
                if pair[0] != y[t]:
                    pair[0] = y[t]
                    pair[1] += 1
                    labels[pair[1]] = y[t]
                sums[pair[1]] += values[k]
    return np.asarray(sums), np.asarray(labels), np.asarray(starts)


cdef inline void fetch_ahead(
    const int64_t *tokens, int64_t n, const int64_t *indptr, const int32_t *indices, int32_t *latest
) noexcept nogil:
    """Fetch the row of a token that comes soon, and the pairs of the next one, of n still."""
    cdef int64_t k, t
    if n > AHEAD:
        t = tokens[AHEAD]
        fetch_row(<const float *>&indices[indptr[t]], indptr[t + 1] - indptr[t])
    if n > 1:
        t = tokens[1]
        for k in range(indptr[t], indptr[t + 1]):
            prefetch(&latest[2 * indices[k]])
