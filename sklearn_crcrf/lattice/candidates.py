"""Candidate labels from a fast model, out of fold on training data."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..base.candidates import likely_labels
from ..base.classifier import BaseSequenceClassifier
from ..data.ragged import SequenceArray
from ..structures import Candidates

__all__ = ["CandidateStatistics", "Proposals"]


class CandidateStatistics(NamedTuple):
    """How many candidates there are, and how good they are.

    Parameters
    ----------
    mean_number : float
        The mean number of candidates per token that a model proposed that had not seen the token.
    gold_outside : float
        The fraction of tokens whose gold label was not among these. It was then added.
    """

    mean_number: float
    gold_outside: float


class Proposals(NamedTuple):
    """How candidates are proposed.

    Parameters
    ----------
    estimator : BaseSequenceClassifier
    threshold : float
        Labels of a smaller probability are no candidates.
    classes : ndarray of shape (n_labels,)
        All labels.
    """

    estimator: BaseSequenceClassifier
    threshold: float
    classes: np.ndarray

    def fit(self, X: SequenceArray, y: SequenceArray, weight: np.ndarray) -> BaseSequenceClassifier:
        """A model fitted to all sequences; ``weight`` has one number for each."""
        model = clone(self.estimator)
        return model.fit(X, y) if (weight == 1.0).all() else model.fit(X, y, sample_weight=weight)

    def of(self, model: BaseSequenceClassifier, X: SequenceArray) -> Candidates:
        """The candidates that a fitted model proposes."""
        candidates = likely_labels(model, X, self.threshold)
        return self._renamed(candidates, self._rank(model))

    def out_of_fold(
        self, X: SequenceArray, ids: np.ndarray, weight: np.ndarray, n_folds: int
    ) -> tuple[Candidates, CandidateStatistics]:
        """Candidates of each sequence, proposed by a model that was fitted to other sequences.

        Parameters
        ----------
        X : SequenceArray
        ids : ndarray of shape (n_tokens,)
            Gold labels, as positions in ``classes``; they are always candidates.
        weight : ndarray of shape (n_sequences,)
        n_folds : int
            The folds are runs of sequences.

        Returns
        -------
        candidates : Candidates
        statistics : CandidateStatistics

        Raises
        ------
        ValueError
            If there are fewer sequences than folds.
        """
        n = len(X)
        if n < n_folds:
            raise ValueError(f"cv={n_folds} needs as many sequences, but n_samples={n}")
        cuts = np.arange(n_folds + 1) * n // n_folds
        y = SequenceArray(self.classes[ids], X.offsets)
        parts = []
        for first, last in pairwise(cuts):
            others = np.r_[0:first, last:n]
            model = self.fit(X[others], y[others], weight[others])
            start, stop = X.offsets[first], X.offsets[last]
            parts.append(self._with_gold(model, X[first:last], ids[start:stop]))
        candidates = Candidates.concatenate([part for part, _ in parts])
        n_added = sum(number for _, number in parts)
        n_tokens = max(1, len(ids))
        return candidates, CandidateStatistics(
            (len(candidates.label) - n_added) / n_tokens, n_added / n_tokens
        )

    def _rank(self, model: BaseSequenceClassifier) -> np.ndarray:
        """The position in ``classes`` of each label of a model, which is in the same order."""
        rank = {label: i for i, label in enumerate(self.classes.tolist())}
        return np.array([rank[label] for label in model.classes_.tolist()], dtype=np.int32)

    def _renamed(self, candidates: Candidates, rank: np.ndarray) -> Candidates:
        """Candidates with positions in ``classes``, and log-probabilities above the threshold's."""
        least = np.log(self.threshold)
        return candidates._replace(
            label=rank[candidates.label],
            log_probability=np.maximum(candidates.log_probability, least),
            n_labels=len(self.classes),
        )

    def _with_gold(
        self, model: BaseSequenceClassifier, X: SequenceArray, ids: np.ndarray
    ) -> tuple[Candidates, int]:
        """Candidates of sequences, and how many gold labels had to be added to them."""
        rank = self._rank(model)
        of_model = np.full(len(self.classes), -1)
        of_model[rank] = np.arange(len(rank))
        proposed = likely_labels(model, X, self.threshold, of_model[ids])
        least = np.log(self.threshold)
        gold = rank[proposed.label] == ids[proposed.token]
        best = np.full(len(ids), -np.inf)
        np.maximum.at(best, proposed.token, proposed.log_probability)
        added = gold & (proposed.log_probability < np.minimum(least, best[proposed.token]))
        candidates = self._renamed(proposed, rank)
        missing = np.flatnonzero(of_model[ids] < 0)
        return _added(candidates, missing, ids[missing], least), int(added.sum()) + len(missing)


def _added(
    candidates: Candidates, tokens: np.ndarray, labels: np.ndarray, log_probability: float
) -> Candidates:
    """Candidates, and one more label of each of some tokens."""
    if len(tokens) == 0:
        return candidates
    token = np.append(candidates.token, tokens)
    label = np.append(candidates.label, labels).astype(np.int32)
    logarithm: Any = np.append(candidates.log_probability, np.full(len(tokens), log_probability))
    order = np.lexsort((label, token))
    sizes = np.bincount(token, minlength=len(candidates.indptr) - 1)
    indptr = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return Candidates(indptr, label[order], logarithm[order], candidates.n_labels)
