# The best paths of a chain; see chain/edges.pxd for the scores.
#
#     delta_t(j) = state[t, j] + max_i delta_{t-1}(i) + transition_t(i, j)
#
# A label i cannot win where it is too far below the best label b of its token:
#
#     delta_{t-1}(i) + max_j (transition(i, j) - transition(b, j)) < delta_{t-1}(b)
#
# The other labels are the rivals of a token, b among them; the path is traced back along them.
#
# Rows of delta are padded with NaN, which is never a maximum and never equal to one, so that only
# labels of the chain can be found, for any scores.

import numpy as np

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from sklearn_crcrf._kernels.chain.edges cimport Edges
from sklearn_crcrf._kernels.maxima cimport (
    add_all_maxima, add_maxima, copy_scores, find_rivals, first_equal, first_largest,
    first_largest_found, is_finite, splat_d, vector_d
)
from sklearn_crcrf._kernels.searching cimport place_from
from sklearn_crcrf._kernels.vectors cimport padded_d, real

# Largest number of sequences that go in lock step.
cdef enum: TEAM = 8
# If the transition matrix fills at most this number of vectors, to try all transitions is faster
# than to find the labels that can win: in lock step, and for a sequence alone, which has to wait for
# each maximum.
cdef enum:
    FEW_VECTORS = 144
    FEW_ALONE = 48


cdef struct Team:
    # Sequences, the longest first: row t * ways + b is for token t of sequence b
    int64_t size
    int64_t ways
    int64_t[TEAM] first            # the first token of each sequence
    int64_t[TEAM] length
    bint[TEAM] is_proper           # whether no state score is NaN or inf


cdef struct Step:
    # The scores that each step reads, in rows padded with -inf, and work space
    int64_t n                      # labels
    int64_t width                  # of a row, padded
    const double *transition       # (n, width)
    const double *transposed       # (n, width)
    Edges edges
    const double *nothing          # (width,) -inf
    double *gains                  # (n, width) gain_row of each label, made when it is needed
    int8_t *has_gains              # (n,)
    double *into                   # (width,) work space
    int64_t n_vectors              # of the transition matrix
    int64_t n_words                # of a set of labels, with a bit for each label
    uint64_t *rivals               # (n_tokens, n_words) work space
    const uint64_t *all            # (n_words,) all labels


cdef inline int64_t n_active(const Team *team, int64_t t) noexcept nogil:
    """The number of sequences that have a token t."""
    cdef int64_t n = team.size
    while n > 0 and team.length[n - 1] <= t:
        n -= 1
    return n


cdef inline bint tries_all(const Step *step, const Team *team) noexcept nogil:
    """Whether all labels are tried; sequences that go in lock step have no edges."""
    return team.size > 1 or (step.n_vectors <= FEW_ALONE and step.edges.score == NULL)


cdef inline int64_t edges_into(const Step *step, int64_t t) noexcept nogil:
    """The row of the edges into a token, -1 for none."""
    return step.edges.row[t] if step.edges.score != NULL else -1


def rows_of(int64_t n_rows, int64_t width, padding=-np.inf):
    """Rows filled with ``padding``, aligned so that vectors do not cross cache lines."""
    memory = np.full(n_rows * width + 8, padding)
    start = -memory.ctypes.data % 64 // 8
    return memory[start : start + n_rows * width].reshape(n_rows, width)


cdef double[:, ::1] padded_rows(const double[:, ::1] matrix, bint transposed):
    """The rows of a square matrix, or its columns, padded with -inf."""
    cdef:
        int64_t n = matrix.shape[0], i, j
        double[:, ::1] rows = rows_of(n, padded_d(n))
    for i in range(n):
        for j in range(n):
            rows[i, j] = matrix[j, i] if transposed else matrix[i, j]
    return rows


