"""The k best paths of a chain; see _edges.pxd for the scores.

    delta_t(j, r) = state[t, j] + the r-th largest of all delta_{t-1}(i, q) + transition_t(i, j)
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport Edges, edges_of

from sklearn_crcrf._kernels.sizes import check_number


cdef bint insert_best(
    double score, int32_t origin, double *scores, int32_t *origins, int64_t k
) noexcept nogil:
    """Insert into a decreasing list of k; what came first stays first among equals."""
    cdef int64_t r = k - 1
    if not score > scores[r]:
        return False
    while r > 0 and score > scores[r - 1]:
        scores[r] = scores[r - 1]
        origins[r] = origins[r - 1]
        r -= 1
    scores[r] = score
    origins[r] = origin
    return True


cdef void best_ways(
    const double *before,          # (n, k) delta of the token before, decreasing IN
    const double *into,            # (n,) scores of the transitions into the label IN
    int64_t n,
    int64_t k,
    double *scores,                # (k,) decreasing OUT
    int32_t *origins,              # (k,) i * k + q OUT
) noexcept nogil:
    cdef int64_t i, q
    for q in range(k):
        scores[q] = -INFINITY
    for i in range(n):
        for q in range(k):
            if not insert_best(
                before[i * k + q] + into[i], <int32_t>(i * k + q), scores, origins, k
            ):
                break


def k_best(
    const double[:, ::1] state,    # (n_tokens, n_labels) of one sequence IN
    const double[:, ::1] transposed,  # (n_labels, n_labels) transition.T IN
    const double[::1] begin,
    const double[::1] end,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    int32_t[:, ::1] labels,        # (k, n_tokens) OUT
    double[::1] values,            # (k,) decreasing OUT, -inf where there are fewer paths
):
    """The k best paths of one sequence of at least one token."""
    cdef:
        int64_t n = transposed.shape[0], length = state.shape[0], k = values.shape[0]
        int64_t t, i, j, q, at, row
        double[:, :, ::1] delta
        int32_t[:, :, ::1] origin
        int32_t[::1] last
        double[:, ::1] scores = np.array(transposed)
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
    check_number(n * k, "paths to the labels of a token")
    delta = np.full((2, n, k), -np.inf)
    origin = np.zeros((length, n, k), dtype=np.int32)
    last = np.zeros(k, dtype=np.int32)
    with nogil:
        for j in range(n):
            delta[0, j, 0] = begin[j] + state[0, j]
        for t in range(1, length):
            row = edges.row[t]
            if row >= 0:
                for at in range(edges.indptr[row], edges.indptr[row + 1]):
                    scores[edges.current[at], edges.previous[at]] = edges.score[at]
            for j in range(n):
                best_ways(
                    &delta[(t - 1) % 2, 0, 0], &scores[j, 0], n, k,
                    &delta[t % 2, j, 0], &origin[t, j, 0],
                )
                for q in range(k):
                    delta[t % 2, j, q] += state[t, j]
            if row >= 0:
                for at in range(edges.indptr[row], edges.indptr[row + 1]):
                    i = edges.previous[at]
                    j = edges.current[at]
                    scores[j, i] = transposed[j, i]
        best_ways(&delta[(length - 1) % 2, 0, 0], &end[0], n, k, &values[0], &last[0])
        for q in range(k):
            at = last[q]
            for t in range(length - 1, -1, -1):
                labels[q, t] = <int32_t>(at // k)
                at = origin[t, at // k, at % k]
