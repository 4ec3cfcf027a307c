"""Transition scores between the labels of tokens and the given label of a neighbour of each token.

The neighbour is the token before (step = -1) or after (step = 1). The label of the neighbour is the
row of transition matrices, and the first label of edges. See _edges.pxd for the scores.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._turns cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport real


def add_transition_scores(
    const int64_t[::1] offsets,
    const int32_t[::1] y,          # (n_tokens,) IN
    int64_t step,
    const double[:, ::1] transition,  # (n_labels, n_labels), row = label of the neighbour IN
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_source,
    const int32_t[::1] edge_target,
    const double[::1] edge_score,
    real[:, ::1] scores,           # (n_tokens, n_labels) INOUT
):
    """Add the scores of the transitions between each label and the neighbour's label in y."""
    cdef:
        int64_t n = transition.shape[0], s, t, j, k, row, neighbour
        int32_t i
        double[::1] work = np.empty(n)
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            for t in range(offsets[s], offsets[s + 1]):
                neighbour = t + step
                if neighbour < offsets[s] or neighbour >= offsets[s + 1]:
                    continue
                i = y[neighbour]
                row = edge_row[max(t, neighbour)]
                if row < 0:
                    for j in range(n):
                        scores[t, j] += <real>transition[i, j]
                    continue
                work[:] = transition[i]
                for k in range(edge_indptr[row], edge_indptr[row + 1]):
                    if edge_source[k] == i:
                        work[edge_target[k]] = edge_score[k]
                for j in range(n):
                    scores[t, j] += <real>work[j]
        take_turn()


def add_transition_counts(
    const int64_t[::1] offsets,
    const int32_t[::1] y,
    int64_t step,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_source,
    const int32_t[::1] edge_target,
    const real[:, ::1] weight,     # (n_tokens, n_labels) IN
    double[:, ::1] transition,     # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the weight of each label of each token to the transition that scores this label."""
    cdef:
        int64_t n = transition.shape[0], s, t, j, k, row, neighbour
        int32_t i
        double[::1] work = np.empty(n)
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            for t in range(offsets[s], offsets[s + 1]):
                neighbour = t + step
                if neighbour < offsets[s] or neighbour >= offsets[s + 1]:
                    continue
                i = y[neighbour]
                row = edge_row[max(t, neighbour)]
                if row < 0:
                    for j in range(n):
                        transition[i, j] += weight[t, j]
                    continue
                for j in range(n):
                    work[j] = weight[t, j]
                for k in range(edge_indptr[row], edge_indptr[row + 1]):
                    if edge_source[k] == i:
                        edge_counts[k] += work[edge_target[k]]
                        work[edge_target[k]] = 0.0
                for j in range(n):
                    transition[i, j] += work[j]
        take_turn()
