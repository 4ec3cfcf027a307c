"""All labellings of a tiny chain, one by one: the reference for every recursion."""

from itertools import product

import numpy as np


def edge_entry(parts, t, i, j):
    """The entry of the edges for labels i, j at tokens t - 1, t, or None."""
    row = parts.token_transitions.row[t]
    if row >= 0:
        for k in range(
            parts.token_transitions.indptr[row], parts.token_transitions.indptr[row + 1]
        ):
            if parts.token_transitions.previous[k] == i and parts.token_transitions.current[k] == j:
                return k
    return None


def transition_score(parts, t, i, j):
    """Score of labels i, j at tokens t - 1, t: the edge's if it has one, else the common one."""
    k = edge_entry(parts, t, i, j)
    return parts.transition[i, j] if k is None else parts.token_transitions.score[k]


def count(parts, start, path, weight, counts):
    """Add a weight to all parts that a path uses."""
    if len(path) == 0:
        return
    counts.begin[path[0]] += weight
    counts.end[path[-1]] += weight
    for t, j in enumerate(path):
        counts.state[start + t, j] += weight
        if t:
            k = edge_entry(parts, start + t, path[t - 1], j)
            if k is None:
                counts.transition[path[t - 1], j] += weight
            else:
                counts.token_transitions[k] += weight


def score(parts, start, path):
    """Score of one path of the sequence that begins at token ``start``."""
    if len(path) == 0:
        return 0.0
    total = parts.begin[path[0]] + parts.end[path[-1]]
    for t, j in enumerate(path):
        total += parts.state[start + t, j]
        if t:
            total += transition_score(parts, start + t, path[t - 1], j)
    return total


def paths(parts, start, stop):
    """Every path of a sequence and its score."""
    n_labels = len(parts.transition)
    every = list(product(range(n_labels), repeat=stop - start))
    return every, np.array([score(parts, start, path) for path in every])


def distribution(parts, start, stop):
    """Every path of a sequence, their scores and their probabilities; NaN if none is possible."""
    every, scores = paths(parts, start, stop)
    top = scores.max()
    with np.errstate(invalid="ignore"):
        probability = np.exp(scores - top)
    return every, scores, probability / probability.sum()
