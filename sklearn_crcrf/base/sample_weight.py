"""What each token and each sequence weighs in training and in scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from ..data.layout import Sequences
from ..data.ragged import SequenceArray, locate
from ..utils.real_numbers import real_numbers

NUMBERS = "sample_weight must hold a number for each sequence, or for each token"


def token_weights(sequences: Sequences, sample_weight: Any) -> np.ndarray:
    """Return the weight of each token.

    Parameters
    ----------
    sequences : Sequences
    sample_weight : None, number, array-like of shape (n_samples,), nested list or SequenceArray
        In a table every row has a weight; otherwise every sequence has one, or every token.

    Returns
    -------
    float64 ndarray of shape (n_tokens,)
    """
    n_tokens, lengths = int(sequences.X.offsets[-1]), sequences.X.lengths
    if sample_weight is None:
        return np.ones(n_tokens)
    if not _is_collection(sample_weight):
        weights = np.broadcast_to(real_numbers(sample_weight, NUMBERS), n_tokens)
    elif sequences.mirror.is_table or _is_nested(sample_weight):
        weights = real_numbers(sequences.mirror.flat(sample_weight, "sample_weight").data, NUMBERS)
    else:
        sequences.mirror.check_index(sample_weight, "sample_weight")
        weights = real_numbers(sample_weight, NUMBERS)
        if weights.shape != lengths.shape:
            raise ValueError(
                f"sample_weight has shape {weights.shape}, but there are {len(lengths)} sequences"
            )
        weights = np.repeat(weights, lengths)
    improper = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(improper):
        sequence, position = locate(sequences.X.offsets, improper[0])
        raise ValueError(
            f"sample_weight, sequence {sequence}, position {position}: it must be finite and not "
            f"negative, but is {weights[improper[0]]}"
        )
    if not np.isfinite(weights.sum()):
        raise ValueError(f"sample_weight: the sum is not finite, with weights of {weights.max():g}")
    return weights


def label_weights(class_weight: Any, classes: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return the weight of the label of each token.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
    classes : ndarray of shape (n_labels,)
    ids : ndarray of shape (n_tokens,)
        Labels by their place in ``classes``, -1 for a label that is not known.

    Returns
    -------
    ndarray of shape (n_tokens,)
        1 where the label is not known.

    Raises
    ------
    ValueError
        If a weight is negative or not finite.
    """
    if class_weight is None:
        return np.ones(len(ids))
    known = ids[ids >= 0]
    if isinstance(class_weight, Mapping):
        real_numbers(list(class_weight.values()), "class_weight must hold a number for each label")
    weight_by_label = np.ones(len(classes) + 1)
    seen = np.unique(known)
    if isinstance(class_weight, str):  # which is said of any labels, also of several types
        classes = np.arange(len(classes))
    weight_by_label[seen] = compute_class_weight(
        class_weight, classes=classes[seen], y=classes[known]
    )
    if not (np.isfinite(weight_by_label) & (weight_by_label >= 0)).all():
        raise ValueError(f"class_weight must be finite and not negative, but is {class_weight!r}")
    return weight_by_label[ids]


def sequence_weights(weights: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the mean weight of the tokens of each sequence, 0 for an empty one."""
    per_sequence = np.add.reduceat(np.append(weights, 0.0), offsets[:-1])
    per_sequence[offsets[1:] == offsets[:-1]] = 0.0
    per_sequence /= np.maximum(np.diff(offsets), 1)
    return per_sequence


def _is_collection(weights: Any) -> bool:
    return (
        hasattr(weights, "__iter__")
        and not np.isscalar(weights)
        and getattr(weights, "shape", None) != ()
    )


def _is_nested(weights: Any) -> bool:
    return isinstance(weights, SequenceArray) or _is_collection(next(iter(weights), 0))
