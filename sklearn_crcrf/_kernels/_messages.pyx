"""Messages of the sum over all paths of a chain; see _edges.pxd for the scores.

    alpha_t(j) = state[t, j] + log sum_i exp(alpha_{t-1}(i) + transition_t(i, j)) - c_t
    beta_t(i)  = log sum_j exp(transition_{t+1}(i, j) + state[t+1, j] + beta_{t+1}(j)) - d_t

where the state scores include begin and end scores, and c_t and d_t are such that exp(alpha_t) and
exp(alpha_t + beta_t) sum to one. So exp(alpha_t + beta_t) are the marginals, log Z is the sum of
c_t, and rounding errors do not grow with the length of a sequence.

The sums are products with exp(transition). Sums that underflow are computed again in logarithms.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, isnan, log
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport Edges, edges_of, maximum
from sklearn_crcrf._kernels._pairs cimport Pairs, pairs_of, set_pairs
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn

# Sums of probabilities below this are computed again in logarithms.
cdef double UNDERFLOW = 1e-280


cdef struct Product:
    # From one token to the one after it, or back
    int64_t n                      # labels
    double top                     # maximum of the finite transition scores
    const double *score            # (n, n) transition scores, row = where the product comes from
    const double *potential        # (n, n) exp(score - top)
    Edges edges                    # previous = where the product comes from


cdef void log_product(
    Product p,
    int64_t t,                     # the later of the two tokens
    const double *x,               # (n,) logarithms IN
    double *scaled,                # (n,) work space
    double *out,                   # (n,) log sum_i exp(x_i + transition_t(i, j)) OUT
) noexcept nogil:
    cdef:
        int64_t i, j, k, row = p.edges.row[t], start = 0, stop = 0, n = p.n
        double shift = maximum(x, n), top = p.top, lowered, raised
        const double *potential
    if row >= 0:
        start = p.edges.indptr[row]
        stop = p.edges.indptr[row + 1]
        top = max(top, maximum(p.edges.score + start, stop - start))
    for j in range(n):
        out[j] = 0.0 if shift > -INFINITY else -INFINITY
    if shift == -INFINITY:
        return
    for i in range(n):
        scaled[i] = exp(x[i] - shift)
        if scaled[i] > 0.0:
            potential = p.potential + i * n
            for j in range(n):
                out[j] += scaled[i] * potential[j]
    lowered = exp(p.top - top)
    for j in range(n):
        out[j] *= lowered
    for k in range(start, stop):
        i = p.edges.previous[k]
        j = p.edges.current[k]
        raised = exp(p.edges.score[k] - top) - lowered * p.potential[i * n + j]
        out[j] += scaled[i] * raised
    for j in range(n):
        if out[j] > UNDERFLOW:
            out[j] = log(out[j]) + shift + top
        else:
            out[j] = log_sum(p, start, stop, x, j)


cdef double log_sum(
    Product p, int64_t start, int64_t stop, const double *x, int64_t j
) noexcept nogil:
    """log sum_i exp(x_i + transition_t(i, j)) without leaving the logarithms."""
    cdef:
        int64_t i, k
        double top = -INFINITY, total = 0.0
    for i in range(p.n):
        top = max(top, x[i] + p.score[i * p.n + j])
    for k in range(start, stop):
        if p.edges.current[k] == j:
            top = max(top, x[p.edges.previous[k]] + p.edges.score[k])
    if top == -INFINITY:
        return -INFINITY
    for i in range(p.n):
        total += exp(x[i] + p.score[i * p.n + j] - top)
    for k in range(start, stop):
        if p.edges.current[k] == j:
            i = p.edges.previous[k]
            total += exp(x[i] + p.edges.score[k] - top) - exp(x[i] + p.score[i * p.n + j] - top)
    return top + log(total)


cdef double normalise(const double *logarithms, int64_t n, double *out) noexcept nogil:
    """Subtract the logarithm of the sum of exp(logarithms) from ``out``, and return it."""
    cdef:
        int64_t j
        double top = maximum(logarithms, n), total = 0.0
    if top == -INFINITY:
        for j in range(n):
            if isnan(logarithms[j]):
                return NAN
        return top
    for j in range(n):
        total += exp(logarithms[j] - top)
    total = top + log(total)
    for j in range(n):
        out[j] -= total
    return total


cdef Product product_of(
    const double[:, ::1] score, const double[:, ::1] potential, double top, Edges edges
) noexcept:
    cdef Product p
    p.n = score.shape[0]
    p.top = top
    p.score = &score[0, 0]
    p.potential = &potential[0, 0]
    p.edges = edges
    return p


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
