"""Sums over all labellings of graphs, and the expected uses of scores; see _junction_trees.pxd."""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t

from sklearn_crcrf._kernels._junction_trees cimport (
    MESSAGES, Factors, Layer, JunctionTrees, add_to_row, factors_in, layer_of, next_row,
    read_row, set_factors, junction_trees_of,
)
from sklearn_crcrf._kernels._log_sums cimport log_of_sum
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn


def sum_over_junction_trees(
    plan,                          # arrays of JunctionTrees, from ``token`` to ``is_previous``
    int64_t[:, ::1] work_space,    # for the factors of a step
    const int64_t[::1] offsets,    # (n_units + 1,) steps of each unit IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) with begin and end IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages OUT
    double[::1] log_z,             # (n_units,) OUT, -inf where no labelling is possible
):
    """The messages of all steps, and the log-partitions."""
    cdef:
        int64_t n = state.shape[1], u, k, r
        JunctionTrees trees = junction_trees_of(n, plan, table, message)
        Factors factors = factors_in(work_space)
        Layer value = layer_of(state, tables, m)
        double[::1] work = np.empty(n)
        double *x = &work[0]
        double *out
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            log_z[u] = 0.0
            for k in range(offsets[u], offsets[u + 1]):
                set_factors(&trees, k, &factors)
                out = value.part[MESSAGES] + trees.message[k]
                for r in range(factors.n_rows):
                    read_row(&trees, &factors, &value, x)
                    out[r] = log_of_sum(x, n)
                    next_row(&trees, &factors)
                if factors.n_axes == 0:
                    log_z[u] += out[0]
        take_turn()


def add_expected_uses(
    plan,
    int64_t[:, ::1] work_space,
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages IN
    const double[::1] log_z,       # (n_units,) IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] of_state,       # (n_tokens, n_labels) INOUT
    double[:, :, ::1] of_tables,   # (n_tables, n_labels, n_labels) INOUT
    double[::1] p,                 # (n_messages,) zeros; p(s) times the weight OUT
    double[::1] entropy,           # (n_units,) times the weight OUT
):
    """Add the expected number of uses of each score, times the weight of each unit."""
    cdef:
        int64_t n = state.shape[1], u, k, r, j
        JunctionTrees trees = junction_trees_of(n, plan, table, message)
        Factors factors = factors_in(work_space)
        Layer value = layer_of(state, tables, m), gradient = layer_of(of_state, of_tables, p)
        double[::1] work = np.empty((2 * n))
        double *x = &work[0]
        double *q = x + n
        double *below
        const double *total
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            entropy[u] = 0.0
            if log_z[u] == -INFINITY or weight[u] == 0.0:
                continue
            for k in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                set_factors(&trees, k, &factors)
                below = gradient.part[MESSAGES] + trees.message[k]
                total = value.part[MESSAGES] + trees.message[k]
                if factors.n_axes == 0:
                    below[0] = weight[u]
                for r in range(factors.n_rows):
                    if below[r] != 0.0:
                        read_row(&trees, &factors, &value, x)
                        for j in range(n):
                            q[j] = below[r] * exp(x[j] - total[r])
                            if q[j] != 0.0:
                                entropy[u] += q[j] * (total[r] - x[j])
                        add_to_row(&trees, &factors, &gradient, q)
                    next_row(&trees, &factors)
        take_turn()
