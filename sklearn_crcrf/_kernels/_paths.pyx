"""Scores of given paths of a chain, and how often the paths use each score; see _edges.pxd."""

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport Edges, edges_of, find_entry
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport prefetch, real

# Scores are fetched from memory this number of tokens ahead.
cdef enum: AHEAD = 24


def path_scores(
    const int64_t[::1] offsets,
    const int32_t[::1] y,          # (n_tokens,) IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    const double[:, ::1] transition,
    const double[::1] begin,
    const double[::1] end,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    double[::1] value,             # (n_sequences,) OUT
):
    """The score of the path y of each sequence."""
    cdef:
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
        int64_t s, t, k, first, stop
        double of_state, of_edges
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            first = offsets[s]
            stop = offsets[s + 1]
            # Two sums, so that neither has to wait for the other.
            of_state = of_edges = 0.0
            if stop > first:
                of_edges = begin[y[first]] + end[y[stop - 1]]
            for t in range(first, stop):
                if t + AHEAD < y.shape[0]:
                    prefetch(&state[t + AHEAD, y[t + AHEAD]])
                of_state += state[t, y[t]]
            for t in range(first + 1, stop):
                k = find_entry(edges, t, y[t - 1], y[t])
                of_edges += transition[y[t - 1], y[t]] if k < 0 else edges.score[k]
            value[s] = of_state + of_edges
        take_turn()


def path_counts(
    const int64_t[::1] offsets,
    const int32_t[::1] y,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    const double[::1] weight,      # (n_sequences,) IN
    real[:, ::1] state,            # (n_tokens, n_labels) INOUT
    double[:, ::1] transition,     # (n_labels, n_labels) INOUT
    double[::1] begin,             # (n_labels,) INOUT
    double[::1] end,               # (n_labels,) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the weight of each sequence to the derivatives by all scores that its path y uses."""
    cdef:
        Edges edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
        int64_t s, t, k, first, stop
        double w
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            first = offsets[s]
            stop = offsets[s + 1]
            w = weight[s]
            if stop > first:
                begin[y[first]] += w
                end[y[stop - 1]] += w
            for t in range(first, stop):
                if t + AHEAD < y.shape[0]:
                    prefetch(&state[t + AHEAD, y[t + AHEAD]])
                state[t, y[t]] += <real>w
                if t > first:
                    k = find_entry(edges, t, y[t - 1], y[t])
                    if k < 0:
                        transition[y[t - 1], y[t]] += w
                    else:
                        edge_counts[k] += w
        take_turn()
