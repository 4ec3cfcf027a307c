"""Marginals of the labels of two neighbouring tokens, from the messages of chain/messages.pyx."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.edges cimport Edges
from sklearn_crcrf._kernels.chain.messages cimport ForwardMessages
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn


def add_expected_pairs(
    ForwardMessages messages,      # IN
    const double[:, ::1] beta,     # (n_tokens, n_labels) IN
    const double[::1] weight,      # (n_sequences,) IN
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the expected counts of transitions and edges, times the weight of each sequence."""
    cdef:
        const int64_t[::1] offsets = messages.batch.offsets
        const double[::1] log_z = messages.log_z
        int64_t n = transitions.shape[0], s, t, i, j, k, row
        double[:, ::1] work = np.empty((n + 2, n))
        double[::1] raised = np.empty(messages.batch.n_entries)
        Edges edges = messages.batch.edges
        Pairs p = pairs_of(messages, beta, work, raised)
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            if log_z[s] == -INFINITY or weight[s] == 0.0:
                continue
            for t in range(offsets[s] + 1, offsets[s + 1]):
                set_pairs(p, t)
                for i in range(n):
                    for j in range(n):
                        transitions[i, j] += weight[s] * p.common[i * n + j]
                row = edges.row[t]
                if row >= 0:
                    for k in range(edges.indptr[row], edges.indptr[row + 1]):
                        edge_counts[k] += weight[s] * p.raised[k]
        take_turn()
