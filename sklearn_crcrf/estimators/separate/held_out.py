"""Which settings are best on labels that were held out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ...structures import Scores, Structure
from .nodes import Nodes, log_probabilities
from .rates import LinkEvidence, TypedLinks, labels_left
from .row_crf import roughly

# By how many standard errors links of graphs with cycles, or their direction, must lower the loss,
# or else they are not used.
LEAST_GAIN = 2.0
# Loss of labels that a model finds impossible: minus the logarithm of a very small probability.
MOST = 700.0


class Settings(NamedTuple):
    """A classifier of nodes, the exponent of rates, and whether rates have no direction."""

    estimator: Any
    exponent: float
    is_symmetric: bool


class Fold(NamedTuple):
    """Labels that are held out of training.

    Parameters
    ----------
    trained : ndarray of shape (n_tokens,)
        The ids of the other labels, -1 for those that are held out or not known.
    is_held_out : bool ndarray of shape (n_tokens,)
    units : ndarray of int
        The units that have labels of the fold.
    is_partial : bool
        Whether the other labels of these units are given in prediction.
    """

    trained: np.ndarray
    is_held_out: np.ndarray
    units: np.ndarray
    is_partial: bool


class HeldOut:
    """Labels in folds, each held out of training once.

    If some labels are unknown, single nodes are held out, and predicted with all other known labels
    given, as unknown labels will be. Else whole samples are held out, and nothing of them is given.

    Parameters
    ----------
    nodes : Nodes
    links : TypedLinks
    sigma : float
        Width of the priors of rates.
    n_folds : int
    random_state : int, RandomState or None
    """

    def __init__(
        self, nodes: Nodes, links: TypedLinks, sigma: float, n_folds: int, random_state: Any
    ):
        self._nodes, self._links, self._sigma, self._n_folds = nodes, links, sigma, n_folds
        structure, rng = links.structure, check_random_state(random_state)
        self._is_partial = bool((nodes.ids < 0).any()) or structure.n_units < n_folds
        # The fold of each token with a known label, -1 for the others.
        if self._is_partial:
            self._fold = np.full(len(nodes.ids), -1)
            known = np.flatnonzero(nodes.ids >= 0)
            # Shuffled within each label, so that folds have about the same shares of labels.
            order = np.argsort(nodes.ids[known] + rng.random(len(known)))
            self._fold[known[order]] = np.arange(len(known)) % n_folds
        else:
            fold_of_unit = folds_of_units(structure.n_units, n_folds, rng)
            self._fold = np.repeat(fold_of_unit, np.diff(structure.offsets))

    def best(
        self, estimators: Sequence[Any], exponents: Sequence[float], symmetric: Sequence[bool]
    ) -> Settings:
        """Return the settings with the least loss of held-out labels.

        On graphs with cycles, links must lower the loss, and so must their direction, by more than
        chance would.

        Parameters
        ----------
        estimators : sequence of classifiers
        exponents : sequence of float
            In increasing order.
        symmetric : sequence of bool
            Whether rates may have no direction; True first, if both.
        """
        if len(estimators) * len(exponents) * len(symmetric) == 1 or not self._can_be_tested():
            return Settings(estimators[-1], float(exponents[0]), symmetric[0])
        states = [self._out_of_fold(each) for each in estimators]
        losses = np.array([self._losses(state, exponents, symmetric[0]) for state in states])
        k, e = map(int, np.unravel_index(np.argmin(losses.sum(axis=2)), losses.shape[:2]))
        least, is_symmetric = losses[k, e], symmetric[0]
        if len(symmetric) > 1:
            directed = self._losses(states[k], exponents, symmetric[1])
            best = int(np.argmin(directed.sum(axis=1)))
            if is_lower(directed[best], least):
                is_symmetric, e, least = symmetric[1], best, directed[best]
        alone = int(np.argmin(losses[:, 0].sum(axis=1)))
        if exponents[0] == 0.0 and not are_of_use(self._links.structure, least, losses[alone, 0]):
            k, e = alone, 0
        return Settings(estimators[k], float(exponents[e]), is_symmetric)

    def first_fold(self) -> "Fold | None":
        """Return the fold that is held out first; None if too few labels would be left."""
        if not self._can_be_tested():
            return None
        units = np.arange(self._links.structure.n_units)
        if not self._is_partial:
            offsets = self._links.structure.offsets
            is_filled = np.diff(offsets) > 0
            units = units[is_filled][self._fold[offsets[:-1][is_filled]] == 0]
        trained = np.where(self._fold == 0, -1, self._nodes.ids)
        return Fold(trained, self._fold == 0, units, self._is_partial)

    def _can_be_tested(self) -> bool:
        """Return whether every fold leaves at least two different labels to train on."""
        ids, folds = self._nodes.ids, range(self._n_folds)
        return min(len(np.unique(ids[(ids >= 0) & (self._fold != k)])) for k in folds) > 1

    def _out_of_fold(self, estimator: Any) -> np.ndarray:
        """Log-probabilities of all nodes, of a known one by a classifier that has not seen it."""
        nodes, estimator = self._nodes, roughly(estimator)
        state = np.zeros((len(nodes.ids), nodes.n_labels))
        for number in np.unique(self._fold):
            fitted, own = nodes.fitted(estimator, self._fold != number), self._fold == number
            state[own] = log_probabilities(fitted, nodes.attributes[own], nodes.n_labels)
        return state

    def _losses(
        self, state: np.ndarray, exponents: Sequence[float], is_symmetric: bool
    ) -> np.ndarray:
        """Return the losses of the labels of all folds, (n_exponents, n_losses)."""
        losses, (_, ids, weights, _), links = [], self._nodes, self._links
        for number in range(self._n_folds):
            is_held_out = self._fold == number
            trained = np.where(is_held_out, -1, ids)
            given = trained if self._is_partial else np.full_like(ids, -1)
            tokens = HeldOutTokens(ids, weights, given, is_held_out)
            evidence = LinkEvidence(links, trained, state)
            all_rates = evidence.rates(exponents, self._sigma, is_symmetric)
            of_fold = [
                tokens.losses(links.structure, rates.scores(state, exponent, links.row()))
                for rates, exponent in zip(all_rates, exponents, strict=True)
            ]
            losses.append(of_fold)
        return np.concatenate(losses, axis=1)


class HeldOutTokens(NamedTuple):
    """Labels that a model has not seen, among others.

    Parameters
    ----------
    ids : int ndarray of shape (n_tokens,)
        The labels of all tokens, -1 if not known.
    weights : ndarray of shape (n_tokens,)
    given : int ndarray of shape (n_tokens,)
        The labels that are given in prediction, -1 for all others.
    is_held_out : bool ndarray of shape (n_tokens,)
    """

    ids: np.ndarray
    weights: np.ndarray
    given: np.ndarray
    is_held_out: np.ndarray

    def losses(self, structure: Structure, scores: Scores) -> np.ndarray:
        """Return how far scores are from the held-out labels.

        On chains and forests this is minus the log-probability of all held-out labels of a unit,
        shape (n_units,). On graphs with cycles it is the Brier score of each label, shape
        (n_held_out,), because propagation is too sure there.
        """
        n_labels, chosen = scores.state.shape[1], self.is_held_out
        scores = scores.allow(labels_left(self.given, n_labels))
        if not structure.is_directed:
            error = beliefs(structure, scores)[chosen]
            error[np.arange(len(error)), self.ids[chosen]] -= 1.0
            return self.weights[chosen] * (error**2).sum(axis=1)
        held_out = np.where(chosen, self.ids, self.given)
        of_labels = structure.log_partition(scores.allow(labels_left(held_out, n_labels)))[0]
        unit = np.repeat(np.arange(structure.n_units), np.diff(structure.offsets))[chosen]
        n_tokens, weight = (
            np.bincount(unit, w, structure.n_units) for w in (None, self.weights[chosen])
        )
        surprise = np.minimum(structure.log_partition(scores)[0] - of_labels, MOST)
        return surprise * weight / np.maximum(n_tokens, 1)


def beliefs(structure: Structure, scores: Scores) -> np.ndarray:
    """Return the probabilities of the labels of all tokens, or ones for the best labels."""
    if structure.can("log_partition"):
        return structure.marginals(scores)[1]
    return np.eye(scores.state.shape[1])[structure.maximum(scores)[1]]


def are_of_use(structure: Structure, loss: np.ndarray, alone: np.ndarray) -> bool:
    """Return whether losses with links are low enough that links should be used."""
    return structure.is_directed or is_lower(loss, alone)


def is_lower(loss: np.ndarray, other: np.ndarray) -> bool:
    """Return whether a sum of losses is below another one by more than chance would make it."""
    gain = other - loss
    gain = gain[(other != 0) | (loss != 0)]
    return bool(gain.sum() > LEAST_GAIN * np.sqrt(len(gain)) * gain.std()) if len(gain) else False


def folds_of_units(n_units: int, n_folds: int, random_state: Any) -> np.ndarray:
    """Return the fold in which each unit is held out, of shape (n_units,)."""
    return check_random_state(random_state).permutation(n_units) % n_folds
