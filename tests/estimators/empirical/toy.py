"""A small random corpus, and what a model makes of it."""

import numpy as np

from sklearn_crcrf import as_sequences
from sklearn_crcrf.structures import structure_of

STEMS = ["walk", "Paris", "re", "self-mad", "3", "X", "und", "haus", "Stra"]
ENDINGS = ["", "s", "ed", "ing", "ly", "ung", "en"]
LABELS = ["A", "B", "C", "D"]


def make_corpus(seed=0, n_sequences=60, n_words=40):
    """Words of very different frequency, each with labels of its own, and label bigrams."""
    rng = np.random.default_rng(seed)
    words = [stem + ending for stem in STEMS for ending in ENDINGS]
    words = rng.permutation(words)[:n_words]
    frequency = 1.0 / np.arange(1, n_words + 1)
    emission = rng.dirichlet(np.full(n_words, 0.3), len(LABELS)) * frequency
    emission /= emission.sum(axis=1, keepdims=True)
    transition = rng.dirichlet(np.full(len(LABELS), 0.7), len(LABELS))
    X, y = [], []
    for _ in range(n_sequences):
        labels = [int(rng.integers(len(LABELS)))]
        for _ in range(rng.integers(0, 8)):
            labels.append(int(rng.choice(len(LABELS), p=transition[labels[-1]])))
        X.append([str(words[rng.choice(n_words, p=emission[i])]) for i in labels])
        y.append([LABELS[i] for i in labels])
    return X, y


def with_tags(X):
    """Tokens as dicts of a word and a coarser tag."""
    return [[{"word": w, "tag": w[-1] + str(len(w) % 3)} for w in x] for x in X]


def encode(crf, X):
    """The structure, and the encoded tokens."""
    sequences = as_sequences(X).X
    return structure_of(sequences), crf._prepare(sequences)


def scores_of(crf, X):
    """All scores."""
    return crf.model_.scores(encode(crf, X)[1])
