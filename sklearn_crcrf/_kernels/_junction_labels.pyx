"""Best labellings of graphs, and samples of labellings; see _junction_trees.pxd."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport maximum
from sklearn_crcrf._kernels._junction_trees cimport (
    MESSAGES, Factors, Layer, JunctionTrees, at_labels, factors_in, layer_of, next_row, probabilities,
    read_row, set_factors, junction_trees_of,
)
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn


def maximise_over_junction_trees(
    plan,
    int64_t[:, ::1] work_space,
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) with begin and end IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages OUT
    double[::1] value,             # (n_units,) OUT, -inf where no labelling is possible
    int32_t[::1] y,                # (n_tokens,) OUT
):
    """The best labellings: m_k(s) = max_j x_k(s, j). Of ties, the lowest label."""
    cdef:
        int64_t n = state.shape[1], u, k, r, j
        JunctionTrees trees = junction_trees_of(n, plan, table, message)
        Factors factors = factors_in(work_space)
        Layer layer = layer_of(state, tables, m)
        double[::1] work = np.empty(n)
        double *x = &work[0]
        double *out
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            value[u] = 0.0
            for k in range(offsets[u], offsets[u + 1]):
                set_factors(&trees, k, &factors)
                out = layer.part[MESSAGES] + trees.message[k]
                for r in range(factors.n_rows):
                    read_row(&trees, &factors, &layer, x)
                    out[r] = maximum(x, n)
                    next_row(&trees, &factors)
                if factors.n_axes == 0:
                    value[u] += out[0]
            for k in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                at_labels(&trees, k, &y[0], &factors)
                read_row(&trees, &factors, &layer, x)
                y[trees.token[k]] = 0
                for j in range(1, n):
                    if x[j] > x[y[trees.token[k]]]:
                        y[trees.token[k]] = <int32_t>j
        take_turn()


def sample_from_junction_trees(
    plan,
    int64_t[:, ::1] work_space,
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages IN
    const double[:, ::1] uniform,  # (n_samples, n_tokens) random numbers from 0 to 1 IN
    int32_t[:, ::1] y,             # (n_samples, n_tokens) OUT
):
    """Draw labellings: the label of the last step first, then the others given it."""
    cdef:
        int64_t n = state.shape[1], i, k, j, row
        JunctionTrees trees = junction_trees_of(n, plan, table, message)
        Factors factors = factors_in(work_space)
        Layer value = layer_of(state, tables, m)
        double[::1] work = np.empty(n)
        double left
        double *x = &work[0]
    with nogil:
        give_turn()
        for i in range(y.shape[0]):
            for k in range(offsets[offsets.shape[0] - 1] - 1, -1, -1):
                row = at_labels(&trees, k, &y[i, 0], &factors)
                read_row(&trees, &factors, &value, x)
                probabilities(x, n, (value.part[MESSAGES] + trees.message[k])[row])
                left = uniform[i, trees.token[k]]
                for j in range(n):
                    if x[j] > 0.0:
                        # By rounding, some of the unit interval may be left after the last label.
                        y[i, trees.token[k]] = <int32_t>j
                        left -= x[j]
                        if left < 0.0:
                            break
        take_turn()
