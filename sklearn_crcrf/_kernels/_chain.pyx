"""Recursions on a linear chain whose transition scores may be raised per token.

A path y of a sequence of length n scores

    begin[y_0] + sum_t state[t, y_t] + sum_{t>0} transition_t(y_{t-1}, y_t) + end[y_{n-1}]

where transition_t(i, j) is an entry of the sparse row of edge scores of token t, if it has one
for (i, j), and transition[i, j] otherwise. An edge score is never below the transition score.
"""

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int8_t, int32_t, int64_t

# Sums of probabilities below this are summed again as logarithms.
cdef double UNDERFLOW = 1e-280
# Products with a factor above this are taken in logarithms.
cdef double OVERFLOW = 1e100


cdef struct Edges:
    const int64_t *row             # (n_tokens,) row of a token, -1 for none
    const int64_t *indptr          # (n_rows + 1,)
    const int32_t *previous        # (n_entries,) label i
    const int32_t *current         # (n_entries,) label j
    const double *score            # (n_entries,)


cdef Edges edges_of(
    const int64_t[::1] row,
    const int64_t[::1] indptr,
    const int32_t[::1] previous,
    const int32_t[::1] current,
    const double[::1] score,
) except *:
    cdef Edges edges
    edges.row = &row[0] if row.shape[0] else NULL
    edges.indptr = &indptr[0]
    edges.previous = &previous[0] if previous.shape[0] else NULL
    edges.current = &current[0] if current.shape[0] else NULL
    edges.score = &score[0] if score.shape[0] else NULL
    return edges


cdef double maximum_sum(const double *x, const double *y, int64_t n) noexcept nogil:
    """max_i x[i] + y[i], in lanes that a compiler can keep in vector registers."""
    cdef:
        double lanes[8]
        double score, best = -INFINITY
        int64_t i, lane
    for lane in range(8):
        lanes[lane] = -INFINITY
    for i in range(0, n - 7, 8):
        for lane in range(8):
            score = x[i + lane] + y[i + lane]
            lanes[lane] = score if score > lanes[lane] else lanes[lane]
    for i in range(n - n % 8, n):
        score = x[i] + y[i]
        best = score if score > best else best
    for lane in range(8):
        best = lanes[lane] if lanes[lane] > best else best
    return best


cdef inline int64_t argmax_sum(const double *x, const double *y, int64_t n) noexcept nogil:
    """The first i with the largest x[i] + y[i]."""
    cdef:
        int64_t i
        double best = maximum_sum(x, y, n)
    for i in range(n):
        if x[i] + y[i] == best:
            return i
    return 0


cdef inline double maximum(const double *x, int64_t n) noexcept nogil:
    cdef:
        int64_t i
        double best = -INFINITY
    for i in range(n):
        best = x[i] if x[i] > best else best
    return best


# ---------------------------------------------------------------------------------------------
# Viterbi: delta_t(j) = state[t, j] + max_i delta_{t-1}(i) + transition_t(i, j)


cdef void dominance_row(
    const double[:, ::1] transition,
    int64_t best,
    double *negative,              # (n_labels,) work space
    double *row,                   # (n_labels,) OUT
) noexcept nogil:
    """row[i] = max_j transition[i, j] - transition[best, j]: the most that i can gain on best."""
    cdef int64_t n = transition.shape[0], i, j
    for j in range(n):
        negative[j] = -transition[best, j]
    for i in range(n):
        row[i] = maximum_sum(&transition[i, 0], negative, n)


cdef void viterbi_step(
    const double[:, ::1] transition,
    const double *gain,            # (n_labels,) dominance_row of the best previous label IN
    int64_t best,
    const double *delta,           # (n_labels,) of the previous token IN
    double *out,                   # (n_labels,) OUT
) noexcept nogil:
    """The best way into each label; labels that cannot win against the best are left out."""
    cdef:
        int64_t n = transition.shape[0], i, j
        double score, limit = delta[best]
        const double *row
    for j in range(n):
        out[j] = -INFINITY
    for i in range(n):
        if i != best and not delta[i] + gain[i] >= limit:
            continue
        row = &transition[i, 0]
        for j in range(n):
            score = delta[i] + row[j]
            out[j] = score if score > out[j] else out[j]


cdef inline int64_t first_entry(
    Edges edges, int64_t start, int64_t stop, int64_t label
) noexcept nogil:
    """The first of the entries from start to stop whose current label is not below ``label``."""
    cdef int64_t middle
    while start < stop:
        middle = (start + stop) // 2
        if edges.current[middle] < label:
            start = middle + 1
        else:
            stop = middle
    return start


