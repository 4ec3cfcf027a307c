"""The best path of each sequence; see chain/viterbi.pxi for the recursion."""

from sklearn_crcrf._kernels.chain.scores cimport BatchScores
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport fetch_row

include "viterbi.pxi"

# Scores are fetched from memory this number of tokens ahead.
cdef enum: AHEAD = 4


def viterbi(
    BatchScores batch,             # IN
    const int64_t[::1] order,      # (n_sequences,) by decreasing length IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    double[:, ::1] prefixes,       # (n_tokens, n_labels) delta OUT, or None
    int32_t[::1] labels,           # (n_tokens,) OUT
    double[::1] values,            # (n_sequences,) OUT, -inf where no path is possible, NaN
                                   # where a state score is NaN or inf
):
    """The best path of each sequence and its score."""
    cdef:
        const int64_t[::1] offsets = batch.offsets
        const double[::1] begin = batch.begin, end = batch.end
        int64_t n = state.shape[1], width = padded_d(n), start = 0
        int64_t longest = offsets[order[0] + 1] - offsets[order[0]] if order.shape[0] else 0
        int64_t ways = 1
        double[:, ::1] delta
        double[:, ::1] matrix = padded_rows(batch.transition, False)
        double[:, ::1] transposed = padded_rows(batch.transition, True)
        Step step
        Team team
        int32_t *path = &labels[0] if labels.shape[0] else NULL
    kept = make_work_space(&step, n, longest)
    if step.n_vectors <= FEW_VECTORS and batch.n_entries == 0 and TEAM * longest <= state.shape[0]:
        ways = TEAM
    delta = rows_of(ways * max(longest, 1), width, np.nan)
    step.transition = &matrix[0, 0]
    step.transposed = &transposed[0, 0]
    step.edges = batch.edges
    with nogil:
        give_turn()
        while start < order.shape[0]:
            team = make_team(offsets, order, start, ways)
            fill(&team, state, begin, end, delta)
            max_forward(&step, &team, &delta[0, 0])
            trace_back(&step, &team, &delta[0, 0], path)
            finish(&team, delta, labels, &order[start], values, prefixes)
            start += team.size
        take_turn()


cdef Team make_team(
    const int64_t[::1] offsets, const int64_t[::1] order, int64_t start, int64_t ways
) noexcept nogil:
    """The sequences from ``start`` on."""
    cdef:
        Team team
        int64_t b
    team.size = min(ways, order.shape[0] - start)
    team.ways = ways
    for b in range(team.size):
        team.first[b] = offsets[order[start + b]]
        team.length[b] = offsets[order[start + b] + 1] - team.first[b]
        team.is_proper[b] = True
    return team


cdef void find_improper(Team *team, const real[:, ::1] state) noexcept nogil:
    """Mark the sequences that have a state score of NaN or inf."""
    cdef int64_t b, t, j
    for b in range(team.size):
        for t in range(team.first[b], team.first[b] + team.length[b]):
            for j in range(state.shape[1]):
                team.is_proper[b] &= state[t, j] < INFINITY


cdef void fill(
    Team *team, const real[:, ::1] state, const double[::1] begin, const double[::1] end,
    double[:, ::1] delta,          # (longest * ways, width) padded already OUT
) noexcept nogil:
    """The scores of the tokens, with begin and end scores."""
    cdef:
        int64_t b, t, j, n = state.shape[1]
        const real *score
        double *row
        vector_d sum = splat_d(0.0)
    for t in range(team.length[0]):
        for b in range(n_active(team, t)):
            score = &state[team.first[b] + t, 0]
            if t + AHEAD < team.length[b]:
                fetch_row(score + AHEAD * n, n)
            row = &delta[t * team.ways + b, 0]
            copy_scores(score, n, row, &sum)
            if t == 0:
                for j in range(n):
                    row[j] += begin[j]
            if t + 1 == team.length[b]:
                for j in range(n):
                    row[j] += end[j]
    if not is_finite(sum):
        find_improper(team, state)


cdef void finish(
    const Team *team, const double[:, ::1] delta, const int32_t[::1] labels,
    const int64_t *order,          # (size,) the numbers of the sequences IN
    double[::1] values, double[:, ::1] prefixes,
) noexcept nogil:
    """The scores of the best paths and, unless ``prefixes`` is None, of all best prefixes."""
    cdef int64_t b, t, last
    for b in range(team.size):
        last = team.length[b] - 1
        values[order[b]] = 0.0
        if not team.is_proper[b]:
            values[order[b]] = NAN
        elif last >= 0:
            values[order[b]] = delta[last * team.ways + b, labels[team.first[b] + last]]
        if prefixes is not None:
            for t in range(last + 1):
                prefixes[team.first[b] + t] = delta[t * team.ways + b, :prefixes.shape[1]]
