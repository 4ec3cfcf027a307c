# The best paths of a chain; see _edges.pxd for the scores.
#
#     delta_t(j) = state[t, j] + max_i delta_{t-1}(i) + transition_t(i, j)
#
# A label i cannot win where it is too far below the best label b of its token:
#
#     delta_{t-1}(i) + max_j (transition(i, j) - transition(b, j)) <= delta_{t-1}(b)

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from sklearn_crcrf._kernels._edges cimport Edges, edges_of, first_entry
from sklearn_crcrf._kernels.vectors cimport padded_d, real

cdef extern from "maxima.h" nogil:
    int64_t first_equal(const double *x, const double *y, int64_t width, double top)
    int64_t first_largest(const double *x, const double *y, int64_t width)
    void find_rivals(
        const double *x, const double *gain, int64_t best, int64_t width, uint64_t *found
    )
    double add_maxima(
        int64_t best, const uint64_t *found, const double *x, const double *matrix,
        int64_t width, const double *least, double *out
    )


cdef struct Step:
    # What each step reads, in rows padded with -inf, and its work space
    int64_t n                      # labels
    int64_t width                  # of a row, padded
    const double *transition       # (n, width)
    const double *transposed       # (n, width)
    Edges edges
    const double *nothing          # (width,) -inf
    double *gains                  # (n, width) gain_row of each label, made when it is needed
    int8_t *has_gains              # (n,)
    double *into                   # (width,) work space
    uint64_t *found                # (ceil(n / 64),) work space
    const uint64_t *all            # (ceil(n / 64),) a bit for each label


