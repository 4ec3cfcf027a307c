"""How much a sentence would teach, or how suspicious its labels are."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from sklearn.base import clone

from ...estimators.empirical import EmpiricalCRF
from ...estimators.empirical.left_out import has_rows
from ...estimators.label_issues import left_out_issues
from .pool import Pool

# Number of sentences that are measured at a time.
CHUNK = 250
N_FOLDS = 5
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
    "mixed": by_margin,
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
    measure : {"mixed", "entropy", "margin"}

    Yields
    ------
    sentences, values : ndarray
    """
    for chunk in _chunks(sentences):
        yield chunk, MEASURES[measure](model, [pool.sentences[i] for i in chunk.tolist()])


def suspicions(model: EmpiricalCRF, pool: Pool, sentences: np.ndarray) -> Values:
    """Yield the expected number of wrong gold labels, by models that have not seen the sentence.

    They are fitted to the gold labels of all other sentences, or of the other folds, if leaving out
    each sentence by itself would take long.

    Parameters
    ----------
    model : EmpiricalCRF
        Fitted to the gold labels. It does not change; its fitted exponents, if any, are used.
    pool : Pool
    sentences : ndarray of int
        Positions in the pool.

    Yields
    ------
    sentences, values : ndarray
    """
    assert pool.gold is not None
    if len(pool.sentences) < 2:
        return
    estimator = clone(model)
    if model.exponents == "fit":
        estimator.set_params(exponents=model.exponents_)
    fold = np.arange(len(pool.sentences))
    fold = fold if has_rows(model) else fold % N_FOLDS
    X, y = list(pool.sentences), list(pool.gold)
    for ids, issues in left_out_issues(estimator, X, y, fold):
        waiting = np.isin(ids, sentences)
        yield ids[waiting], issues.expected_errors(len(ids))[waiting]


def _chunks(ids: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]
