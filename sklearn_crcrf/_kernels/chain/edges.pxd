"""Transition scores of single tokens, and maxima: what all recursions on a chain need.

A path y of a sequence of length n scores

    begin[y_0] + sum_t state[t, y_t] + sum_{t>0} transition_t(y_{t-1}, y_t) + end[y_{n-1}]

where transition_t(i, j) is the score of the edge (i, j) of token t, if there is one, and
transition[i, j] otherwise. Edges are the entries of the sparse rows of TokenTransitions. An edge
never scores less than transition[i, j].
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.searching cimport place_from


cdef struct Edges:
    const int64_t *row             # (n_tokens,) row of a token, -1 for none
    const int64_t *indptr          # (n_rows + 1,)
    const int32_t *previous        # (n_entries,) label i
    const int32_t *current         # (n_entries,) label j
    const double *score            # (n_entries,)


cdef inline Edges edges_of(
    const int64_t[::1] row, const int64_t[::1] indptr, const int32_t[::1] previous,
    const int32_t[::1] current, const double[::1] score,
) except *:
    cdef Edges edges
    edges.row = &row[0] if row.shape[0] else NULL
    edges.indptr = &indptr[0]
    edges.previous = &previous[0] if previous.shape[0] else NULL
    edges.current = &current[0] if current.shape[0] else NULL
    edges.score = &score[0] if score.shape[0] else NULL
    return edges


cdef inline Edges reversed_edges(Edges edges) noexcept:
    """The same edges, each from its current to its previous label."""
    edges.previous, edges.current = edges.current, edges.previous
    return edges


cdef inline int64_t find_entry(
    Edges edges, int64_t t, int32_t previous, int32_t current
) noexcept nogil:
    """The entry of the edges for a transition into token t, or -1."""
    cdef int64_t k, stop, row
    if edges.score == NULL:
        return -1
    row = edges.row[t]
    if row < 0:
        return -1
    stop = edges.indptr[row + 1]
    k = place_from(edges.current, edges.indptr[row], stop, current)
    while k < stop and edges.current[k] == current:
        if edges.previous[k] == previous:
            return k
        k += 1
    return -1


cdef inline bint is_table(Edges edges, int64_t row, int64_t n) noexcept nogil:
    """Whether each pair of labels has an entry; entries are in the order of the current label."""
    return edges.indptr[row + 1] - edges.indptr[row] == n * n


cdef inline void fill_transitions(
    Edges edges, const double *transition, int64_t n, int64_t t, int64_t previous, double *out
) noexcept nogil:
    """The scores of the transitions from a label into each label of token t."""
    cdef int64_t j, k, row = edges.row[t] if edges.score != NULL else -1
    for j in range(n):
        out[j] = transition[previous * n + j]
    if row >= 0:
        for k in range(edges.indptr[row], edges.indptr[row + 1]):
            if edges.previous[k] == previous:
                out[edges.current[k]] = edges.score[k]


cdef inline void count_transitions(
    Edges edges, double *row, int64_t n, int64_t t, int64_t previous, double *transitions,
    double *edge_counts,
) noexcept nogil:
    """Add to the counts of the transitions from a label into each label of token t.

    The row is of each label of the token; of those with an edge it becomes zero.
    """
    cdef int64_t j, k, of_token = edges.row[t] if edges.score != NULL else -1
    if of_token >= 0:
        for k in range(edges.indptr[of_token], edges.indptr[of_token + 1]):
            if edges.previous[k] == previous:
                edge_counts[k] += row[edges.current[k]]
                row[edges.current[k]] = 0.0
    for j in range(n):
        transitions[previous * n + j] += row[j]


cdef inline double maximum_sum(const double *x, const double *y, int64_t n) noexcept nogil:
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
