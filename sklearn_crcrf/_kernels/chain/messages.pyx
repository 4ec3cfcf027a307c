"""Messages of the sum over all paths of a chain; see chain/edges.pxd for the scores.

    alpha_t(j) = state[t, j] + log sum_i exp(alpha_{t-1}(i) + transition_t(i, j)) - c_t
    beta_t(i)  = log sum_j exp(transition_{t+1}(i, j) + state[t+1, j] + beta_{t+1}(j)) - d_t

where the state scores include begin and end scores, and c_t and d_t are such that exp(alpha_t) and
exp(alpha_t + beta_t) sum to one. So exp(alpha_t + beta_t) are the marginals, log Z is the sum of
c_t, and rounding errors do not grow with the length of a sequence.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.scores cimport BatchScores
from sklearn_crcrf._kernels.chain.edges cimport reversed_edges
from sklearn_crcrf._kernels.log_products cimport Product, log_product, normalise, product_of
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn


cdef class ForwardMessages:
    """The forward messages of a batch of sequences, and the scores that they are made from.

    state (n_tokens, n_labels) with begin and end; potential (n_labels, n_labels), which is
    exp(transition - top); alpha (n_tokens, n_labels), increment (n_tokens,) and log_z
    (n_sequences,), which forward_messages fills.
    """

    def __cinit__(self, BatchScores batch, state, potential, top, alpha, increment, log_z):
        self.batch, self.state, self.potential, self.top = batch, state, potential, top
        self.alpha, self.increment, self.log_z = alpha, increment, log_z


def forward_messages(
    ForwardMessages messages,      # INOUT
):
    """Compute alpha, c and log Z."""
    cdef:
        const int64_t[::1] offsets = messages.batch.offsets
        const double[:, ::1] transition = messages.batch.transition, state = messages.state
        double[:, ::1] alpha = messages.alpha
        double[::1] increment = messages.increment, log_z = messages.log_z
        int64_t n = transition.shape[0], s, t, j
        double[::1] work = np.empty(n)
        Product p = product_of(
            transition, messages.potential, messages.top, messages.batch.edges
        )
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
    ForwardMessages messages,      # IN
    const double[:, ::1] transposed,  # (n_labels, n_labels) transition.T IN
    const double[:, ::1] potential,  # (n_labels, n_labels) exp(transposed - top) IN
    double[:, ::1] beta,           # (n_tokens, n_labels) OUT
):
    cdef:
        const int64_t[::1] offsets = messages.batch.offsets
        const double[:, ::1] state = messages.state, alpha = messages.alpha
        int64_t n = transposed.shape[0], s, t, j
        double[::1] work = np.empty(n), ahead = np.empty(n)
        Product p = product_of(
            transposed, potential, messages.top, reversed_edges(messages.batch.edges)
        )
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