cdef list make_work_space(Step *step, int64_t n, int64_t n_tokens):
    """Set all fields but the scores; return the memory that pointers point to."""
    cdef:
        int64_t width = padded_d(n), n_words = (width + 63) // 64, j
        double[:, ::1] rows = rows_of(n + 2, width)
        int8_t[::1] has_gains = np.zeros(n, dtype=np.int8)
        uint64_t[:, ::1] sets = np.zeros((1 + max(n_tokens, 1), n_words), dtype=np.uint64)
    step.n, step.width, step.n_words = n, width, n_words
    step.n_vectors = n * (width // padded_d(1))
    step.gains, step.nothing, step.into = &rows[0, 0], &rows[n, 0], &rows[n + 1, 0]
    step.has_gains = &has_gains[0]
    for j in range(n):
        sets[0, j // 64] |= (<uint64_t>1) << (j % 64)
    step.all, step.rivals = &sets[0, 0], &sets[1, 0]
    return [rows, has_gains, sets]


cdef void max_forward(const Step *step, const Team *team, double *delta) noexcept nogil:
    """Turn the scores of the tokens into the scores of their best prefixes."""
    cdef int64_t t, stride = team.ways * step.width
    if not tries_all(step, team):
        max_forward_alone(step, team.first[0], team.length[0], stride, delta)
        return
    for t in range(1, team.length[0]):
        add_all_maxima(
            delta, n_active(team, t), step.transition, step.n, step.width, delta + stride
        )
        delta += stride


cdef void max_forward_alone(
    const Step *step, int64_t first, int64_t length, int64_t stride, double *delta
) noexcept nogil:
    """The same for a single sequence, trying only labels that can win."""
    cdef:
        int64_t t, best
        vector_d top
        const double *into
        uint64_t *rivals = step.rivals
    if length == 0:
        return
    best = first_largest(delta, NULL, step.width)
    for t in range(first + 1, first + length):
        find_rivals(delta, gain_row(step, best), best, step.width, rivals)
        into = step.nothing
        if edges_into(step, t) >= 0:
            best_edges(step, t, delta, delta + stride)
            into = step.into
        delta += stride
        top = add_maxima(
            best, rivals, delta - stride, step.transition, step.width, into, delta
        )
        rivals += step.n_words
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
    const Step *step, int64_t t,
    const double *delta,           # (width,) of token t - 1 IN
    const double *state,           # (width,) of token t IN
) noexcept nogil:
    """The best edge into each label; impossible labels are skipped."""
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
            k = place_from(step.edges.current, k, stop, j)
            continue
        score = delta[step.edges.previous[k]] + step.edges.score[k]
        into[j] = score if score > into[j] else into[j]
        k += 1


cdef void trace_back(
    const Step *step, const Team *team, const double *delta, int32_t *labels
) noexcept nogil:
    """The labels of the best paths; at a tie the lowest label."""
    cdef:
        int64_t t, b, token
        const double *row
    for t in range(team.length[0] - 1, -1, -1):
        for b in range(n_active(team, t)):
            token = team.first[b] + t
            row = delta + (t * team.ways + b) * step.width
            if t + 1 == team.length[b]:
                labels[token] = <int32_t>first_largest(row, NULL, step.width)
            else:
                labels[token] = <int32_t>previous_label(
                    step, token + 1, row, rivals_of(step, team, t), labels[token + 1]
                )


cdef inline const uint64_t *rivals_of(const Step *step, const Team *team, int64_t t) noexcept nogil:
    """The rivals of a token, NULL where all labels were tried."""
    return NULL if tries_all(step, team) else step.rivals + t * step.n_words


cdef int64_t previous_label(
    const Step *step, int64_t t,
    const double *delta,           # (width,) of token t - 1 IN
    const uint64_t *rivals,        # (n_words,) of token t - 1, or NULL for all labels IN
    int64_t label,
) noexcept nogil:
    """The label of token t - 1 on the best path into ``label`` at t; at a tie the lowest."""
    cdef:
        const double *into = step.transposed + label * step.width
        int64_t best, i, k, stop, row = edges_into(step, t)
        double score, best_score
    if rivals == NULL:
        best = first_largest(delta, into, step.width)
    else:
        best = first_largest_found(delta, into, rivals, step.width)
    if row >= 0:
        best_score = delta[best] + into[best]
        stop = step.edges.indptr[row + 1]
        for k in range(place_from(step.edges.current, step.edges.indptr[row], stop, label), stop):
            if step.edges.current[k] != label:
                break
            i = step.edges.previous[k]
            score = delta[i] + step.edges.score[k]
            if score > best_score or (score == best_score and i < best):
                best_score = score
                best = i
    return best
