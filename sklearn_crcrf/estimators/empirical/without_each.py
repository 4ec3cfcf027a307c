"""Scores of one sequence by models that have not seen one of the training sequences."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from ...base.batches import Batch
from ...counts.counter import LabelledObservations
from ...counts.counts import aggregate
from ...data.ragged import SequenceArray
from ...structures import Scores, Structure
from .left_out import (
    FEW_LABELS,
    MOST_ENTRIES,
    N_TOKENS,
    as_set,
    changed_sums,
    row_model,
    run_rates,
)

# Sums of weights that are not integers agree up to this share.
ROUNDING = 1e-9


def scores_by_rows(
    estimator: Any, X: SequenceArray, corpus: LabelledObservations, chosen: np.ndarray
) -> Iterator[tuple[np.ndarray, Any, Structure, Scores]]:
    """Yield the scores of one unit, by rows of counts without one of the units of a corpus.

    Parameters
    ----------
    estimator : EmpiricalCRF
        With a model that ``has_rows``.
    X : SequenceArray
        One unit.
    corpus : LabelledObservations
    chosen : int64 ndarray
        Numbers of units of the corpus, rising, without any of which all labels still occur.

    Yields
    ------
    numbers, estimator, structure, scores
        As of ``CountingClassifier._scores_without``.
    """
    n_tokens, n_labels = len(X.data), len(estimator.classes_)
    is_apart = estimator.order > 1 or n_labels > FEW_LABELS
    size = 1 if is_apart else max(1, min(N_TOKENS // max(n_tokens, 1), MOST_ENTRIES // n_labels**2))
    estimator, sums = as_set(estimator), changed_sums(estimator, estimator.counts_)
    corpus = corpus._replace(labels=_labels(estimator, corpus))
    for start in range(0, len(chosen), size):
        numbers = chosen[start : start + size]
        left, folds = corpus.take(numbers), np.arange(len(numbers), dtype=np.int32)
        sums.reset(len(numbers))
        sums.add(left, folds.repeat(np.diff(left.offsets)), -1.0)
        model, copies, twin = row_model(estimator, sums), X[np.zeros_like(numbers)], copy(estimator)
        prepared = model.weighted(model.read(twin._encode(copies), folds.repeat(n_tokens)))
        twin.model_ = model.with_exponents_of(estimator.model_)
        twin._run_rates = run_rates(estimator, sums, 0)
        structure = twin._structure(copies)
        batch = Batch(0, structure.n_tokens, structure, 0)
        yield numbers, twin, structure, twin._scores(prepared, batch)


def has_all_of_a_label(estimator: Any, corpus: LabelledObservations) -> np.ndarray:
    """Tell which units have all tokens of a label that were counted, bool of shape (n_units,)."""
    statistics, n_units = estimator.model_.statistics, len(corpus.offsets) - 1
    total = np.bincount(
        statistics.by_word.indices, statistics.by_word.data, minlength=statistics.n_labels
    )
    unit = np.repeat(np.arange(n_units), np.diff(corpus.offsets))
    columns = [unit, _labels(estimator, corpus)]
    events, weights = aggregate(columns, corpus.weights, len(unit))
    units, own = events.T
    has_all = np.zeros(n_units, dtype=bool)
    has_all[units[weights >= (1 - ROUNDING) * total[own]]] = True
    return has_all


def _labels(estimator: Any, corpus: LabelledObservations) -> np.ndarray:
    """Return the labels of tokens as the model numbers them; of tokens without weight any label."""
    return estimator._rank[np.where(corpus.weights > 0, corpus.labels, 0)]
