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
    void send_bits_d(
        const double *c, const double **e, int64_t width, double *given_0, double *given_1,
        double *parent, double *logarithm, double *product
    )
    void send_bits_f(
        const float *c, const float **e, int64_t width, float *given_0, float *given_1,
        float *parent, float *logarithm, float *product
    )
    void end_bits_d(
        const double *c, int64_t width, double *p, double *logarithm, double *product
    )
    void end_bits_f(const float *c, int64_t width, float *p, float *logarithm, float *product)
    void receive_bits_d(
        const double *parent, double *given_0, const double *given_1, int64_t width,
        double *pairs_01, double *pairs_11, double *parents
    )
    void receive_bits_f(
        const float *parent, float *given_0, const float *given_1, int64_t width,
        float *pairs_01, float *pairs_11, float *parents
    )
    void subtract_gold_d(
        double weight, const double *p, const double *gold, int64_t width, double *out
    )
    void subtract_gold_f(
        float weight, const float *p, const float *gold, int64_t width, float *out
    )
    void subtract_gold_scores_d(const double *x, const double *gold, int64_t width, double *out)
    void subtract_gold_scores_f(const float *x, const float *gold, int64_t width, float *out)
    void flush_bits_d(
        double weight, int64_t width, double *logarithm, double *product, double *total
    )
    void flush_bits_f(
        double weight, int64_t width, float *logarithm, float *product, double *total
    )

# The number of models must be a multiple of this: the widest vector of single precision.
WIDTH = 16

cdef enum:
    LOGARITHM = 0
    PRODUCT = 1
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
    const Models *models,
    int64_t start,
    int64_t stop,
    const int64_t[::1] order,
    const int64_t[::1] parent,
    const int32_t[::1] y,
    double weight,
    const real[:, ::1] code,
    const real[:, ::1] potential,
    real[:, ::1] x,
    real[:, ::1] given,            # (2 n, width) of each token: q_0, then p; and q_1
    real[:, ::1] running,
) noexcept nogil:
    cdef:
        int64_t k, t, n = stop - start, n_factors = 0
        const real *e[4]
        real *now = &running[0, 0]
    for k in range(4):
        e[k] = &potential[k, 0]
    for t in range(start, stop):
        subtract_gold_scores(&x[t, 0], &code[y[t], 0], models.width, now)
    for k in range(n):
        t = order[start + k]
        if parent[start + t] < 0:
            end_bits(&x[start + t, 0], models.width, &given[2 * t, 0], now)
        else:
            send_bits(
                &x[start + t, 0], e, models.width, &given[2 * t, 0],
                &x[start + parent[start + t], 0], now,
            )
        n_factors += 1
        if n_factors >= models.n_factors or k == n - 1:
            flush_bits(weight, models.width, now, models.loss)
            n_factors = 0
    for k in range(n - 1, -1, -1):
        t = order[start + k]
        if parent[start + t] >= 0:
            receive_bits(&given[2 * parent[start + t], 0], &given[2 * t, 0], models.width, now)
        subtract_gold(
            weight, &given[2 * t, 0], &code[y[start + t], 0], models.width, &x[start + t, 0]
        )
    now += PAIRS * models.width
    for k in range(3 * models.width):
        models.counts[k] += weight * now[k]
        now[k] = 0.0


cdef inline void subtract_gold_scores(
    const real *x, const real *gold, int64_t width, real *running
) noexcept nogil:
    if real is double:
        subtract_gold_scores_d(x, gold, width, running)
    else:
        subtract_gold_scores_f(x, gold, width, running)


cdef inline void end_bits(
    const real *c, int64_t width, real *p, real *running
) noexcept nogil:
    if real is double:
        end_bits_d(c, width, p, running, running + width)
    else:
        end_bits_f(c, width, p, running, running + width)


cdef inline void send_bits(
    const real *c, const real **e, int64_t width, real *given, real *parent, real *running
) noexcept nogil:
    if real is double:
        send_bits_d(c, e, width, given, given + width, parent, running, running + width)
    else:
        send_bits_f(c, e, width, given, given + width, parent, running, running + width)


cdef inline void receive_bits(
    const real *parent, real *given, int64_t width, real *running
) noexcept nogil:
    cdef real *pairs = running + PAIRS * width
    if real is double:
        receive_bits_d(
            parent, given, given + width, width, pairs, pairs + width, pairs + 2 * width
        )
    else:
        receive_bits_f(
            parent, given, given + width, width, pairs, pairs + width, pairs + 2 * width
        )


cdef inline void subtract_gold(
    double weight, const real *p, const real *gold, int64_t width, real *out
) noexcept nogil:
    if real is double:
        subtract_gold_d(weight, p, gold, width, out)
    else:
        subtract_gold_f(<float>weight, p, gold, width, out)


cdef inline void flush_bits(
    double weight, int64_t width, real *running, double *total
) noexcept nogil:
    if real is double:
        flush_bits_d(weight, width, running, running + width, total)
    else:
        flush_bits_f(weight, width, running, running + width, total)


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
