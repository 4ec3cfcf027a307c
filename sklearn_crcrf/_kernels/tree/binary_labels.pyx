"""Sums over the labellings of forests by bits, for many binary models of the same tokens at once: the
columns of an output code (Cohn, Smith & Osborne 2005). With the log-odds x_t of bit 1 by the
attributes of a token and the potentials e_ij = exp(T_ij - max T) of a parent with bit i and a child
with bit j, messages go from the last tokens to the roots and probabilities back:

    c_t = x_t + sum_{children u} m_u,     m_t = log (e_10 + e_11 exp c_t) / (e_00 + e_01 exp c_t)
    q_i = p(b_t = 1 | b_parent = i) = e_i1 exp c_t / (e_i0 + e_i1 exp c_t)
    p_root = 1 / (1 + exp(-c_root)),      p_t = (1 - p_parent) q_0 + p_parent q_1
    log Z = sum_roots log(1 + exp c) + sum_links log(e_00 + e_01 exp c)

Only log-odds are stored, so nothing underflows. The parent of a token in a sequence is the token
before it. A row has a number for each model.

For the best bits, with the log-odds x_t of bit 1 by the attributes of a token, and transition scores T_ij of a parent
with bit i and a child with bit j, messages go from the last tokens to the roots:

    c_t = x_t + sum_{children u} m_u,      m_t = max(T_10, T_11 + c_t) - max(T_00, T_01 + c_t)

and bits back: b_root = [c_root > 0], and b_t = [T_i1 + c_t > T_i0] with i the bit of the parent.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport flush_denormals, real, restore_denormals

cdef extern from "tree/binary_labels.h" nogil:
    void send_bits "SEND_BITS"(
        const void *c, const void *e, int64_t width, void *given_0, void *given_1, void *parent,
        void *logarithm, void *product
    )
    void end_bits "END_BITS"(const void *c, int64_t width, void *p, void *logarithm, void *product)
    void receive_bits "RECEIVE_BITS"(
        const void *parent, void *given_0, const void *given_1, int64_t width, void *pairs_01,
        void *pairs_11, void *parents
    )
    void subtract_gold "SUBTRACT_GOLD"(
        double weight, const void *p, const void *gold, int64_t width, void *out
    )
    void subtract_gold_scores "SUBTRACT_GOLD_SCORES"(
        const void *x, const void *gold, int64_t width, void *out
    )
    void flush_bits "FLUSH_BITS"(
        double weight, int64_t width, void *logarithm, void *product, double *total
    )

# The number of models must be a multiple of this: the widest vector of single precision.
WIDTH = 16

cdef enum:
    PRODUCT = 1                    # the first row has logarithms
    PAIRS = 2                      # (0, 1), (1, 1), and bit 1 of the parent
    N_RUNNING = 5


cdef struct Models:
    int64_t width
    int64_t n_factors              # of a product before its logarithm is taken
    double *loss                   # (width,)
    double *counts                 # (3, width)


def sum_bits(
    const int64_t[::1] offsets,
    const int64_t[::1] order,      # (n_tokens,) positions in units, children before parents IN
    const int64_t[::1] parent,     # (n_tokens,) position in the unit, -1 for none IN
    const int32_t[::1] y,          # (n_tokens,) IN
    const double[::1] weight,      # (n_units,) IN
    const real[:, ::1] code,       # (n_labels, width) bits IN
    const real[:, ::1] potential,  # (4, width) e_00, e_01, e_10, e_11 IN
    real[:, ::1] x,                # (n_tokens, width) log-odds IN, weight * (p - gold) OUT
    double[::1] loss,              # (width,) OUT weighted sum of log Z minus the gold x
    double[:, ::1] counts,         # (3, width) OUT expected pairs (0, 1) and (1, 1), and parents 1
):
    """The loss of each model but for gold and largest transitions, and expected counts."""
    cdef:
        int64_t u, longest = 0, n_units = weight.shape[0], width = x.shape[1]
        Models models = Models(width, factors_of(potential), &loss[0], &counts[0, 0])
        real[:, ::1] given, running
        unsigned denormals
    loss[:] = 0.0
    counts[:, :] = 0.0
    for u in range(n_units):
        longest = max(longest, offsets[u + 1] - offsets[u])
    dtype = np.asarray(x).dtype
    given = np.empty((2 * longest + 1, width), dtype=dtype)
    running = np.zeros((N_RUNNING, width), dtype=dtype)
    running[PRODUCT, :] = 1.0
    with nogil:
        give_turn()
        denormals = flush_denormals()
        for u in range(n_units):
            if offsets[u] < offsets[u + 1]:
                sum_unit(
                    &models, offsets[u], offsets[u + 1], order, parent, y, weight[u], code,
                    potential, x, given, running,
                )
        restore_denormals(denormals)
        take_turn()


cdef int64_t factors_of(const real[:, ::1] potential):
    """How many potentials a product can take without underflow."""
    least = float(np.min(potential))
    lowest = -600.0 if real is double else -70.0
    return 64 if least >= 1.0 else max(1, min(64, int(lowest / np.log(least))))


cdef void sum_unit(
    const Models *models, int64_t start, int64_t stop, const int64_t[::1] order,
    const int64_t[::1] parent, const int32_t[::1] y, double weight, const real[:, ::1] code,
    const real[:, ::1] potential, real[:, ::1] x,
    real[:, ::1] given,            # (2 n, width) of each token: q_0, then p; and q_1
    real[:, ::1] running,
) noexcept nogil:
    cdef:
        int64_t k, t, n = stop - start, n_factors = 0, width = models.width
        const real *e[4]
        real *now = &running[0, 0]
        real *product = now + PRODUCT * width
        real *pairs = now + PAIRS * width
        real *q
    for k in range(4):
        e[k] = &potential[k, 0]
    for t in range(start, stop):
        subtract_gold_scores(&x[t, 0], &code[y[t], 0], width, now)
    for k in range(n):
        t = order[start + k]
        q = &given[2 * t, 0]
        if parent[start + t] < 0:
            end_bits(&x[start + t, 0], width, q, now, product)
        else:
            send_bits(
                &x[start + t, 0], e, width, q, q + width, &x[start + parent[start + t], 0], now,
                product,
            )
        n_factors += 1
        if n_factors >= models.n_factors or k == n - 1:
            flush_bits(weight, width, now, product, models.loss)
            n_factors = 0
    for k in range(n - 1, -1, -1):
        t = order[start + k]
        q = &given[2 * t, 0]
        if parent[start + t] >= 0:
            receive_bits(
                &given[2 * parent[start + t], 0], q, q + width, width, pairs, pairs + width,
                pairs + 2 * width,
            )
        subtract_gold(weight, q, &code[y[start + t], 0], width, &x[start + t, 0])
    for k in range(3 * width):
        models.counts[k] += weight * pairs[k]
        pairs[k] = 0.0


def best_bits(
    const int64_t[::1] offsets,
    const int64_t[::1] order,         # (n_tokens,) positions in units, children before parents IN
    const int64_t[::1] parent,        # (n_tokens,) position in the unit, -1 for none IN
    const double[:, ::1] transition,  # (4, n_models) T_00, T_01, T_10, T_11 IN
    double[:, ::1] x,                 # (n_tokens, n_models) log-odds IN, bits OUT
):
    """Replace log-odds by the bits of the best labelling of each model."""
    cdef:
        int64_t u, k, j, t, to, start, n_models = x.shape[1]
        double c
    with nogil:
        for u in range(offsets.shape[0] - 1):
            start = offsets[u]
            for k in range(start, offsets[u + 1]):
                t, to = start + order[k], parent[start + order[k]]
                for j in range(n_models if to >= 0 else 0):
                    c = x[t, j]
                    x[start + to, j] += (
                        max(transition[2, j], transition[3, j] + c)
                        - max(transition[0, j], transition[1, j] + c)
                    )
            for k in range(offsets[u + 1] - 1, start - 1, -1):
                t, to = start + order[k], parent[start + order[k]]
                for j in range(n_models):
                    c = x[t, j]
                    if to >= 0 and x[start + to, j] > 0.0:
                        c += transition[3, j] - transition[2, j]
                    elif to >= 0:
                        c += transition[1, j] - transition[0, j]
                    x[t, j] = c > 0.0
