"""The scores of pairs of labels in a row, which are the labels of a first-order chain.

With n candidate labels c[t, 0], ..., c[t, n - 1] of each token, pair ``i * n + j`` of token t means the
labels c[t - 1, i] and c[t, j]. Its state score is the state score of c[t, j]. The pair (i, j) of a token
can be followed by a pair (j, k), with the score

    transition(c[t - 1, j], c[t, k]) + trigram(c[t - 2, i], c[t - 1, j], c[t, k]).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t


def score_label_pairs(
    const int64_t[:, ::1] labels,      # (n_tokens, n) candidates IN
    const double[:, ::1] state,        # (n_tokens, n_labels) IN
    tuple chain,                       # transition (n_labels, n_labels), begin and end (n_labels,)
    tuple edges,                       # indptr (n_tokens + 1,), previous, current and score
    tuple trigrams,                    # starts (n_labels ** 2 + 1,), last, score and unseen
    double[:, :, ::1] of_pairs,        # (n_tokens, n, n) state scores OUT
    double[:, :, :, ::1] links,        # (n_tokens - 1, n, n, n) at j, k, i OUT
):
    """Write the scores of one sequence; edges are transition scores of single tokens, in rising order.

    trigrams are the scores of three labels in a row by pairs ``i * n_labels + j``: of the pair there are
    scores for the last labels at starts[pair] to starts[pair + 1], and ``unseen`` for all others.
    """
    cdef:
        const double[:, ::1] transition = chain[0]
        const double[::1] begin = chain[1], end = chain[2]
        const int64_t[::1] indptr = edges[0]
        const int32_t[::1] previous = edges[1], current = edges[2]
        const double[::1] edge_score = edges[3]
        const int64_t[::1] starts = trigrams[0]
        const int32_t[::1] last = trigrams[1]
        const double[::1] trigram_score = trigrams[2], unseen = trigrams[3]
        int64_t n_tokens = labels.shape[0], n = labels.shape[1], n_labels = state.shape[1]
        int64_t t, i, j, k, e, pair, before, here
        double score
    with nogil:
        for t in range(n_tokens):
            for j in range(n):
                here = labels[t, j]
                score = state[t, here]
                if t == 0:
                    score += begin[here]
                if t == n_tokens - 1:
                    score += end[here]
                for i in range(n):
                    of_pairs[t, i, j] = score if t or not i else -INFINITY
        for t in range(1, n_tokens):
            for j in range(n):
                before = labels[t - 1, j]
                for k in range(n):
                    here = labels[t, k]
                    score = transition[before, here]
                    e = find_edge(
                        &previous[0] if indptr[n_tokens] else NULL,
                        &current[0] if indptr[n_tokens] else NULL,
                        indptr[t], indptr[t + 1], before, here,
                    )
                    if e >= 0:
                        score = edge_score[e]
                    for i in range(n):
                        links[t - 1, j, k, i] = score
        for t in range(2, n_tokens):
            for i in range(n):
                for j in range(n):
                    pair = labels[t - 2, i] * n_labels + labels[t - 1, j]
                    e = starts[pair]
                    for k in range(n):
                        # Candidates rise, and so do the last labels.
                        while e < starts[pair + 1] and last[e] < labels[t, k]:
                            e += 1
                        if e < starts[pair + 1] and last[e] == labels[t, k]:
                            score = trigram_score[e]
                        else:
                            score = unseen[pair]
                        links[t - 1, j, k, i] += score


cdef inline int64_t find_edge(
    const int32_t *previous, const int32_t *current, int64_t start, int64_t stop,
    int64_t before, int64_t here,
) noexcept nogil:
    """The entry of two labels, in the order of the current label, then of the previous; -1 for none."""
    cdef int64_t low = start, high = stop, middle
    while low < high:
        middle = low + (high - low) // 2
        if current[middle] < here or (current[middle] == here and previous[middle] < before):
            low = middle + 1
        else:
            high = middle
    if low < stop and current[low] == here and previous[low] == before:
        return low
    return -1
