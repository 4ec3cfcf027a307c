"""Covariances of how often a path y uses each score, f(y), and a linear function <v, f(y)>.

    a_t(j) = v_t(j) + sum_i p(y_{t-1} = i | y_t = j) (a_{t-1}(i) + v_t(i, j)) - m_t
    b_t(i) = sum_j p(y_{t+1} = j | y_t = i) (v_{t+1}(i, j) + v_{t+1}(j) + b_{t+1}(j)) - m_{t+1}

where m_t = E[v_t(y_t) + v_t(y_{t-1}, y_t)], so that the mean of <v, f(y)> is the sum of m_t, and

    Cov(t, j)    = p(y_t = j) (a_t(j) + b_t(j))
    Cov(t, i, j) = p(y_{t-1} = i, y_t = j) (a_{t-1}(i) + v_t(i, j) + v_t(j) + b_t(j) - m_t)

(the recursions of Kakade, Teh & Roweis 2002). chain/messages.pyx has the messages. A
conditional probability is a quotient of marginals; where the divisor is zero, so is everything
that the probability is multiplied with.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, exp
from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.messages cimport ForwardMessages
from sklearn_crcrf._kernels.chain.pairs cimport Pairs, pairs_of, set_pairs

cdef void average_before(
    Pairs p,                       # with the pairs of token t
    int64_t t,
    const double *before,          # (n,) a_{t-1} IN
    const double *transition,      # (n, n) of the direction IN
    const double *edge_values,     # (n_entries,) of the direction IN
    double *mass,                  # (n,) work space
    double *out,                   # (n,) sum_i p(y_{t-1} = i | y_t = j) (a_{t-1}(i) + v(i, j)) OUT
) noexcept nogil:
    cdef:
        int64_t i, j, k, n = p.n, row = p.edges.row[t]
        const double *pair
    for j in range(n):
        mass[j] = out[j] = 0.0
    for i in range(n):
        pair = p.common + i * n
        for j in range(n):
            mass[j] += pair[j]
            out[j] += pair[j] * (before[i] + transition[i * n + j])
    if row >= 0:
        for k in range(p.edges.indptr[row], p.edges.indptr[row + 1]):
            j = p.edges.current[k]
            mass[j] += p.raised[k]
            out[j] += p.raised[k] * (before[p.edges.previous[k]] + edge_values[k])
    for j in range(n):
        out[j] = out[j] / mass[j] if mass[j] > 0.0 else 0.0


def average_prefixes(
    ForwardMessages messages,      # IN
    const double[:, ::1] beta,     # (n_tokens, n_labels) IN
    const double[:, ::1] v_state,  # (n_tokens, n_labels) direction, with begin and end IN
    const double[:, ::1] v_transition,
    const double[::1] v_edges,
    double[:, ::1] a,              # (n_tokens, n_labels) OUT
    double[::1] m,                 # (n_tokens,) OUT
    double[::1] mean,              # (n_sequences,) NaN where no path is possible OUT
):
    """The recursion of a, and the means of <v, f(y)>."""
    cdef:
        const int64_t[::1] offsets = messages.batch.offsets
        const double[:, ::1] alpha = messages.alpha
        const double[::1] log_z = messages.log_z
        int64_t n = v_transition.shape[0], s, t, j
        double[:, ::1] work = np.empty((n + 2, n))
        double[::1] raised = np.empty(messages.batch.n_entries), mass = np.empty(n)
        Pairs p = pairs_of(messages, beta, work, raised)
        const double *edge_values = &v_edges[0] if v_edges.shape[0] else NULL
    with nogil:
        for s in range(offsets.shape[0] - 1):
            mean[s] = 0.0 if log_z[s] > -INFINITY else NAN
            if log_z[s] == -INFINITY:
                continue
            for t in range(offsets[s], offsets[s + 1]):
                if t == offsets[s]:
                    for j in range(n):
                        a[t, j] = 0.0
                else:
                    set_pairs(p, t)
                    average_before(
                        p, t, &a[t - 1, 0], &v_transition[0, 0], edge_values, &mass[0], &a[t, 0]
                    )
                m[t] = 0.0
                for j in range(n):
                    a[t, j] += v_state[t, j]
                    m[t] += exp(alpha[t, j] + beta[t, j]) * a[t, j]
                for j in range(n):
                    a[t, j] -= m[t]
                mean[s] += m[t]


cdef void add_path_pairs(
    Pairs p,                       # with the pairs of token t
    int64_t t,
    double weight,
    double m,
    const double *before,          # (n,) a_{t-1} IN
    const double *ahead,           # (n,) v_t + b_t IN
    const double *v_transition,    # (n, n) of the direction IN
    const double *v_edges,         # (n_entries,) of the direction IN
    double *mass,                  # (n,) p(y_{t-1} = i) OUT
    double *state,                 # (n,) Cov(t - 1, i) OUT
    double[:, ::1] transition,     # (n, n) weighted sums of Cov(t, i, j) INOUT
    double[::1] edge_values,       # (n_entries,) the same for the edges INOUT
) noexcept nogil:
    cdef:
        int64_t i, j, k, n = p.n, row = p.edges.row[t]
        double centered, pair, covariance
    for i in range(n):
        mass[i] = state[i] = 0.0
        centered = before[i] - m
        for j in range(n):
            pair = p.common[i * n + j]
            covariance = pair * (centered + v_transition[i * n + j] + ahead[j])
            transition[i, j] += weight * covariance
            state[i] += covariance
            mass[i] += pair
    if row < 0:
        return
    for k in range(p.edges.indptr[row], p.edges.indptr[row + 1]):
        i = p.edges.previous[k]
        covariance = p.raised[k] * (before[i] - m + v_edges[k] + ahead[p.edges.current[k]])
        edge_values[k] += weight * covariance
        state[i] += covariance
        mass[i] += p.raised[k]


def add_covariances(
    ForwardMessages messages,      # IN
    const double[:, ::1] beta,
    const double[:, ::1] v_state,
    const double[:, ::1] v_transition,
    const double[::1] v_edges,
    const double[:, ::1] a,        # (n_tokens, n_labels) IN
    const double[::1] m,           # (n_tokens,) IN
    const double[::1] weight,      # (n_sequences,) IN
    double[:, ::1] states,         # (n_tokens, n_labels) weighted Cov(t, j) INOUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_values,       # (n_entries,) INOUT
):
    """The recursion of b, and the covariances, times the weight of each sequence."""
    cdef:
        const int64_t[::1] offsets = messages.batch.offsets
        const double[:, ::1] alpha = messages.alpha
        const double[::1] log_z = messages.log_z
        int64_t n = v_transition.shape[0], s, t, j
        double[:, ::1] work = np.empty((n + 2, n))
        double[::1] raised = np.empty(messages.batch.n_entries)
        double[::1] mass = np.empty(n), covariance = np.empty(n), b = np.empty(n)
        Pairs p = pairs_of(messages, beta, work, raised)
        const double *v_edge = &v_edges[0] if v_edges.shape[0] else NULL
    with nogil:
        for s in range(offsets.shape[0] - 1):
            if log_z[s] == -INFINITY or weight[s] == 0.0:
                continue
            for t in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
                if t == offsets[s + 1] - 1:
                    for j in range(n):
                        covariance[j] = exp(alpha[t, j] + beta[t, j]) * a[t, j]
                        b[j] = 0.0
                else:
                    set_pairs(p, t + 1)
                    for j in range(n):
                        b[j] += v_state[t + 1, j]
                    add_path_pairs(
                        p, t + 1, weight[s], m[t + 1], &a[t, 0], &b[0], &v_transition[0, 0],
                        v_edge, &mass[0], &covariance[0], transitions, edge_values,
                    )
                    for j in range(n):
                        b[j] = covariance[j] / mass[j] - a[t, j] if mass[j] > 0.0 else 0.0
                for j in range(n):
                    states[t, j] += weight[s] * covariance[j]
