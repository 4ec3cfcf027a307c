"""Linear chains by their definition: every labelling of a short sequence, one by one."""

from itertools import product

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp


def rows_of(crf, x):
    """The attributes of token strings, as rows of numbers."""
    rows = [crf.attribute_names_ == token for token in x]
    return np.array(rows, dtype=float).reshape(len(x), len(crf.attribute_names_))


def score(crf, rows, path, edges=()):
    """The score of label ids; ``edges`` are the columns on which transitions depend."""
    coef = crf.coef_.toarray() if sp.issparse(crf.coef_) else crf.coef_
    if len(path) == 0:
        return 0.0
    total = crf.begin_[path[0]] + crf.end_[path[-1]]
    for t, j in enumerate(path):
        total += rows[t] @ coef[:, j]
        if t:
            total += crf.transitions_[path[t - 1], j]
            total += sum(
                rows[t, k] * weights[path[t - 1], j]
                for k, weights in zip(edges, crf.edge_coef_, strict=True)
            )
    return total


def distribution(crf, rows, edges=(), is_possible=lambda path: True):
    """Every possible path and its probability."""
    paths = list(filter(is_possible, product(range(len(crf.classes_)), repeat=len(rows))))
    scores = np.array([score(crf, rows, path, edges) for path in paths])
    return paths, np.exp(scores - logsumexp(scores))


def marginals(crf, paths, probability):
    """The probability of each label of each token."""
    total = np.zeros((len(paths[0]), len(crf.classes_)))
    for path, p in zip(paths, probability, strict=True):
        total[np.arange(len(path)), path] += p
    return total


def log_likelihood(crf, rows, y, edges=(), is_possible=lambda path: True):
    """Logarithm of the probability of all paths that agree with labels, sets and None."""
    known = [_ids(crf, label) for label in y]
    paths, probability = distribution(crf, rows, edges, is_possible)
    agree = [all(j in ids for j, ids in zip(path, known, strict=True)) for path in paths]
    return np.log(probability[agree].sum())


def all_weights(crf):
    """All weights in one dimension."""
    coef = crf.coef_.toarray() if sp.issparse(crf.coef_) else crf.coef_
    others = crf.transitions_, crf.begin_, crf.end_, crf.edge_coef_
    return np.concatenate([np.ravel(part) for part in (coef, *others)])


def objective(crf, corpus, weights=None, **options):
    """What training minimises; the corpus has pairs of rows and labels."""
    weights = np.ones(len(corpus)) if weights is None else weights
    loss = sum(
        -weight * log_likelihood(crf, rows, y, **options)
        for weight, (rows, y) in zip(weights, corpus, strict=True)
    )
    w = all_weights(crf)
    return loss + w @ w / (2 * crf.sigma**2) + crf.c1 * abs(w).sum()


def _ids(crf, label):
    classes = crf.classes_.tolist()
    if label is None:
        return range(len(classes))
    return [classes.index(one) for one in (label if isinstance(label, set) else {label})]
