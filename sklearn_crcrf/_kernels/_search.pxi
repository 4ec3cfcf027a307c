# The scores of one sequence and its best path, under weights that change; see _learning.pyx.

from libc.math cimport isfinite
from libc.string cimport memcmp, memcpy, memset

from sklearn_crcrf._kernels.vectors cimport add_row, add_sum


cdef struct AttributePairs:
    # Attributes of pairs of neighbours, a CSR matrix with a row for the second token
    int64_t n_attributes
    const int64_t *indptr          # (n_tokens + 1,)
    const int32_t *indices
    const double *values
    double *weights                # (n_attributes, n * n), column = n * label + previous label
    const double *forbidden        # (n * n,) 0, or -inf for what is impossible
    double *scores                 # (longest, n * n) work space, if there is more than one


cdef class Search:
    """Work space for a sequence.

    offsets (n_sequences + 1,); begin (n,), end (n,) and forbidden (n, n), row = label, which are
    added to scores: 0 or -inf; indptr, indices and values of the attributes of pairs; and weights
    of pairs (n_attributes, n * n), which may change between searches.
    """

    cdef:
        Step step
        AttributePairs pairs
        const int64_t[::1] offsets, pair_indptr
        const double[::1] begin, end
        double[:, ::1] scores, delta   # (longest, width) of the tokens, with begin and end
        double[:, ::1] transition, transposed  # (n, width) of all tokens, -inf if there are none
        bint has_changed               # whether transitions have changed since the last search
        list kept                      # the memory that pointers point to

    def __init__(self, offsets, begin, end, forbidden, indptr, indices, values, weights):
        cdef int64_t n = len(begin), longest = np.max(np.diff(offsets), initial=1), i, j
        self.offsets, self.pair_indptr, self.begin, self.end = offsets, indptr, begin, end
        self.scores, self.delta = (rows_of(longest, padded_d(n), np.nan) for _ in range(2))
        self.transition, self.transposed = (rows_of(n, padded_d(n)) for _ in range(2))
        of_pairs = np.empty(longest * n * n if len(weights) > 1 else 1)
        self.kept = use_pairs(&self.pairs, indptr, indices, values, weights, forbidden, of_pairs)
        self.kept += make_step(self, of_pairs)
        for i in range(n):
            for j in range(n):
                read_transition(self, i, j)


cdef list use_pairs(
    AttributePairs *pairs,
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const double[::1] values,
    double[:, ::1] weights,
    const double[:, ::1] forbidden,
    double[::1] scores,
):
    pairs.n_attributes = weights.shape[0]
    pairs.indptr = &indptr[0]
    pairs.indices = &indices[0] if indices.shape[0] else NULL
    pairs.values = &values[0] if values.shape[0] else NULL
    pairs.weights = &weights[0, 0]
    pairs.forbidden = &forbidden[0, 0]
    pairs.scores = &scores[0]
    return [indptr, indices, values, weights, forbidden, scores]


cdef list make_step(Search search, const double[::1] of_pairs):
    """The scores of the recursion: common transitions, or edges for each token but the first."""
    cdef:
        Step *step = &search.step
        int64_t n = search.begin.shape[0]
        int64_t longest = search.scores.shape[0]
        int64_t n_rows = longest if search.pairs.n_attributes > 1 else 0
        int64_t[::1] row = np.arange(longest) if n_rows else np.full(longest, -1)
        int64_t[::1] starts = np.arange(n_rows + 1) * n * n
        int32_t[::1] previous = np.tile(np.arange(n, dtype=np.int32), n * n_rows)
        int32_t[::1] current = np.tile(np.repeat(np.arange(n, dtype=np.int32), n), n_rows)
    step.transition, step.transposed = &search.transition[0, 0], &search.transposed[0, 0]
    step.edges = edges_of(row, starts, previous, current, of_pairs)
    return [row, starts, previous, current, *make_work_space(step, n)]


