"""All labellings of a tiny chain, one by one: the reference for every recursion."""

from itertools import product

import numpy as np


def transition_score(parts, t, i, j):
    """Score of labels i, j at tokens t - 1, t: the edge's if it has one, else the common one."""
    row = parts.edges.row[t]
    if row >= 0:
        for k in range(parts.edges.indptr[row], parts.edges.indptr[row + 1]):
            if parts.edges.previous[k] == i and parts.edges.current[k] == j:
                return parts.edges.score[k]
    return parts.transition[i, j]


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
