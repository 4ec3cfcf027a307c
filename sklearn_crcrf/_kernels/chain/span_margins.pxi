# Best paths that contain a span of labelled tokens, and best paths that do not.
#
# A path contains the span of labels k_a ... k_{b-1} if these are its labels at the tokens a to b - 1,
# and its labels at the tokens before and after the span are allowed there. A path that does not
# contain the span leaves it at the first token at which this fails. Within the span its labels are
# known up to this token, and outside its prefix and its suffix must be the best ones: with
#
#     delta_t(j) = state[t, j] + max_i delta_{t-1}(i) + transition_t(i, j)
#     ahead_t(j) = state[t, j] + max_i transition_{t+1}(j, i) + ahead_{t+1}(i)
#
# one maximum over labels remains to be taken at each token of a span. See chain/edges.pxd for the scores.

cdef class ChainMaxima:
    """The best prefixes and suffixes of a batch of sequences, and the scores they are made from.

    transposed (n_labels, n_labels) is transition.T; state (n_tokens, n_labels) with begin and end;
    delta and ahead (n_tokens, n_labels).
    """

    cdef:
        BatchScores batch
        const double[:, ::1] transposed, state, delta, ahead

    def __cinit__(self, BatchScores batch, transposed, state, delta, ahead):
        self.batch, self.transposed, self.state = batch, transposed, state
        self.delta, self.ahead = delta, ahead


cdef struct Lattice:
    int64_t n                      # labels
    const double *state            # (n_tokens, n) with begin and end
    const double *delta            # (n_tokens, n)
    const double *ahead            # (n_tokens, n)
    const double *transition       # (n, n)
    const double *transposed       # (n, n)
    Edges edges
    const double *zeros            # (n,)
    double *scores                 # (n,) work space


cdef struct Path:
    # A best path among those that have the labels of a span before ``token``
    double score
    int64_t before                 # its label before the span, -1 for none
    int64_t token                  # where it leaves the span, -1 if it is impossible
    int64_t label                  # its label there, -1 for none


def span_margins(
    ChainMaxima maxima,            # IN
    const int64_t[:, ::1] bounds,  # (n_spans, 4) a, b, start and stop of the sequence IN
    const int64_t[::1] place,      # (n_spans,) where the labels of each span begin IN
    const int32_t[::1] labels,     # of all spans IN
    const uint8_t[:, ::1] preceding,  # (n_spans, n_labels) allowed before a span IN
    const uint8_t[:, ::1] following,  # (n_spans, n_labels) allowed after a span IN
    double[:, ::1] score,          # (n_spans, 2) of the best path with, and without the span OUT
    int64_t[:, :, ::1] path,       # (n_spans, 2, 3) before, token, label of these paths OUT
):
    cdef:
        int64_t r, k, n_spans = bounds.shape[0]
        double[:, ::1] work = np.zeros((2, maxima.state.shape[1]))
        Lattice lattice = lattice_of(maxima, work)
        Path found[2]
    with nogil:
        give_turn()
        for r in range(n_spans):
            best_inside_and_outside(
                &lattice, &bounds[r, 0], &labels[place[r]], &preceding[r, 0], &following[r, 0],
                &found[0], &found[1],
            )
            for k in range(2):
                score[r, k] = found[k].score
                path[r, k, 0] = found[k].before
                path[r, k, 1] = found[k].token
                path[r, k, 2] = found[k].label
        take_turn()