def viterbi(
    const int64_t[::1] offsets,
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    transition,
    const double[::1] begin,
    const double[::1] end,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_score,
    double[:, ::1] prefixes,       # (n_tokens, n_labels) delta OUT, or None
    int32_t[::1] labels,           # (n_tokens,) OUT
    double[::1] values,            # (n_sequences,) OUT, -inf where no path is possible
):
    """The best path of each sequence and its score."""
    cdef:
        int64_t n = state.shape[1], width = padded_d(n), s, j, first, length
        double[:, ::1] delta = rows_of(np.max(np.diff(offsets), initial=1), width)
        double[:, ::1] matrix = padded_matrix(transition)
        double[:, ::1] transposed = padded_matrix(np.transpose(transition))
        double[:, ::1] gains = rows_of(n, width)
        double[:, ::1] rows = rows_of(2, width)
        int8_t[::1] has_gains = np.zeros(n, dtype=np.int8)
        uint64_t[:, ::1] found = np.zeros((2, n // 64 + 1), dtype=np.uint64)
        Step step
    step.n = n
    step.width = width
    step.transition = &matrix[0, 0]
    step.transposed = &transposed[0, 0]
    step.edges = edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_score)
    step.gains = &gains[0, 0]
    step.has_gains = &has_gains[0]
    step.nothing = &rows[0, 0]
    step.into = &rows[1, 0]
    for j in range(n):
        found[0, j // 64] |= (<uint64_t>1) << (j % 64)
    step.all = &found[0, 0]
    step.found = &found[1, 0]
    with nogil:
        for s in range(offsets.shape[0] - 1):
            first = offsets[s]
            length = offsets[s + 1] - first
            values[s] = 0.0
            if length == 0:
                continue
            fill(state, first, length, begin, end, delta)
            forward(&step, first, length, &delta[0, 0])
            backward(&step, first, length, &delta[0, 0], &labels[first])
            values[s] = delta[length - 1, labels[first + length - 1]]
            if prefixes is not None:
                prefixes[first:first + length] = delta[:length, :n]


def rows_of(int64_t n_rows, int64_t width):
    """Rows of -inf, from where a vector does not cross a line of the cache."""
    memory = np.full(n_rows * width + 8, -np.inf)
    start = -memory.ctypes.data % 64 // 8
    return memory[start : start + n_rows * width].reshape(n_rows, width)


def padded_matrix(matrix):
    """The same rows, padded with -inf."""
    rows = rows_of(len(matrix), padded_d(len(matrix)))
    rows[:, : len(matrix)] = matrix
    return rows


cdef void fill(
    const real[:, ::1] state,
    int64_t first,
    int64_t length,
    const double[::1] begin,
    const double[::1] end,
    double[:, ::1] delta,          # (length, width) padded already OUT
) noexcept nogil:
    """The scores of the tokens of a sequence, with those of its ends."""
    cdef:
        int64_t t, j, n = state.shape[1]
        const real *score
        double *row
    for t in range(length):
        score = &state[first + t, 0]
        row = &delta[t, 0]
        for j in range(n):
            row[j] = score[j]
    for j in range(n):
        delta[0, j] += begin[j]
        delta[length - 1, j] += end[j]


cdef void forward(
    const Step *step, int64_t first, int64_t length, double *delta
) noexcept nogil:
    """Turn the scores of the tokens into those of the best ways to them."""
    cdef:
        int64_t t, best
        double top
        const double *into
    best = first_largest(delta, NULL, step.width)
    for t in range(first + 1, first + length):
        find_rivals(delta, gain_row(step, best), best, step.width, step.found)
        into = step.nothing
        if step.edges.row[t] >= 0:
            best_edges(step, t, delta, delta + step.width)
            into = step.into
        top = add_maxima(
            best, step.found, delta, step.transition, step.width, into, delta + step.width
        )
        delta += step.width
        best = first_equal(delta, NULL, step.width, top)


cdef const double *gain_row(const Step *step, int64_t best) noexcept nogil:
    """max_j transition[i, j] - transition[best, j]: the most that i can gain on best."""
    cdef:
        int64_t j
        double *row = step.gains + best * step.width
    if not step.has_gains[best]:
        for j in range(step.n):
            step.into[j] = -step.transition[best * step.width + j]
        for j in range(step.width):
            row[j] = 0
        add_maxima(0, step.all, step.into, step.transposed, step.width, step.nothing, row)
        step.has_gains[best] = 1
    return row


cdef void best_edges(
    const Step *step,
    int64_t t,
    const double *delta,           # (width,) of token t - 1 IN
    const double *state,           # (width,) of token t IN
) noexcept nogil:
    """The best way into each label over the edges; impossible labels are passed over."""
    cdef:
        int64_t k, j, row = step.edges.row[t], stop = step.edges.indptr[row + 1]
        double score
        double *into = step.into
    for j in range(step.width):
        into[j] = -INFINITY
    k = step.edges.indptr[row]
    while k < stop:
        j = step.edges.current[k]
        if state[j] == -INFINITY:
            while j < step.n and state[j] == -INFINITY:
                j += 1
            k = first_entry(step.edges, k, stop, j)
            continue
        score = delta[step.edges.previous[k]] + step.edges.score[k]
        into[j] = score if score > into[j] else into[j]
        k += 1


cdef void backward(
    const Step *step, int64_t first, int64_t length, const double *delta, int32_t *labels
) noexcept nogil:
    """The labels of the best path; of equals the lowest."""
    cdef int64_t t
    delta += (length - 1) * step.width
    labels[length - 1] = <int32_t>first_largest(delta, NULL, step.width)
    for t in range(length - 1, 0, -1):
        delta -= step.width
        labels[t - 1] = <int32_t>previous_label(step, first + t, delta, labels[t])


cdef int64_t previous_label(
    const Step *step,
    int64_t t,
    const double *delta,           # (width,) of token t - 1 IN
    int64_t label,
) noexcept nogil:
    """The label of token t - 1 on the best path into ``label`` at t; the lowest of equals."""
    cdef:
        const double *into = step.transposed + label * step.width
        int64_t best = first_largest(delta, into, step.width)
        int64_t i, k, stop, row = step.edges.row[t]
        double score, best_score
    if row >= 0:
        best_score = delta[best] + into[best]
        stop = step.edges.indptr[row + 1]
        for k in range(first_entry(step.edges, step.edges.indptr[row], stop, label), stop):
            if step.edges.current[k] != label:
                break
            i = step.edges.previous[k]
            score = delta[i] + step.edges.score[k]
            if score > best_score or (score == best_score and i < best):
                best_score = score
                best = i
    return best
