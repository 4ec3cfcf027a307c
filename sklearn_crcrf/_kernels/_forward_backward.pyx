"""Sums over all paths of a chain; see _edges.pxd for the scores.

    alpha_t(j) = state[t, j] + log sum_i exp(alpha_{t-1}(i) + transition_t(i, j))
    beta_t(i)  = log sum_j exp(transition_{t+1}(i, j) + state[t+1, j] + beta_{t+1}(j))

The sums are products with exp(transition), which is taken once; only one exponential and one
logarithm per token and label remain. A sum that underflows is taken again in logarithms.
"""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int8_t, int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport (
    Edges, argmax_sum, dominance_row, edges_of, maximum
)

# Sums of probabilities below this are summed again as logarithms.
cdef double UNDERFLOW = 1e-280
# Products with a factor above this are taken in logarithms.
cdef double OVERFLOW = 1e100
# Expected counts below this are lost in the rounding of those of one sequence.
cdef double VANISHING = 1e-18
# Terms below exp(-NEGLIGIBLE) of a sum are lost in the rounding of the sum.
cdef double NEGLIGIBLE = 45.0


cdef struct Step:
    # One product: previous -> current (forward), or current -> previous (backward)
    const double *score            # (n, n) transition scores, row = where the product comes from
    const double *potential        # (n, n) exp(score - top)
    double top                     # maximum of the finite transition scores
    const int32_t *source          # (n_entries,) of the edges
    const int32_t *target
    double *gains                  # (n, n) rows of dominance_row, made when they are needed
    int8_t *has_gains              # (n,)
    const double *zeros            # (n,)


cdef void log_product(
    Step step,
    Edges edges,
    int64_t t,
    int64_t n,
    const double *x,               # (n,) logarithms IN
    double *scaled,                # (n,) exp(x - max x) OUT
    double *out,                   # (n,) log sum_i exp(x_i + transition_t(i, j)) OUT
) noexcept nogil:
    cdef:
        int64_t i, j, k, row = edges.row[t], start = 0, stop = 0
        int64_t best = argmax_sum(x, step.zeros, n)
        double shift = x[best], top = step.top, lowered, raised
        const double *potential
        const double *gain = step.gains + best * n
    if row >= 0:
        start = edges.indptr[row]
        stop = edges.indptr[row + 1]
    for k in range(start, stop):
        top = edges.score[k] if edges.score[k] > top else top
    for j in range(n):
        out[j] = 0.0
    if shift == -INFINITY or top == -INFINITY:
        for j in range(n):
            scaled[j] = 0.0
            out[j] = -INFINITY
        return
    lowered = exp(step.top - top)
    if not step.has_gains[best]:
        dominance_row(step.score, n, best, scaled, step.gains + best * n)
        step.has_gains[best] = 1
    for i in range(n):
        scaled[i] = exp(x[i] - shift)
        if x[i] + gain[i] > shift - NEGLIGIBLE and lowered > 0.0:
            potential = step.potential + i * n
            for j in range(n):
                out[j] += scaled[i] * potential[j]
    for j in range(n):
        out[j] *= lowered
    for k in range(start, stop):
        i = step.source[k]
        j = step.target[k]
        raised = exp(edges.score[k] - top) - exp(step.score[i * n + j] - top)
        out[j] += scaled[i] * raised
    for j in range(n):
        if out[j] > UNDERFLOW:
            out[j] = log(out[j]) + shift + top
        else:
            out[j] = log_sum(step, edges, start, stop, n, x, j)


cdef double log_sum(
    Step step, Edges edges, int64_t start, int64_t stop, int64_t n, const double *x, int64_t j
) noexcept nogil:
    """log sum_i exp(x_i + transition_t(i, j)) without leaving the logarithms."""
    cdef:
        int64_t i, k
        double top = -INFINITY, total = 0.0, score, edge
    for i in range(n):
        score = x[i] + step.score[i * n + j]
        top = score if score > top else top
    for k in range(start, stop):
        if step.target[k] == j:
            score = x[step.source[k]] + edges.score[k]
            top = score if score > top else top
    if top == -INFINITY:
        return -INFINITY
    for i in range(n):
        total += exp(x[i] + step.score[i * n + j] - top)
    for k in range(start, stop):
        if step.target[k] == j:
            i = step.source[k]
            total += exp(x[i] + edges.score[k] - top) - exp(x[i] + step.score[i * n + j] - top)
    return top + log(total)