cdef void raise_by_edges(
    Edges edges,
    int64_t t,
    const double *delta,           # (n_labels,) of token t - 1 IN
    const double *state,           # (n_labels,) of token t IN
    int64_t n,
    double *into,                  # (n_labels,) INOUT
) noexcept nogil:
    """The best way into each label over the edges; impossible labels are passed over."""
    cdef:
        int64_t k, j, stop, row = edges.row[t]
        double score
    if row < 0:
        return
    k = edges.indptr[row]
    stop = edges.indptr[row + 1]
    while k < stop:
        j = edges.current[k]
        if state[j] == -INFINITY:
            while j < n and state[j] == -INFINITY:
                j += 1
            k = first_entry(edges, k, stop, j)
            continue
        score = delta[edges.previous[k]] + edges.score[k]
        into[j] = score if score > into[j] else into[j]
        k += 1


cdef int64_t previous_label(
    const double[:, ::1] transposed,
    Edges edges,
    int64_t t,
    const double *delta,           # (n_labels,) of token t - 1 IN
    int64_t label,
) noexcept nogil:
    """The label of token t - 1 on the best path into ``label`` at t; the lowest of equals."""
    cdef:
        int64_t n = transposed.shape[0], i, k, stop, row = edges.row[t]
        int64_t best = argmax_sum(delta, &transposed[label, 0], n)
        double score, best_score = delta[best] + transposed[label, best]
    if row >= 0:
        stop = edges.indptr[row + 1]
        for k in range(first_entry(edges, edges.indptr[row], stop, label), stop):
            if edges.current[k] != label:
                break
            i = edges.previous[k]
            score = delta[i] + edges.score[k]
            if score > best_score or (score == best_score and i < best):
                best_score = score
                best = i
    return best


def viterbi(
    const int64_t[::1] offsets,
    double[:, ::1] state,          # (n_tokens, n_labels) IN, delta OUT
    const double[:, ::1] transition,
    const double[::1] begin,
    const double[::1] end,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    int32_t[::1] labels,           # (n_tokens,) OUT
    double[::1] values,            # (n_sequences,) OUT, -inf where no path is possible
):
    """The best path of each sequence and its score."""
    cdef:
        int64_t n = transition.shape[0], s, t, j, first, last, best
        double[:, ::1] transposed = np.ascontiguousarray(transition.T)
        double[:, ::1] gains = np.empty((n, n))
        int8_t[::1] has_gains = np.zeros(n, dtype=np.int8)
        double[::1] into = np.empty(n), no_scores = np.zeros(n)
        const double *zeros = &no_scores[0]
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
    with nogil:
        for s in range(offsets.shape[0] - 1):
            first = offsets[s]
            last = offsets[s + 1] - 1
            values[s] = 0.0
            if last < first:
                continue
            for j in range(n):
                state[first, j] += begin[j]
            for t in range(first + 1, last + 1):
                best = argmax_sum(&state[t - 1, 0], zeros, n)
                if not has_gains[best]:
                    dominance_row(transition, best, &into[0], &gains[best, 0])
                    has_gains[best] = 1
                viterbi_step(transition, &gains[best, 0], best, &state[t - 1, 0], &into[0])
                raise_by_edges(edges, t, &state[t - 1, 0], &state[t, 0], n, &into[0])
                for j in range(n):
                    state[t, j] += into[j]
            for j in range(n):
                state[last, j] += end[j]
            labels[last] = <int32_t>argmax_sum(&state[last, 0], zeros, n)
            values[s] = state[last, labels[last]]
            for t in range(last, first, -1):
                labels[t - 1] = <int32_t>previous_label(
                    transposed, edges, t, &state[t - 1, 0], labels[t]
                )


# ---------------------------------------------------------------------------------------------
# k best paths: the same recursion with the k best ways into each label


cdef void insert_best(
    double score, int64_t origin, double *scores, int64_t *origins, int64_t k
) noexcept nogil:
    """Insert into a decreasing list of k; what came first stays first among equals."""
    cdef int64_t r = k - 1
    if not score > scores[r]:
        return
    while r > 0 and score > scores[r - 1]:
        scores[r] = scores[r - 1]
        origins[r] = origins[r - 1]
        r -= 1
    scores[r] = score
    origins[r] = origin


