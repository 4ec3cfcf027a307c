"""How much a sentence would teach, or how suspicious its labels are."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import numpy as np

from ...estimators.empirical import EmpiricalCRF
from .pool import Pool

# Number of sentences that are measured at a time.
CHUNK = 250
N_FOLDS = 5
# The share of gold labels that are taken to be wrong.
WRONG = 0.01
Values = Iterator[tuple[np.ndarray, np.ndarray]]


def by_entropy(model: EmpiricalCRF, X: Sequence[list[str]]) -> np.ndarray:
    """Compute the entropy of all labellings of each sentence."""
    return np.nan_to_num(model.entropy(X))


def by_margin(model: EmpiricalCRF, X: Sequence[list[str]]) -> np.ndarray:
    """Compute one less the difference between the probabilities of the two best labellings."""
    kept = model.predict_k_best(X, k=2)
    shares = [[*(p for _, p in paths), 0.0, 0.0] for paths in kept]
    return np.array([1.0 - (first - second) for first, second, *_ in shares])


MEASURES: dict[str, Callable[[EmpiricalCRF, Sequence[list[str]]], np.ndarray]] = {
    "entropy": by_entropy,
    "margin": by_margin,
}
"""Measures of doubt, by name: the greater, the more a sentence would teach."""


def doubts(model: EmpiricalCRF, pool: Pool, sentences: np.ndarray, measure: str) -> Values:
    """Yield the doubt of a model about the labels of sentences, some at a time.

    Parameters
    ----------
    model : EmpiricalCRF
    pool : Pool
    sentences : ndarray of int
        Positions in the pool.
    measure : {"entropy", "margin"}

    Yields
    ------
    sentences, values : ndarray
    """
    for chunk in _chunks(sentences):
        yield chunk, MEASURES[measure](model, [pool.sentences[i] for i in chunk.tolist()])


def suspicions(model: EmpiricalCRF, pool: Pool, sentences: np.ndarray) -> Values:
    """Yield the expected number of wrong gold labels, by models that have not counted them.

    Parameters
    ----------
    model : EmpiricalCRF
        Fitted to the gold labels of these sentences, and perhaps to others.
    pool : Pool
    sentences : ndarray of int
        Positions in the pool.

    Yields
    ------
    sentences, values : ndarray
    """
    n_folds = min(N_FOLDS, len(sentences))
    for k in range(n_folds):
        fold = sentences[k::n_folds]
        other = copy(model)
        if n_folds > 1:
            other.forget(*_labelled(pool, fold))
        for chunk in _chunks(fold):
            yield chunk, _expected_errors(other, *_labelled(pool, chunk))


def _expected_errors(model: EmpiricalCRF, X: list, y: list) -> np.ndarray:
    """Compute the expected number of wrong labels of each sentence.

    By Bayes' rule: a label is wrong with probability ``e`` before the sentence is seen, and then
    each of the K labels is as likely. With the probability p that the model gives to the label, ::

        p(wrong | x) = e (1 - p) / K / (e (1 - p) / K + (1 - e) p),

    so a label that is merely doubtful, p = 1/2, is hardly suspicious.
    """
    column = {label: j for j, label in enumerate(model.classes_.tolist())}
    values = []
    for rows, labels in zip(model.predict_proba(X), y, strict=True):
        ids = np.array([column.get(label, -1) for label in labels], dtype=np.int64)
        p = np.where(ids < 0, 0.0, rows[np.arange(len(ids)), ids])
        wrong = WRONG * (1.0 - p) / len(column)
        values.append((wrong / (wrong + (1.0 - WRONG) * p)).sum())
    return np.array(values)


def _labelled(pool: Pool, ids: np.ndarray) -> tuple[list, list]:
    assert pool.gold is not None
    return [pool.sentences[i] for i in ids.tolist()], [pool.gold[i] for i in ids.tolist()]


def _chunks(ids: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]