cdef void best_inside_and_outside(
    const Lattice *lattice,
    const int64_t *bounds,         # (4,)
    const int32_t *labels,         # (b - a,)
    const uint8_t *preceding,      # (n,)
    const uint8_t *following,      # (n,)
    Path *inside,                  # the best path that contains the span OUT
    Path *outside,                 # the best path that does not OUT
) noexcept nogil:
    cdef:
        int64_t a = bounds[0], b = bounds[1], first = bounds[2], stop = bounds[3]
        int64_t t, j, n = lattice.n, before = -1, other = -1
        int32_t label = labels[0]
        double score = 0.0, without = -INFINITY, step
        double *scores = lattice.scores
    outside.score = -INFINITY
    inside.score = -INFINITY
    inside.token = outside.token = -1
    if a > first:
        come(lattice, a, label)
        before = best_of(scores, lattice.zeros, n, preceding, 1)
        other = best_of(scores, lattice.zeros, n, preceding, 0)
        score = scores[before] if before >= 0 else -INFINITY
        without = scores[other] if other >= 0 else -INFINITY
        improve(outside, without + lattice.ahead[a * n + label], other, a, label)
    through(lattice, a, label)
    j = argmax_sum(scores, lattice.zeros, n)
    if scores[j] > outside.score:
        step = scores[j]
        if a > first:
            come(lattice, a, j)
            other = argmax_sum(scores, lattice.zeros, n)
        improve(outside, step, other, a, j)
    score += lattice.state[a * n + label]
    for t in range(a + 1, b):
        go(lattice, t, label)
        label = labels[t - a]
        step = scores[label]
        scores[label] = -INFINITY
        j = argmax_sum(scores, lattice.ahead + t * n, n)
        improve(outside, score + scores[j] + lattice.ahead[t * n + j], before, t, j)
        score += step + lattice.state[t * n + label]
    if b == stop:
        improve(inside, score, before, b, -1)
        return
    go(lattice, b, label)
    j = best_of(scores, lattice.ahead + b * n, n, following, 1)
    if j >= 0:
        improve(inside, score + scores[j] + lattice.ahead[b * n + j], before, b, j)
    j = best_of(scores, lattice.ahead + b * n, n, following, 0)
    if j >= 0:
        improve(outside, score + scores[j] + lattice.ahead[b * n + j], before, b, j)


cdef void improve(
    Path *path, double score, int64_t before, int64_t token, int64_t label
) noexcept nogil:
    if score > path.score:
        path.score = score
        path.before = before
        path.token = token
        path.label = label


cdef int64_t best_of(
    const double *x, const double *y, int64_t n, const uint8_t *allowed, uint8_t wanted
) noexcept nogil:
    """The first i with allowed[i] == wanted and the largest x[i] + y[i]; -1 if all are -inf."""
    cdef:
        int64_t i, best = -1
        double score = -INFINITY
    for i in range(n):
        if allowed[i] == wanted and x[i] + y[i] > score:
            score = x[i] + y[i]
            best = i
    return best


cdef void come(const Lattice *lattice, int64_t t, int64_t label) noexcept nogil:
    """scores[i] = delta_{t-1}(i) + transition_t(i, label)."""
    cdef:
        int64_t i, k, stop, n = lattice.n, row = lattice.edges.row[t]
        const double *delta = lattice.delta + (t - 1) * n
        const double *into = lattice.transposed + label * n
    for i in range(n):
        lattice.scores[i] = delta[i] + into[i]
    if row >= 0:
        stop = lattice.edges.indptr[row + 1]
        k = place_from(lattice.edges.current, lattice.edges.indptr[row], stop, label)
        while k < stop and lattice.edges.current[k] == label:
            i = lattice.edges.previous[k]
            lattice.scores[i] = delta[i] + lattice.edges.score[k]
            k += 1


cdef void go(const Lattice *lattice, int64_t t, int64_t label) noexcept nogil:
    """scores[j] = transition_t(label, j)."""
    fill_transitions(lattice.edges, lattice.transition, lattice.n, t, label, lattice.scores)


cdef void through(const Lattice *lattice, int64_t t, int64_t label) noexcept nogil:
    """scores[j] = score of the best path through label j of token t; -inf for the given label."""
    cdef:
        int64_t j, at = t * lattice.n
    for j in range(lattice.n):
        lattice.scores[j] = -INFINITY
        if lattice.state[at + j] > -INFINITY and j != label:
            lattice.scores[j] = (
                lattice.delta[at + j] + lattice.ahead[at + j] - lattice.state[at + j]
            )


cdef Lattice lattice_of(
    ChainMaxima maxima,
    double[:, ::1] work,           # (2, n_labels) zeros, and work space
) noexcept:
    cdef Lattice lattice
    lattice.n = maxima.state.shape[1]
    lattice.state = &maxima.state[0, 0]
    lattice.delta = &maxima.delta[0, 0]
    lattice.ahead = &maxima.ahead[0, 0]
    lattice.transition = &maxima.batch.transition[0, 0]
    lattice.transposed = &maxima.transposed[0, 0]
    lattice.edges = maxima.batch.edges
    lattice.zeros = &work[0, 0]
    lattice.scores = &work[1, 0]
    return lattice


