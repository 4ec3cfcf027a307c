"""Messages of the sum over all labellings of trees; see _edges.pxd for the scores, in which the
parent is the token before, and _tree_order.pyx for the rows.

    up_v(j) = state[v, j] + sum_c log sum_j' exp(transition_c(j, j') + up_c(j')) - z_v

where c are the children of v, state scores include begin and end scores, and z_v is such that
exp(up_v) sums to one: these are the probabilities of labels, given the scores of the subtree of v.
log Z is the sum of z_v. From the roots down, with the probabilities of _conditionals.pxd,

    p(y_v = j)          = exp(up_v(j))                       (v: a root)
    p(y_p = i, y_c = j) = p(y_p = i) p(y_c = j | y_p = i)    (p: the parent of c)

(Pearl 1988).
"""

import numpy as np

from libc.math cimport INFINITY, exp, isnan
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._conditionals cimport Conditionals, add_pairs, conditionals_of
from sklearn_crcrf._kernels._edges cimport Edges, edges_of
from sklearn_crcrf._kernels._log_products cimport Product, log_product, normalise, product_of
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn


def upward_messages(
    const int64_t[::1] token,      # (n_tokens,) the token of each row IN
    const int64_t[::1] unit,       # (n_tokens,) the unit of each row IN
    const int64_t[::1] parent,     # (n_tokens,) the parent of each token, -1 for a root IN
    const double[:, ::1] state,    # (n_tokens, n_labels) with begin and end IN
    const double[:, ::1] transposed,  # (n_labels, n_labels) transition.T IN
    const double[:, ::1] potential,  # (n_labels, n_labels) exp(transposed - top) IN
    double top,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    double[:, ::1] up,             # (n_tokens, n_labels) OUT
    double[::1] increment,         # (n_tokens,) z OUT
    double[::1] log_z,             # (n_units,) OUT, -inf where no labelling is possible
):
    cdef:
        int64_t n = transposed.shape[0], r, t, j, last = -1
        double[:, ::1] work = np.empty((3, n))
        double[::1] lost = np.zeros(len(log_z))
        Edges edges = edges_of(edge_row, edge_indptr, edge_current, edge_previous, edge_score)
        Product p = product_of(transposed, potential, top, edges)
    with nogil:
        give_turn()
        log_z[:] = 0.0
        up[:] = state
        for r in range(token.shape[0] - 1, -1, -1):
            t = token[r]
            increment[t] = normalise(&up[t, 0], n, &up[t, 0])
            add_compensated(increment[t], &log_z[unit[r]], &lost[unit[r]])
            if parent[t] >= 0:
                log_product(p, t, &up[t, 0], &work[0, 0], &work[1, 0])
                # The children of a node have consecutive rows.
                if parent[t] != last:
                    last = parent[t]
                    work[2, :] = 0.0
                for j in range(n):
                    add_compensated(work[1, j], &up[last, j], &work[2, j])
        take_turn()


cdef inline void add_compensated(double x, double *total, double *lost) noexcept nogil:
    """Add a number, and what the rounding of earlier additions has lost (Kahan 1965)."""
    cdef double before = total[0]
    x -= lost[0]
    total[0] = before + x
    lost[0] = (total[0] - before) - x
    if isnan(lost[0]):
        lost[0] = 0.0  # one of the numbers is infinite


def add_tree_counts(
    const int64_t[::1] token,
    const int64_t[::1] unit,
    const int64_t[::1] parent,
    const double[:, ::1] transition,
    const double[:, ::1] potential,  # (n_labels, n_labels) exp(transition - top) IN
    double top,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    const double[:, ::1] up,       # (n_tokens, n_labels) IN
    const double[::1] log_z,       # (n_units,) IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] marginals,      # (n_tokens, n_labels) times the weight OUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """The marginals of all tokens; add the expected counts of transitions and edges."""
    cdef:
        int64_t n = transition.shape[0], r, t, j
        double[:, ::1] work = np.empty((n + 2, n))
        double[::1] raised = np.empty_like(edge_score)
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
        Conditionals q = conditionals_of(transition, potential, top, edges, up, work, raised)
    with nogil:
        give_turn()
        for r in range(token.shape[0]):
            t = token[r]
            for j in range(n):
                marginals[t, j] = 0.0
            if log_z[unit[r]] == -INFINITY or weight[unit[r]] == 0.0:
                continue
            if parent[t] < 0:
                set_root(&up[t, 0], n, weight[unit[r]], &marginals[t, 0])
                continue
            add_pairs(
                q, t, &marginals[parent[t], 0], &marginals[t, 0], transitions, edge_counts
            )
        take_turn()


cdef void set_root(const double *up, int64_t n, double weight, double *out) noexcept nogil:
    """Probabilities of the labels of a root, times the weight."""
    cdef:
        int64_t j
        double total = 0.0
    for j in range(n):
        out[j] = exp(up[j])
        total += out[j]
    for j in range(n):
        # Rounding errors of huge scores can make the sum differ from one.
        out[j] *= weight / total
