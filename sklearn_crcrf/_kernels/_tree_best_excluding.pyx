"""The best labelling of trees but a given one, y; see _edges.pxd for the scores, in which the parent
is the token before, and _tree_order.pyx for the rows.

For a node c whose parent has its label in y, and e_c(j) the score of the transition from that label,

    loss_c  = max_j (e_c(j) + best_c(j)) - max(max_{j != y_c} e_c(j) + best_c(j), e_c(y_c) + below_c)
    below_v = best_v(y_v) - min_c loss_c                                (c: the children of v)

with best of _tree_maxima.pxi: loss_c is what it costs that the subtree of c differs from y, and
below_v the best score of the subtree of v where v has its label in y and a node below it has not.
The roots of a unit are like the children of one more node.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

from sklearn_crcrf._kernels._edges cimport Edges, edges_of, fill_transitions, maximum
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn


cdef struct Rows:
    # What is given for each row and token
    int64_t n                      # labels
    int64_t n_rows
    const int64_t *token
    const int64_t *unit
    const int64_t *parent_row
    const int64_t *first_child
    const int64_t *n_children
    const int32_t *y
    const double *transition       # (n, n)
    Edges edges
    const double *best             # (n_tokens, n)


def best_other_labelling(
    const int64_t[::1] token,
    const int64_t[::1] unit,
    const int64_t[::1] parent_row,
    const int64_t[::1] first_child,
    const int64_t[::1] n_children,
    const int32_t[::1] y,          # (n_tokens,) IN
    const double[:, ::1] transition,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    const double[:, ::1] best,     # (n_tokens, n_labels) of max_trees IN
    int32_t[::1] labels,           # (n_tokens,) OUT, y where no other labelling is possible
    uint8_t[::1] is_possible,      # (n_units,) whether another labelling is possible OUT
):
    cdef:
        int64_t n_rows = token.shape[0], r, p, stop
        double[::1] into = np.empty(transition.shape[0]), loss = np.empty(n_rows)
        double[::1] below = np.empty(n_rows)
        uint8_t[::1] differs = np.zeros(n_rows, dtype=np.uint8)
        Rows rows
    rows.n, rows.n_rows = transition.shape[0], n_rows
    # Without tokens these are addresses that are never read.
    rows.token, rows.unit, rows.parent_row = &token[0], &unit[0], &parent_row[0]
    rows.first_child, rows.n_children, rows.y = &first_child[0], &n_children[0], &y[0]
    rows.transition, rows.best = &transition[0, 0], &best[0, 0]
    rows.edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
    with nogil:
        give_turn()
        is_possible[:] = False
        for r in range(n_rows - 1, -1, -1):
            find_loss(&rows, r, &into[0], &loss[0], &below[0])
        for r in range(n_rows):
            if parent_row[r] < 0 and (r == 0 or unit[r - 1] != unit[r]):
                stop = r
                is_possible[unit[r]] = True
                while stop < n_rows and unit[stop] == unit[r] and parent_row[stop] < 0:
                    is_possible[unit[r]] &= maximum(&best[token[stop], 0], rows.n) > -INFINITY
                    stop += 1
                is_possible[unit[r]] &= mark_least(&loss[0], r, stop, &differs[0])
            if not is_possible[unit[r]]:
                labels[token[r]] = y[token[r]]
                continue
            p = parent_row[r]
            fill_row(&rows, r, labels[token[p]] if p >= 0 else -1, &into[0])
            if differs[r]:
                into[y[token[r]]] = below[r]
            labels[token[r]] = first_largest(&into[0], rows.n)
            if differs[r] and labels[token[r]] == y[token[r]]:
                mark_least(&loss[0], first_child[r], first_child[r] + n_children[r], &differs[0])
        take_turn()


cdef void find_loss(
    const Rows *rows, int64_t r, double *into, double *loss, double *below
) noexcept nogil:
    """Fill loss and below of a row, given the loss of its children."""
    cdef:
        int64_t k, first = rows.first_child[r], p = rows.parent_row[r]
        int32_t label = rows.y[rows.token[r]]
        double least = INFINITY, top
    for k in range(first, first + rows.n_children[r]):
        least = loss[k] if loss[k] < least else least
    fill_row(rows, r, rows.y[rows.token[p]] if p >= 0 else -1, into)
    top = maximum(into, rows.n)
    # The score of the transition is in both below and loss.
    below[r] = into[label] - least if least < INFINITY else -INFINITY
    into[label] = below[r]
    loss[r] = maximum(into, rows.n)
    loss[r] = top - loss[r] if loss[r] > -INFINITY else INFINITY


cdef bint mark_least(
    const double *loss, int64_t first, int64_t stop, uint8_t *differs
) noexcept nogil:
    """Mark the sibling that costs the least if it differs; whether one can differ."""
    cdef int64_t k, least = first
    for k in range(first, stop):
        if loss[k] < loss[least]:
            least = k
    if first == stop or loss[least] == INFINITY:
        return False
    differs[least] = True
    return True


cdef void fill_row(const Rows *rows, int64_t r, int64_t previous, double *out) noexcept nogil:
    """The best scores of the labels of a row, given the label of its parent; -1 for a root."""
    cdef int64_t j, t = rows.token[r]
    if previous >= 0:
        fill_transitions(rows.edges, rows.transition, rows.n, t, previous, out)
    else:
        for j in range(rows.n):
            out[j] = 0.0
    for j in range(rows.n):
        out[j] += rows.best[t * rows.n + j]


cdef int32_t first_largest(const double *x, int64_t n) noexcept nogil:
    cdef:
        int64_t j
        int32_t largest = 0
    for j in range(n):
        if x[j] > x[largest]:
            largest = <int32_t>j
    return largest
