"""Random probabilities of labels, and all labellings that they stand for."""

from itertools import product

import numpy as np


def random_rows(n_tokens, n_labels, rng, zeros=0.3):
    """Probabilities of the labels of each token, some of them zero."""
    rows = rng.gamma(0.5, size=(n_tokens, n_labels)) + 1e-3
    is_zero = rng.random(rows.shape) < zeros
    is_zero[np.arange(n_tokens), rng.integers(n_labels, size=n_tokens)] = False
    rows[is_zero] = 0.0
    return rows / rows.sum(axis=1, keepdims=True)


def random_markov(n_tokens, n_labels, rng, zeros=0.3):
    """Probabilities of labels and of pairs of labels of a random Markov chain."""
    rows, pairs = random_rows(n_tokens, n_labels, rng, zeros), []
    for t in range(1, n_tokens):
        pairs.append(rows[t - 1][:, None] * random_rows(n_labels, n_labels, rng, zeros))
        rows[t] = pairs[-1].sum(axis=0)
    return rows, np.array(pairs).reshape(-1, n_labels, n_labels)


def labellings(rows, pairs=None):
    """All labellings of a sequence that have a positive probability, and their probabilities."""
    found = []
    for y in product(range(rows.shape[1]), repeat=len(rows)):
        p = 1.0
        for t, label in enumerate(y):
            if pairs is None or t == 0:
                p *= rows[t, label]
            elif p > 0:
                p *= pairs[t - 1][y[t - 1], label] / rows[t - 1, y[t - 1]]
        if p > 0:
            found.append((y, p))
    return found


def spelled_out(X, rows, pairs, labels, weights):
    """All labellings of all sequences as samples: tokens, labels, and weights of tokens."""
    samples, y, w = [], [], []
    for i, sequence in enumerate(X):
        for ids, p in labellings(rows[i], None if pairs is None else pairs[i]):
            samples.append(i)
            y.append([labels[k] for k in ids])
            w.append([p * weight for weight in weights[i]])
        assert len(sequence) == len(rows[i])
    return samples, y, w