cdef struct Counts:
    const Lattice *lattice
    double *state                  # (n_tokens, n)
    double *transition             # (n, n)
    double *edges                  # (n_entries,)


cdef void count_transition(
    Counts counts, int64_t t, int64_t i, int64_t j, double weight
) noexcept nogil:
    cdef int64_t k = find_entry(counts.lattice.edges, t, <int32_t>i, <int32_t>j)
    if k < 0:
        counts.transition[i * counts.lattice.n + j] += weight
    else:
        counts.edges[k] += weight


def add_span_counts(
    ChainMaxima maxima,            # IN
    const int64_t[:, ::1] bounds,
    const int64_t[::1] place,
    const int32_t[::1] labels,
    const int64_t[:, :, ::1] path,
    const double[::1] weight,      # (n_spans,) IN
    double[:, ::1] states,         # (n_tokens, n_labels) INOUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the weight of each span for the best path with it, subtract it for the one without."""
    cdef:
        const int64_t[::1] offsets = maxima.batch.offsets
        int64_t s, r, n = states.shape[1]
        double[:, ::1] work = np.zeros((2, n))
        # Weights of the best paths that end, and that begin, with a label of a token
        double[:, ::1] ending = np.zeros((states.shape[0], n))
        double[:, ::1] starting = np.zeros((states.shape[0], n))
        Lattice lattice = lattice_of(maxima, work)
        Counts counts
    counts.lattice = &lattice
    counts.state = &states[0, 0]
    counts.transition = &transitions[0, 0]
    counts.edges = &edge_counts[0] if edge_counts.shape[0] else NULL
    with nogil:
        give_turn()
        for r in range(bounds.shape[0]):
            if weight[r] != 0.0:
                count_span(
                    counts, bounds[r, 0], &labels[place[r]], &path[r, 0, 0], weight[r],
                    &ending[0, 0], &starting[0, 0],
                )
                count_span(
                    counts, bounds[r, 0], &labels[place[r]], &path[r, 1, 0], -weight[r],
                    &ending[0, 0], &starting[0, 0],
                )
        for s in range(offsets.shape[0] - 1):
            count_prefixes(counts, offsets[s], offsets[s + 1], &ending[0, 0])
            count_suffixes(counts, offsets[s], offsets[s + 1], &starting[0, 0])
        take_turn()


cdef void count_span(
    Counts counts, int64_t a, const int32_t *labels,
    const int64_t *path,           # (3,) before, token, label
    double weight, double *ending, double *starting,
) noexcept nogil:
    """Count a path within a span, and pass its weight on to its prefix and its suffix."""
    cdef:
        int64_t t, n = counts.lattice.n, previous = path[0], token = path[1], label = path[2]
    if token < 0:
        return
    if previous >= 0:
        ending[(a - 1) * n + previous] += weight
    for t in range(a, token):
        if previous >= 0:
            count_transition(counts, t, previous, labels[t - a], weight)
        previous = labels[t - a]
        counts.state[t * n + previous] += weight
    if label >= 0:
        if previous >= 0:
            count_transition(counts, token, previous, label, weight)
        starting[token * n + label] += weight


cdef void count_prefixes(Counts counts, int64_t first, int64_t stop, double *ending) noexcept nogil:
    cdef:
        int64_t t, i, j, n = counts.lattice.n
        double weight
    for t in range(stop - 1, first - 1, -1):
        for j in range(n):
            weight = ending[t * n + j]
            if weight == 0.0:
                continue
            counts.state[t * n + j] += weight
            if t > first:
                come(counts.lattice, t, j)
                i = argmax_sum(counts.lattice.scores, counts.lattice.zeros, n)
                count_transition(counts, t, i, j, weight)
                ending[(t - 1) * n + i] += weight


cdef void count_suffixes(
    Counts counts, int64_t first, int64_t stop, double *starting
) noexcept nogil:
    cdef:
        int64_t t, i, j, n = counts.lattice.n
        double weight
    for t in range(first, stop):
        for i in range(n):
            weight = starting[t * n + i]
            if weight == 0.0:
                continue
            counts.state[t * n + i] += weight
            if t + 1 < stop:
                go(counts.lattice, t + 1, i)
                j = argmax_sum(
                    counts.lattice.scores, counts.lattice.ahead + (t + 1) * n, n
                )
                count_transition(counts, t + 1, i, j, weight)
                starting[(t + 1) * n + j] += weight
