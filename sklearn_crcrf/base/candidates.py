"""The likely labels of each token, as a classifier sees them."""

from typing import Any

import numpy as np

from ..data.ragged import SequenceArray
from ..structures import Candidates, Lattice, Scores, Structure
from .classifier import BaseSequenceClassifier, raise_if_impossible, raise_if_not_finite

__all__ = ["likely_labels"]

# Number of labels of a token whose paths are summed over.
MOST = 16


def likely_labels(
    classifier: BaseSequenceClassifier,
    X: SequenceArray,
    threshold: float,
    gold: np.ndarray | None = None,
) -> Candidates:
    """The labels of at least some probability, in a cascade.

    First only the labels are left that have one of the 16 best state scores of their token, not
    more than ``-log(threshold)`` below the best. The posterior probabilities, from exact sums over
    the paths that are left, decide about the rest (Weiss & Taskar 2010). Where the structure of
    X is not a chain of first order, there is only this second step, over all labels.

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
        if structure.own_scores or not structure.is_sequential():
            log_z, probability = structure.marginals(scores)
            candidates = Candidates.above(probability, threshold, own)
        else:
            best = best_states(scores.state, -np.log(threshold), own)
            lattice = Lattice(structure.offsets, Candidates.of(best, best))
            log_z, pullback = lattice.log_partition(lattice.scores_of(scores))
            summed: Any = pullback(np.ones(lattice.n_units))
            candidates = lattice.candidates.pruned(summed.state, threshold, own)
        raise_if_not_finite(log_z, structure, scores, first)
        raise_if_impossible(log_z, first)
        return candidates

    found, _ = classifier._map(X, find)
    return Candidates.concatenate(found)


def best_states(state: np.ndarray, margin: float, gold: np.ndarray | None) -> np.ndarray:
    """Which labels have one of the best state scores of their token, bool (n_tokens, n_labels)."""
    if len(state) == 0:
        return np.zeros(state.shape, dtype=bool)
    best = state >= (state.max(axis=1) - state.dtype.type(margin))[:, None]
    many = np.flatnonzero(best.sum(axis=1) > MOST)
    if len(many):
        least = -np.partition(-state[many], MOST - 1, axis=1)[:, MOST - 1]
        best[many] &= state[many] >= least[:, None]
    if gold is not None:
        known = np.flatnonzero(gold >= 0)
        best[known, gold[known]] = True
    return best
