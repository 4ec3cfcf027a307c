# The best paths of a chain; see _edges.pxd for the scores.
#
#     delta_t(j) = state[t, j] + max_i delta_{t-1}(i) + transition_t(i, j)


import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport (
    Edges, argmax_sum, dominance_row, edges_of, first_entry
)


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
                    dominance_row(&transition[0, 0], n, best, &into[0], &gains[best, 0])
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
