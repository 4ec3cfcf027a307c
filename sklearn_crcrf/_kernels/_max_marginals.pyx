"""Scores of the best paths through each label of each token; see _edges.pxd for the scores.

    delta_t(j) = state[t, j] + max_i delta_{t-1}(i) + transition_t(i, j)
    gamma_t(i) = max_j transition_{t+1}(i, j) + state[t+1, j] + gamma_{t+1}(j)
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport Edges, edges_of, maximum_sum


def add_best_suffixes(
    const int64_t[::1] offsets,
    const double[:, ::1] state,    # (n_tokens, n_labels) with begin and end IN
    const double[:, ::1] transition,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    double[:, ::1] best,           # (n_tokens, n_labels) delta IN, delta + gamma OUT
):
    cdef:
        int64_t n = transition.shape[0], s, t, i, j, k, row
        double[::1] ahead = np.empty(n), gamma = np.empty(n)
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
    with nogil:
        for s in range(offsets.shape[0] - 1):
            gamma[:] = 0.0
            for t in range(offsets[s + 1] - 2, offsets[s] - 1, -1):
                for j in range(n):
                    ahead[j] = state[t + 1, j] + gamma[j]
                for i in range(n):
                    gamma[i] = maximum_sum(&transition[i, 0], &ahead[0], n)
                row = edges.row[t + 1]
                if row >= 0:
                    for k in range(edges.indptr[row], edges.indptr[row + 1]):
                        i = edges.previous[k]
                        gamma[i] = max(gamma[i], edges.score[k] + ahead[edges.current[k]])
                for i in range(n):
                    best[t, i] += gamma[i]