def k_best(
    const double[:, ::1] state,    # (n_tokens, n_labels) of one sequence IN
    const double[:, ::1] transition,
    const double[::1] begin,
    const double[::1] end,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    int32_t[:, ::1] labels,        # (k, n_tokens) OUT
    double[::1] values,            # (k,) decreasing OUT, -inf where there are fewer paths
):
    """The k best paths of one sequence of at least one token."""
    cdef:
        int64_t n = transition.shape[0], length = state.shape[0], k = values.shape[0]
        int64_t t, i, j, r, at, row
        double[:, :, ::1] delta = np.full((length, n, k), -np.inf)
        int64_t[:, :, ::1] origin = np.zeros((length, n, k), dtype=np.int64)
        int64_t[::1] last = np.zeros(k, dtype=np.int64)
        double[:, ::1] into = np.empty((n, n))
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
    with nogil:
        for j in range(n):
            delta[0, j, 0] = begin[j] + state[0, j]
        for t in range(1, length):
            into[:, :] = transition
            row = edges.row[t]
            if row >= 0:
                for at in range(edges.indptr[row], edges.indptr[row + 1]):
                    into[edges.previous[at], edges.current[at]] = edges.score[at]
            for j in range(n):
                for i in range(n):
                    for r in range(k):
                        insert_best(
                            delta[t - 1, i, r] + into[i, j] + state[t, j],
                            i * k + r, &delta[t, j, 0], &origin[t, j, 0], k,
                        )
        values[:] = -INFINITY
        for j in range(n):
            for r in range(k):
                insert_best(
                    delta[length - 1, j, r] + end[j], j * k + r, &values[0], &last[0], k
                )
        for r in range(k):
            at = last[r]
            for t in range(length - 1, -1, -1):
                labels[r, t] = <int32_t>(at // k)
                at = origin[t, at // k, at % k]


# ---------------------------------------------------------------------------------------------
# Forward and backward
#
#   alpha_t(j) = state[t, j] + log sum_i exp(alpha_{t-1}(i) + transition_t(i, j))
#   beta_t(i)  = log sum_j exp(transition_{t+1}(i, j) + state[t+1, j] + beta_{t+1}(j))
#
# The sums are products with exp(transition), which is taken once; only one exponential and one
# logarithm per token and label remain. A sum that underflows is taken again in logarithms.


cdef struct Step:
    # One product: previous -> current (forward), or current -> previous (backward)
    const double *score            # (n, n) transition scores, row = where the product comes from
    const double *potential        # (n, n) exp(score - top)
    double top                     # maximum of the finite transition scores
    const int32_t *source          # (n_entries,) of the edges
    const int32_t *target


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
        double shift = maximum(x, n), top = step.top, lowered, raised
        const double *potential
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
    for i in range(n):
        scaled[i] = exp(x[i] - shift)
        if scaled[i] > 0.0 and lowered > 0.0:
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
    double[:, ::1] expected,       # (n_labels, n_labels) expected transitions INOUT, or (0, 0)
    double[::1] raised,            # (1,) expected edge minus transition scores INOUT
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
        Step forward = Step(
            &transition[0, 0], &forward_potential[0, 0], top, edges.previous, edges.current
        )
        Step backward = Step(
            &transposed[0, 0], &backward_potential[0, 0], top, edges.current, edges.previous
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
                if expected.shape[0]:
                    add_expected(
                        edges, t, transition, &alpha[t - first - 1, 0], &ahead[0], total,
                        &x[0], &y[0], forward, expected, &raised[0],
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
    double *x,                     # (n,) work space
    double *y,                     # (n,) work space
    Step forward,
    double[:, ::1] expected,
    double *raised,
) noexcept nogil:
    """expected[i, j] += p(y_{t-1} = i, y_t = j)"""
    cdef:
        int64_t n = transition.shape[0], i, j, k, row = edges.row[t]
        double shift = maximum(alpha, n), shift_ahead = maximum(ahead, n), scale, plain, above
    scale = exp(shift + shift_ahead + forward.top - log_z)
    for i in range(n):
        x[i] = exp(alpha[i] - shift) * scale
        y[i] = exp(ahead[i] - shift_ahead)
    for i in range(n):
        if scale > OVERFLOW:
            for j in range(n):
                expected[i, j] += exp(alpha[i] + transition[i, j] + ahead[j] - log_z)
        elif x[i] > 0.0:
            for j in range(n):
                expected[i, j] += x[i] * forward.potential[i * n + j] * y[j]
    if row < 0:
        return
    for k in range(edges.indptr[row], edges.indptr[row + 1]):
        i = edges.previous[k]
        j = edges.current[k]
        above = exp(alpha[i] + edges.score[k] + ahead[j] - log_z)
        plain = exp(alpha[i] + transition[i, j] + ahead[j] - log_z)
        expected[i, j] += above - plain
        raised[0] += above * (edges.score[k] - transition[i, j])


def _potentials(transition, double top):
    if top == -np.inf:
        return np.zeros_like(transition)
    return np.exp(np.asarray(transition) - top)
