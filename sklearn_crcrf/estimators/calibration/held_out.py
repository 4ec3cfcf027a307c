"""Scores of the training sequences, by models fitted to the other folds."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ...base.batches import batches_of
from ...base.sample_weight import token_weights
from ...data.layout import Sequences
from ...data.sequences import as_sequences
from ...labels.partial import label_columns
from ...structures import Scores, Structure, structure_of
from ...training import nested_fits
from ..opinion_pool.expert import Expert, fit_expert
from ..opinion_pool.samples import Samples

__all__ = ["HeldOutBatch", "held_out_batches"]


class HeldOutBatch(NamedTuple):
    """The scores of whole sequences by a model that was not trained on them.

    Parameters
    ----------
    structure : Structure
    scores : Scores
    tokens : int ndarray of shape (n_known,)
        The tokens whose label is given and known to the model.
    y : int ndarray of shape (n_known,)
        Their labels, as columns of the scores.
    weight : ndarray of shape (n_known,)
    classes : ndarray of shape (n_labels,)
        The labels of the columns.
    """

    structure: Structure
    scores: Scores
    tokens: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    classes: np.ndarray


def held_out_batches(
    estimator: Any, cv: Any, samples: Samples, sequences: Sequences
) -> list[HeldOutBatch]:
    """The scores of the test sequences of every fold, by a clone fitted to the other sequences.

    Parameters
    ----------
    estimator : estimator
        A first-order sequence classifier, or a pipeline or search that ends in one.
    cv : int, splitter or iterable of splits
        Splits the sequences.
    samples : Samples
        What was passed to ``fit``.
    sequences : Sequences
        X in the common form.

    Returns
    -------
    list of HeldOutBatch

    Raises
    ------
    ValueError
        If there are fewer sequences than folds.
    """
    batches: list[HeldOutBatch] = []
    n_sequences = len(sequences.X)
    for train, test in check_cv(cv).split(np.arange(n_sequences)):
        others, held_out = (
            samples.take(sequences, np.isin(np.arange(n_sequences), part)) for part in (train, test)
        )
        with nested_fits():
            fitted = fit_expert(clone(estimator), *others)
        batches.extend(_batches(Expert.of("estimator", fitted), held_out))
    return batches


def _batches(expert: Expert, samples: Samples) -> list[HeldOutBatch]:
    """What a fitted model makes of sequences."""
    sequences = as_sequences(samples.X, samples.y)
    classes = expert.classifier.classes_
    y = label_columns(sequences.y, classes)
    weight = token_weights(sequences, samples.sample_weight)
    prepared = expert.prepare(samples.X, sequences.X.offsets)
    batches = []
    for batch in batches_of(structure_of(sequences.X), len(classes)):
        scores = expert.scores(prepared, batch, classes)
        tokens = np.flatnonzero(y[batch.start : batch.stop] >= 0)
        known = batch.start + tokens
        gold = tokens, y[known], weight[known]
        batches.append(HeldOutBatch(batch.structure, scores, *gold, classes))
    return batches