cdef inline void read_transition(Search search, int64_t previous, int64_t label) noexcept nogil:
    """Compute the score of a transition whose weight has changed."""
    cdef int64_t place = label * search.step.n + previous
    if search.pairs.n_attributes == 1:
        search.transposed[label, previous] = (
            search.pairs.weights[place] + search.pairs.forbidden[place]
        )
        search.transition[previous, label] = search.transposed[label, previous]
        search.has_changed = True


cdef bint read_scores(
    Search search,
    int64_t s,
    const int64_t[::1] indptr,     # attributes of tokens, CSR (n_tokens, n_attributes) IN
    const int32_t[::1] indices,
    const real[::1] values,
    const real[:, ::1] state,      # (n_attributes, n) weights IN
    real[::1] row,                 # (n,) work space
) noexcept nogil:
    """Compute the scores of sequence s; return whether its state scores are finite."""
    cdef:
        int64_t first = search.offsets[s], length = search.offsets[s + 1] - first
        int64_t t, j, start, stop, end = indptr[first + length]
        double total = 0.0
    for t in range(length):
        row[:] = 0
        start, stop = indptr[first + t], indptr[first + t + 1]
        if start < stop:
            add_sum(
                &indices[start], &values[start], stop - start, end - stop, &state[0, 0],
                row.shape[0], &row[0], &row[0],
            )
        for j in range(row.shape[0]):
            search.scores[t, j] = row[j]
            # A score that is not finite makes the sum not finite.
            total += row[j]
    for j in range(row.shape[0]):
        search.scores[0, j] += search.begin[j]
        search.scores[length - 1, j] += search.end[j]
    if search.pairs.n_attributes > 1:
        read_pairs(&search.pairs, first, length, search.step.n * search.step.n)
    return isfinite(total)


cdef void read_pairs(
    AttributePairs *pairs, int64_t first, int64_t length, int64_t n_pairs
) noexcept nogil:
    """Compute the scores of the pairs of labels of each token and the token before it."""
    cdef:
        int64_t t, k
        double *scores
    for t in range(1, length):
        scores = pairs.scores + t * n_pairs
        memcpy(scores, pairs.forbidden, n_pairs * sizeof(double))
        for k in range(pairs.indptr[first + t], pairs.indptr[first + t + 1]):
            add_row[double](
                pairs.values[k], pairs.weights + pairs.indices[k] * n_pairs, n_pairs, scores
            )


cdef void find_path(
    Search search,
    int64_t s,
    const int32_t *gold,           # (length,) IN
    double cost,                   # added to each label that is not gold
    int32_t *path,                 # (length,) OUT
) noexcept nogil:
    """The path with the best score plus cost, of the sequence whose scores were read last."""
    cdef:
        int64_t t, length = search.offsets[s + 1] - search.offsets[s]
        Team team
    memcpy(&search.delta[0, 0], &search.scores[0, 0], length * search.step.width * sizeof(double))
    if cost != 0:
        for t in range(length):
            search.delta[t, gold[t]] -= cost
    if search.has_changed:
        memset(search.step.has_gains, 0, search.step.n)
        search.has_changed = False
    team.size = team.ways = 1
    team.first[0] = 0
    team.length[0] = length
    max_forward(&search.step, &team, &search.delta[0, 0])
    trace_back(&search.step, &team, &search.delta[0, 0], path)


cdef double score_path(Search search, int64_t s, const int32_t *path) noexcept nogil:
    """The score of a path of the sequence whose scores were read last."""
    cdef:
        int64_t n = search.step.n, t, length = search.offsets[s + 1] - search.offsets[s]
        double score = search.scores[0, path[0]]
    for t in range(1, length):
        score += search.scores[t, path[t]]
        if search.pairs.n_attributes == 1:
            score += search.transposed[path[t], path[t - 1]]
        else:
            score += search.pairs.scores[(t * n + path[t]) * n + path[t - 1]]
    return score


cdef int64_t n_wrong(const int32_t *path, const int32_t *gold, int64_t length) noexcept nogil:
    """Number of labels that are not gold."""
    cdef int64_t t, wrong = 0
    for t in range(length):
        wrong += path[t] != gold[t]
    return wrong
