"""The likely labels of each token, as a classifier sees them."""

import numpy as np

from ..data.ragged import SequenceArray
from ..structures import Candidates, Scores, Structure
from .batch_values import raise_if_impossible, raise_if_not_finite
from .classifier import BaseSequenceClassifier

__all__ = ["likely_labels"]


def likely_labels(
    classifier: BaseSequenceClassifier,
    X: SequenceArray,
    threshold: float,
    gold: np.ndarray | None = None,
) -> Candidates:
    """The labels of at least some probability, as :meth:`Structure.likely_labels` finds them.

    Parameters
    ----------
    classifier : fitted classifier
    X : SequenceArray
    threshold : float in (0, 1)
    gold : ndarray of shape (n_tokens,), optional
        Label ids that are always candidates; -1 for none.

    Returns
    -------
    Candidates
        At least one label for each token.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, SequenceArray
    >>> from sklearn_crcrf.base.candidates import likely_labels
    >>> crf = EmpiricalCRF().fit([["a", "b"], ["b", "a"]], [["x", "y"], ["y", "x"]])
    >>> likely_labels(crf, SequenceArray.from_sequences([["a"]]), 0.5).label
    array([0], dtype=int32)
    """

    def find(structure: Structure, scores: Scores, first: int) -> Candidates:
        start = X.offsets[first]
        own = None if gold is None else gold[start : start + structure.n_tokens]
        log_z, candidates = structure.likely_labels(scores, threshold, own)
        raise_if_not_finite(log_z, structure, scores, first)
        raise_if_impossible(log_z, first)
        return candidates

    found, _ = classifier._map(X, find)
    return Candidates.concatenate(found)
