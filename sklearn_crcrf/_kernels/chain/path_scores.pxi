# Scores of given labellings of chains and trees, and how often they use each score; see chain/edges.pxd.
#
# Each token has at most one token before it: on a tree it is the parent.

# Scores are fetched from memory this number of tokens ahead.
cdef enum: AHEAD = 24


def labelling_scores(
    BatchScores batch,             # IN
    const int64_t[::1] before,     # (n_tokens,) the token before each token, -1 for none IN
    const int64_t[::1] last_tokens,  # (n_last,) the tokens with end scores, ascending IN
    const int32_t[::1] y,          # (n_tokens,) IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    double[::1] value,             # (n_units,) OUT
):
    """The score of the labelling y of each unit."""
    cdef:
        const int64_t[::1] offsets = batch.offsets
        const double[:, ::1] transition = batch.transition
        const double[::1] begin = batch.begin, end = batch.end
        Edges edges = batch.edges
        bint has_entries = batch.n_entries > 0
        int64_t s, t, k, stop, last = 0
        int32_t i
        double of_state, of_edges
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            stop = offsets[s + 1]
            # Two sums, so that neither has to wait for the other.
            of_state = of_edges = 0.0
            while last < last_tokens.shape[0] and last_tokens[last] < stop:
                of_edges += end[y[last_tokens[last]]]
                last += 1
            for t in range(offsets[s], stop):
                if t + AHEAD < y.shape[0]:
                    prefetch(&state[t + AHEAD, y[t + AHEAD]])
                of_state += state[t, y[t]]
                if before[t] < 0:
                    of_edges += begin[y[t]]
                    continue
                i = y[before[t]]
                k = find_entry(edges, t, i, y[t]) if has_entries else -1
                of_edges += transition[i, y[t]] if k < 0 else edges.score[k]
            value[s] = of_state + of_edges
        take_turn()


def labelling_counts(
    BatchScores batch,             # IN
    const int64_t[::1] before,
    const int64_t[::1] last_tokens,
    const int32_t[::1] y,
    const double[::1] weight,      # (n_units,) IN
    real[:, ::1] state,            # (n_tokens, n_labels) INOUT
    BatchCounts counts,            # INOUT
):
    """Add the weight of each unit to the derivatives by all scores that its labelling y uses."""
    cdef:
        const int64_t[::1] offsets = batch.offsets
        double[:, ::1] transition = counts.transition
        double[::1] begin = counts.begin, end = counts.end, edge_counts = counts.edges
        Edges edges = batch.edges
        bint has_entries = batch.n_entries > 0
        int64_t s, t, k, stop, last = 0
        int32_t i
        double w
    with nogil:
        give_turn()
        for s in range(offsets.shape[0] - 1):
            stop = offsets[s + 1]
            w = weight[s]
            while last < last_tokens.shape[0] and last_tokens[last] < stop:
                end[y[last_tokens[last]]] += w
                last += 1
            for t in range(offsets[s], stop):
                if t + AHEAD < y.shape[0]:
                    prefetch(&state[t + AHEAD, y[t + AHEAD]])
                state[t, y[t]] += <real>w
                if before[t] < 0:
                    begin[y[t]] += w
                    continue
                i = y[before[t]]
                k = find_entry(edges, t, i, y[t]) if has_entries else -1
                if k < 0:
                    transition[i, y[t]] += w
                else:
                    edge_counts[k] += w
        take_turn()
