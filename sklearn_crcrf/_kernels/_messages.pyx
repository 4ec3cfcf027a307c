"""Messages of the sum over all paths of a chain; see _edges.pxd for the scores.

    alpha_t(j) = state[t, j] + log sum_i exp(alpha_{t-1}(i) + transition_t(i, j)) - c_t
    beta_t(i)  = log sum_j exp(transition_{t+1}(i, j) + state[t+1, j] + beta_{t+1}(j)) - d_t

where the state scores include begin and end scores, and c_t and d_t are such that exp(alpha_t) and
exp(alpha_t + beta_t) sum to one. So exp(alpha_t + beta_t) are the marginals, log Z is the sum of
c_t, and rounding errors do not grow with the length of a sequence.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport Edges, edges_of
from sklearn_crcrf._kernels._log_products cimport Product, log_product, normalise, product_of
from sklearn_crcrf._kernels._pairs cimport Pairs, pairs_of, set_pairs
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn


def forward_messages(
    const int64_t[::1] offsets,
    const double[:, ::1] state,    # (n_tokens, n_labels) with begin and end IN
    const double[:, ::1] transition,
    const double[:, ::1] potential,  # (n_labels, n_labels) exp(transition - top) IN
    double top,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    double[:, ::1] alpha,          # (n_tokens, n_labels) OUT
    double[::1] increment,         # (n_tokens,) c OUT
    double[::1] log_z,             # (n_sequences,) OUT, -inf where no path is possible
):
    cdef:
        int64_t n = transition.shape[0], s, t, j
        double[::1] work = np.empty(n)
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
        Product p = product_of(transition, potential, top, edges)
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            log_z[s] = 0.0
            for t in range(offsets[s], offsets[s + 1]):
                if t == offsets[s]:
                    for j in range(n):
                        alpha[t, j] = 0.0
                else:
                    log_product(p, t, &alpha[t - 1, 0], &work[0], &alpha[t, 0])
                for j in range(n):
                    alpha[t, j] += state[t, j]
                increment[t] = normalise(&alpha[t, 0], n, &alpha[t, 0])
                log_z[s] += increment[t]
        take_turn()


def backward_messages(
    const int64_t[::1] offsets,
    const double[:, ::1] state,    # (n_tokens, n_labels) with begin and end IN
    const double[:, ::1] transposed,  # (n_labels, n_labels) transition.T IN
    const double[:, ::1] potential,  # (n_labels, n_labels) exp(transposed - top) IN
    double top,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    const double[:, ::1] alpha,    # (n_tokens, n_labels) IN
    double[:, ::1] beta,           # (n_tokens, n_labels) OUT
):
    cdef:
        int64_t n = transposed.shape[0], s, t, j
        double[::1] work = np.empty(n), ahead = np.empty(n)
        Edges edges = edges_of(edge_row, edge_indptr, edge_current, edge_previous, edge_score)
        Product p = product_of(transposed, potential, top, edges)
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            for t in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
                if t == offsets[s + 1] - 1:
                    for j in range(n):
                        beta[t, j] = 0.0
                else:
                    for j in range(n):
                        ahead[j] = state[t + 1, j] + beta[t + 1, j]
                    log_product(p, t + 1, &ahead[0], &work[0], &beta[t, 0])
                for j in range(n):
                    work[j] = alpha[t, j] + beta[t, j]
                normalise(&work[0], n, &beta[t, 0])
        take_turn()


def add_expected_pairs(
    const int64_t[::1] offsets,
    const double[:, ::1] state,    # (n_tokens, n_labels) with begin and end IN
    const double[:, ::1] transition,
    const double[:, ::1] potential,  # (n_labels, n_labels) exp(transition - top) IN
    double top,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    const double[:, ::1] alpha,    # (n_tokens, n_labels) IN
    const double[:, ::1] beta,     # (n_tokens, n_labels) IN
    const double[::1] increment,   # (n_tokens,) IN
    const double[::1] log_z,       # (n_sequences,) IN
    const double[::1] weight,      # (n_sequences,) IN
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the expected counts of transitions and edges, times the weight of each sequence."""
    cdef:
        int64_t n = transition.shape[0], s, t, i, j, k, row
        double[:, ::1] work = np.empty((n + 2, n))
        double[::1] raised = np.empty_like(edge_score)
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
        Pairs p = pairs_of(
            state, transition, potential, top, edges, alpha, beta, increment, work, raised
        )
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
