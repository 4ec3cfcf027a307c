"""Which settings are best on labels that were held out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ...structures import Scores
from .rates import TypedLinks


class HeldOut:
    """Labels in folds, each held out of training once.

    If some labels are unknown, single nodes are held out, and predicted with all other known labels
    given, as unknown labels will be. Else whole samples are held out, and nothing of them is given.

    Parameters
    ----------
    model : SeparateCRF
    attributes : CSR or ndarray of shape (n_tokens, n_attributes)
    ids : ndarray of shape (n_tokens,)
        Label ids, -1 for an unknown label.
    weights : ndarray of shape (n_tokens,)
    links : TypedLinks
    """

    def __init__(
        self,
        model: Any,
        attributes: Any,
        ids: np.ndarray,
        weights: np.ndarray,
        links: TypedLinks,
    ):
        self._model, self._attributes, self._ids = model, attributes, ids
        self._weights, self._links = weights, links
        self._is_partial = bool((ids < 0).any()) or links.structure.n_units < model.n_folds
        self._fold = self._folds()

    @property
    def can_be_tested(self) -> bool:
        """Whether every fold leaves at least two different labels to train on."""
        left = [
            len(np.unique(self._ids[(self._ids >= 0) & (self._fold != number)]))
            for number in range(self._model.n_folds)
        ]
        return min(left) > 1

    def losses(
        self, state: np.ndarray, exponents: Sequence[float], is_symmetric: bool
    ) -> np.ndarray:
        """The weighted Brier score of each held-out label with each exponent.

        Unlike the number of right labels it changes smoothly, and unlike the likelihood it forgives
        the overconfidence of propagation on graphs with cycles.

        Parameters
        ----------
        state : ndarray of shape (n_tokens, n_labels)
            As of :meth:`out_of_fold`.
        exponents : sequence of float
        is_symmetric : bool
            Whether rates have no direction.

        Returns
        -------
        ndarray of shape (n_exponents, n_tokens)
            Zero for tokens that are not held out.
        """
        losses = np.zeros((len(exponents), len(state)))
        for number in range(self._model.n_folds):
            held_out = np.flatnonzero(self._fold == number)
            if len(held_out):
                trained = np.where(self._fold == number, -1, self._ids)
                for k, exponent in enumerate(exponents):
                    p = self._predicted(state, trained, exponent, is_symmetric)
                    losses[k, held_out] = self._loss(p[held_out], held_out)
        return losses

    def _folds(self) -> np.ndarray:
        """The fold of each token with a known label, -1 for the others."""
        rng, n_folds = check_random_state(self._model.random_state), self._model.n_folds
        if self._is_partial:
            fold = np.full(len(self._ids), -1)
            nodes = np.flatnonzero(self._ids >= 0)
            # Shuffled within each label, so that folds have about the same shares of labels.
            order = np.argsort(self._ids[nodes] + rng.random(len(nodes)))
            fold[nodes[order]] = np.arange(len(nodes)) % n_folds
            return fold
        of_unit = rng.permutation(self._links.structure.n_units) % n_folds
        return np.repeat(of_unit, np.diff(self._links.structure.offsets))

    def out_of_fold(self, estimator: Any) -> np.ndarray:
        """Log-probabilities of all nodes, of a known one by a classifier that has not seen it."""
        state = np.zeros((len(self._ids), len(self._model.classes_)))
        for number, nodes in self._parts():
            trained = np.flatnonzero((self._ids >= 0) & (self._fold != number))
            fitted = self._model._trained(
                estimator, self._attributes, self._ids, self._weights, trained
            )
            state[nodes] = self._model._log_probabilities(fitted, self._attributes[nodes])
        return state

    def _parts(self) -> Iterator[tuple[int, np.ndarray]]:
        """The nodes of each fold, and as fold -1 the nodes without a label."""
        for number in range(-1, self._model.n_folds):
            nodes = np.flatnonzero(self._fold == number)
            if len(nodes):
                yield number, nodes

    def _predicted(
        self, state: np.ndarray, trained: np.ndarray, exponent: float, is_symmetric: bool
    ) -> np.ndarray:
        """Probabilities of the labels of all nodes, if the labels of a fold are held out."""
        links, n = self._links, state.shape[1]
        rates = self._model._estimated_rates(links, trained, state, exponent, is_symmetric)
        scores = rates.scores(state, exponent, links.row())
        if self._is_partial:
            known = (trained >= 0)[:, None]
            scores = scores.allow(~known | (trained[:, None] == np.arange(n)))
        return self._probabilities(scores)

    def _loss(self, p: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        """The weighted squared error of the probabilities of each held-out node."""
        error = p.copy()
        error[np.arange(len(held_out)), self._ids[held_out]] -= 1.0
        return self._weights[held_out] * (error**2).sum(axis=1)

    def _probabilities(self, scores: Scores) -> np.ndarray:
        """Marginals; if inference only finds the best labelling, 1 for its labels."""
        if self._links.structure.can("log_partition"):
            return self._links.structure.marginals(scores)[1]
        return np.eye(scores.state.shape[1])[self._links.structure.maximum(scores)[1]]
