"""Candidate labels from a fast model, out of fold on training data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ...base.batch_values import raise_if_impossible, raise_if_not_finite
from ...base.classifier import BaseSequenceClassifier
from ...base.weights import places_of
from ...data.ragged import SequenceArray, joined_ranges
from ...structures import Candidates, Scores, Structure


def likely_labels(
    classifier: BaseSequenceClassifier,
    X: SequenceArray,
    threshold: float,
    gold: np.ndarray | None = None,
) -> Candidates:
    """Find the labels of at least some probability, see :meth:`Structure.likely_labels`.

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
    >>> from sklearn_crcrf.estimators.lattice.candidates import likely_labels
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


# The least and the greatest threshold that is found, and the number of tokens it is found on.
LEAST, MOST, SAMPLE = 1e-10, 1e-4, 20_000
# The mean number of candidates per token that a threshold which is found may leave.
MOST_CANDIDATES = 4
# How many blocks of consecutive sequences each fold has.
N_BLOCKS = 10


class CandidateStatistics(NamedTuple):
    """How many candidates there are, and how good they are.

    Parameters
    ----------
    mean_number : float
        The mean number of candidates per token that a model proposed that had not seen the token.
    gold_outside : float
        The fraction of tokens whose gold label was not among these. It was then added.
    found : float
        Where most tokens have one label, such as "O", the fraction of all other tokens whose gold
        label was the most probable of these; else 1.
    """

    mean_number: float
    gold_outside: float
    found: float = 1.0


class Fold(NamedTuple):
    """Sequences that a model has not seen.

    Parameters
    ----------
    model : BaseSequenceClassifier
    X : SequenceArray
    ids : ndarray of shape (n_tokens,)
        Gold labels.
    tokens : int ndarray of shape (n_tokens,)
        The numbers of their tokens among those of all sequences.
    """

    model: BaseSequenceClassifier
    X: SequenceArray
    ids: np.ndarray
    tokens: np.ndarray