def forward_backward(
    const int64_t[::1] offsets,
    double[:, ::1] state,          # (n_tokens, n_labels) IN, marginals OUT
    const double[:, ::1] transition,
    const double[::1] begin,
    const double[::1] end,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    double[::1] log_z,             # (n_sequences,) OUT, -inf where no path is possible
    const double[::1] weight,      # (n_sequences,) of what is added to the following IN
    double[:, ::1] expected,       # (n_labels, n_labels) transitions INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Log-partition, token marginals and expected transitions of each sequence."""
    cdef:
        int64_t n = transition.shape[0], s, t, j, first, last
        int64_t longest = np.max(np.diff(offsets), initial=0)
        double[:, ::1] transposed = np.ascontiguousarray(transition.T)
        double[:, ::1] alpha = np.empty((longest, n))
        double[::1] ahead = np.empty(n), beta = np.empty(n), x = np.empty(n), y = np.empty(n)
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
        double total, top = maximum(&transition[0, 0], n * n)
        double[:, ::1] forward_potential = _potentials(transition, top)
        double[:, ::1] backward_potential = np.ascontiguousarray(forward_potential.T)
        double[:, ::1] gains = np.empty((n, n)), backward_gains = np.empty((n, n))
        int8_t[:, ::1] has_gains = np.zeros((2, n), dtype=np.int8)
        double[::1] zeros = np.zeros(n)
        Step forward = Step(
            &transition[0, 0], &forward_potential[0, 0], top, edges.previous, edges.current,
            &gains[0, 0], &has_gains[0, 0], &zeros[0],
        )
        Step backward = Step(
            &transposed[0, 0], &backward_potential[0, 0], top, edges.current, edges.previous,
            &backward_gains[0, 0], &has_gains[1, 0], &zeros[0],
        )
    with nogil:
        for s in range(offsets.shape[0] - 1):
            first = offsets[s]
            last = offsets[s + 1] - 1
            log_z[s] = 0.0
            if last < first:
                continue
            for j in range(n):
                alpha[0, j] = begin[j] + state[first, j]
            for t in range(first + 1, last + 1):
                log_product(
                    forward, edges, t, n, &alpha[t - first - 1, 0], &x[0], &alpha[t - first, 0]
                )
                for j in range(n):
                    alpha[t - first, j] += state[t, j]
            for j in range(n):
                beta[j] = end[j]
                x[j] = alpha[last - first, j] + end[j]
            log_z[s] = softmax(&x[0], n, &x[0])
            for t in range(last, first - 1, -1):
                for j in range(n):
                    ahead[j] = state[t, j] + beta[j]
                    x[j] = alpha[t - first, j] + beta[j]
                # Not log_z: its rounding error grows with the length of the sequence.
                total = softmax(&x[0], n, &state[t, 0])
                if t == first:
                    break
                if weight[s] != 0.0 and total > -INFINITY:
                    add_expected(
                        edges, t, transition, &alpha[t - first - 1, 0], &ahead[0], total,
                        weight[s], &x[0], &y[0], forward, expected, edge_counts,
                    )
                log_product(backward, edges, t, n, &ahead[0], &x[0], &beta[0])


cdef double softmax(const double *x, int64_t n, double *out) noexcept nogil:
    """out = exp(x - log sum exp x); return log sum exp x."""
    cdef:
        int64_t i
        double top = maximum(x, n), total = 0.0
    for i in range(n):
        out[i] = exp(x[i] - top) if top > -INFINITY else 0.0
        total += out[i]
    if top == -INFINITY:
        return top
    for i in range(n):
        out[i] /= total
    return top + log(total)


cdef void add_expected(
    Edges edges,
    int64_t t,
    const double[:, ::1] transition,
    const double *alpha,           # (n,) of token t - 1 IN
    const double *ahead,           # (n,) state + beta of token t IN
    double log_z,
    double weight,
    double *x,                     # (n,) work space
    double *y,                     # (n,) work space
    Step forward,
    double[:, ::1] expected,
    double[::1] edge_counts,
) noexcept nogil:
    """expected[i, j] += weight * p(y_{t-1} = i, y_t = j), or to the count of its edge."""
    cdef:
        int64_t n = transition.shape[0], i, j, k, row = edges.row[t]
        double shift = maximum(alpha, n), shift_ahead = maximum(ahead, n), scale
        double mass_ahead = 0.0
    scale = exp(shift + shift_ahead + forward.top - log_z)
    for i in range(n):
        x[i] = exp(alpha[i] - shift) * scale * weight
        y[i] = exp(ahead[i] - shift_ahead)
        mass_ahead += y[i]
    for i in range(n):
        if scale > OVERFLOW:
            for j in range(n):
                expected[i, j] += weight * exp(alpha[i] + transition[i, j] + ahead[j] - log_z)
        elif fabs(x[i]) * mass_ahead > VANISHING:
            for j in range(n):
                expected[i, j] += x[i] * forward.potential[i * n + j] * y[j]
    if row < 0:
        return
    for k in range(edges.indptr[row], edges.indptr[row + 1]):
        i = edges.previous[k]
        j = edges.current[k]
        edge_counts[k] += weight * exp(alpha[i] + edges.score[k] + ahead[j] - log_z)
        expected[i, j] -= weight * exp(alpha[i] + transition[i, j] + ahead[j] - log_z)


def _potentials(transition, double top):
    if top == -np.inf:
        return np.zeros_like(transition)
    return np.exp(np.asarray(transition) - top)
