"""Weights of single pairs of attribute and label."""

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.vectors cimport fetch_row, real

# Weights so many entries ahead are fetched from memory.
cdef enum: AHEAD = 24


def add_cells(
    const int64_t[::1] indptr,     # (n_tokens + 1,) entries of each token IN
    const int32_t[::1] label,      # (n_entries,)
    const int32_t[::1] pair,       # (n_entries,)
    const real[::1] value,         # (n_entries,)
    const real[::1] weights,       # (n_pairs,) IN
    real[:, ::1] scores,           # (stop - start, n_labels) INOUT
    int64_t start,
    int64_t stop,
):
    """scores[t - start, label[k]] += value[k] * weights[pair[k]], for the entries k of token t."""
    cdef int64_t t, k, end = indptr[stop]
    with nogil:
        for t in range(start, stop):
            for k in range(indptr[t], indptr[t + 1]):
                if k + AHEAD < end:
                    fetch_row(&weights[pair[k + AHEAD]], 1)
                scores[t - start, label[k]] += value[k] * weights[pair[k]]


def add_scores(
    const int64_t[::1] indptr,
    const int32_t[::1] label,
    const int32_t[::1] pair,
    const real[::1] value,
    const real[:, ::1] scores,     # (stop - start, n_labels) IN
    real[::1] weights,             # (n_pairs,) INOUT
    int64_t start,
    int64_t stop,
):
    """weights[pair[k]] += value[k] * scores[t - start, label[k]], for the entries k of token t."""
    cdef int64_t t, k
    with nogil:
        for t in range(start, stop):
            for k in range(indptr[t], indptr[t + 1]):
                weights[pair[k]] += value[k] * scores[t - start, label[k]]