class Proposals(NamedTuple):
    """How candidates are proposed.

    Parameters
    ----------
    estimator : BaseSequenceClassifier
    classes : ndarray of shape (n_labels,)
        All labels.
    """

    estimator: BaseSequenceClassifier
    classes: np.ndarray

    def fit(self, X: SequenceArray, y: SequenceArray, weight: np.ndarray) -> BaseSequenceClassifier:
        """Return a model fitted to all sequences; ``weight`` has one number for each."""
        model = clone(self.estimator)
        return model.fit(X, y) if (weight == 1.0).all() else model.fit(X, y, sample_weight=weight)

    def of(
        self,
        model: BaseSequenceClassifier,
        X: SequenceArray,
        threshold: float,
        ids: np.ndarray | None = None,
    ) -> tuple[Candidates, int]:
        """Return the candidates that a fitted model proposes, always with the gold labels.

        Parameters
        ----------
        model : BaseSequenceClassifier
        X : SequenceArray
        threshold : float
            Labels of a smaller probability are no candidates.
        ids : ndarray of shape (n_tokens,), optional
            Gold labels.

        Returns
        -------
        candidates : Candidates
            Their labels are positions in ``classes``, as gold labels are.
        n_added : int
            How many gold labels the model did not propose.
        """
        place = places_of(model.classes_, self.classes).astype(np.int32)
        gold = None if ids is None else places_of(self.classes, model.classes_)[ids]
        found, least = likely_labels(model, X, threshold, gold), np.log(threshold)
        candidates = found._replace(
            label=place[found.label],
            log_probability=np.maximum(found.log_probability, least),
            n_labels=len(self.classes),
        )
        if ids is None or gold is None:
            return candidates, 0
        best = np.full(len(ids), -np.inf)
        np.maximum.at(best, found.token, found.log_probability)
        is_below = found.log_probability < np.minimum(least, best)[found.token]
        n_added = int((is_below & (candidates.label == ids[found.token])).sum())
        missing = np.flatnonzero(gold < 0)
        return _added(candidates, missing, ids[missing], least), n_added + len(missing)

    def folds(
        self, X: SequenceArray, ids: np.ndarray, weight: np.ndarray, n_folds: int
    ) -> list[Fold]:
        """Return the sequences of each fold, with a model that was fitted to all others.

        Corpora are often sorted, by their sources or kinds. So a fold has several blocks of
        sequences from all over the data; and sequences that follow each other, which often are
        of one document, are mostly in one block.

        Parameters
        ----------
        X : SequenceArray
        ids : ndarray of shape (n_tokens,)
            Gold labels, as positions in ``classes``.
        weight : ndarray of shape (n_sequences,)
        n_folds : int
            As many as there are sequences, if there are fewer.

        Raises
        ------
        ValueError
            If there is one sequence only.
        """
        n = len(X)
        if n < 2:
            raise ValueError(f"LatticeCRF needs two sequences, but n_samples={n}")
        n_folds = min(n, n_folds)
        y, folds = SequenceArray(self.classes[ids], X.offsets), []
        fold = np.arange(n) * min(n, n_folds * N_BLOCKS) // n % n_folds
        for number in range(n_folds):
            own, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            model = self.fit(X[others], y[others], weight[others])
            tokens = joined_ranges(X.offsets[own], X.lengths[own])
            folds.append(Fold(model, X[own], ids[tokens], tokens))
        return folds

    def threshold(self, folds: Sequence[Fold], outside: float) -> float:
        """Return the threshold that leaves out about a given fraction of the gold labels.

        It is found on a part of the tokens, from 1e-10 to 1e-4. A higher one is taken if there
        would be more than four candidates per token.
        """
        of_gold, of_all, n_sampled = [], [], 0
        for model, X, ids, _ in folds:
            n_tokens = max(1, len(ids))
            sample = np.arange(0, len(X), max(1, len(folds) * n_tokens // SAMPLE))
            own = SequenceArray(ids, X.offsets)[sample].data
            candidates, _ = self.of(model, X[sample], LEAST, own)
            logarithm = candidates.log_probability
            of_gold.append(logarithm[candidates.label == own[candidates.token]])
            of_all.append(logarithm)
            n_sampled += len(own)
        probability = np.exp(np.sort(np.concatenate(of_all))[::-1])
        least = float(np.exp(np.quantile(np.concatenate(of_gold), outside)))
        limit = min(MOST_CANDIDATES * n_sampled, len(probability)) - 1
        return float(np.clip(max(least, probability[limit]), LEAST, MOST))

    def out_of_fold(
        self, folds: Sequence[Fold], threshold: float
    ) -> tuple[Candidates, CandidateStatistics]:
        """Return candidates of all sequences, always with the gold labels.

        Parameters
        ----------
        folds : sequence of Fold
        threshold : float
            Labels of a smaller probability are no candidates.

        Returns
        -------
        candidates : Candidates
        statistics : CandidateStatistics
        """
        parts = [self.of(model, X, threshold, ids) for model, X, ids, _ in folds]
        order = np.argsort(np.concatenate([fold.tokens for fold in folds]))
        candidates = Candidates.concatenate([part for part, _ in parts]).take(order)
        n_added = sum(number for _, number in parts)
        n_tokens = max(1, len(candidates.indptr) - 1)
        gold = np.concatenate([fold.ids for fold in folds])[order]
        return candidates, CandidateStatistics(
            (len(candidates.label) - n_added) / n_tokens,
            n_added / n_tokens,
            _found(candidates, gold),
        )


def _found(candidates: Candidates, gold: np.ndarray) -> float:
    """Return the fraction of labels but "O" that are found; see :class:`CandidateStatistics`."""
    is_other = gold != np.bincount(gold).argmax()
    best = np.maximum.reduceat(candidates.log_probability, candidates.indptr[:-1])
    is_found = candidates.log_probability[candidates.indptr[:-1] + candidates.find(gold)] >= best
    return float(is_found[is_other].mean()) if 0.0 < is_other.mean() < 0.5 else 1.0


def _added(
    candidates: Candidates, tokens: np.ndarray, labels: np.ndarray, log_probability: float
) -> Candidates:
    """Return candidates, and one more label of each of some tokens."""
    if len(tokens) == 0:
        return candidates
    token = np.append(candidates.token, tokens)
    label = np.append(candidates.label, labels).astype(np.int32)
    logarithm: Any = np.append(candidates.log_probability, np.full(len(tokens), log_probability))
    order = np.lexsort((label, token))
    sizes = np.bincount(token, minlength=len(candidates.indptr) - 1)
    indptr = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return Candidates(indptr, label[order], logarithm[order], candidates.n_labels)
