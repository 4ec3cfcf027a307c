"""Transitions of a chain with one more label, n, which stands for the labels of a path y.

The edges of token t are the edges of the given chain, and transitions into label n: one from each
label i of token t - 1, with the score transition_t(i, y_t). Only the transition with i = y_{t-1}
comes from label n instead.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.chain.scores cimport BatchScores
from sklearn_crcrf._kernels.chain.edges cimport Edges
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn


def fill_edges(
    BatchScores batch,             # IN
    const int32_t[::1] y,          # (n_tokens,) IN
    const double[:, ::1] transposed,  # (n_labels, n_labels) transition.T IN
    int64_t[::1] row,              # (n_tokens,) OUT
    const int64_t[::1] indptr,     # (n_rows + 1,) a row for each token with a token before it IN
    int32_t[::1] previous,         # (n_entries,) OUT
    int32_t[::1] current,          # (n_entries,) OUT
    double[::1] score,             # (n_entries,) OUT
):
    cdef:
        const int64_t[::1] offsets = batch.offsets
        Edges edges = batch.edges
        int64_t n = transposed.shape[0], s, t, i, k, entry, r = 0
        double[::1] into = np.empty(n)
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            for t in range(offsets[s], offsets[s + 1]):
                row[t] = -1
                if t == offsets[s]:
                    continue
                row[t] = r
                entry = indptr[r]
                r += 1
                into[:] = transposed[y[t]]
                if edges.row[t] >= 0:
                    for k in range(edges.indptr[edges.row[t]], edges.indptr[edges.row[t] + 1]):
                        previous[entry] = edges.previous[k]
                        current[entry] = edges.current[k]
                        score[entry] = edges.score[k]
                        entry += 1
                        if edges.current[k] == y[t]:
                            into[edges.previous[k]] = edges.score[k]
                for i in range(n):
                    if i != y[t - 1]:
                        previous[entry] = <int32_t>i
                        current[entry] = <int32_t>n
                        score[entry] = into[i]
                        entry += 1
                previous[entry] = current[entry] = <int32_t>n
                score[entry] = into[y[t - 1]]
        take_turn()


def add_edge_counts(
    BatchScores batch,             # IN
    const int32_t[::1] y,
    const int64_t[::1] indptr,
    const double[::1] counts,      # (n_entries,) derivatives by the scores of fill_edges IN
    double[:, ::1] transposed,     # (n_labels, n_labels) derivatives by transition.T INOUT
    double[::1] edge_counts,       # derivatives by the edges of the given chain INOUT
):
    """Add derivatives to those by the transitions and edges that the scores were copied from."""
    cdef:
        const int64_t[::1] offsets = batch.offsets
        Edges edges = batch.edges
        int64_t n = transposed.shape[0], s, t, i, k, entry, r = 0
        double[::1] into = np.empty(n)
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            for t in range(offsets[s] + 1, offsets[s + 1]):
                entry = indptr[r + 1] - n
                for i in range(n):
                    if i != y[t - 1]:
                        into[i] = counts[entry]
                        entry += 1
                into[y[t - 1]] = counts[entry]
                if edges.row[t] >= 0:
                    entry = indptr[r]
                    for k in range(edges.indptr[edges.row[t]], edges.indptr[edges.row[t] + 1]):
                        edge_counts[k] += counts[entry]
                        entry += 1
                        if edges.current[k] == y[t]:
                            edge_counts[k] += into[edges.previous[k]]
                            into[edges.previous[k]] = 0.0
                for i in range(n):
                    transposed[y[t], i] += into[i]
                r += 1
        take_turn()
