"""Structures in which at most one token is before each token: chains, and trees."""

from abc import abstractmethod
from collections.abc import Collection
from functools import cached_property

import numpy as np

from .._kernels.chain.paths import (
    add_transition_counts,
    add_transition_scores,
    labelling_counts,
    labelling_scores,
)
from .._kernels.chain.scores import BatchCounts, BatchScores
from .._kernels.tree import sums as trees
from .._kernels.tree.messages import TreeRows
from .base import Structure
from .covariance import Means, entropy
from .excluding import OthersThan, best_excluding
from .local import locally_normalised
from .messages import Messages, TreeOrder
from .scaled_sums import ScaledSums
from .scores import AddTo, Pullback, ScoreGradient, Scores, add_with_ends, with_ends

__all__ = ["ConditionalScores", "Rooted", "TokenMarginals"]


class ConditionalScores:
    """What each label of a token adds to the score of a labelling, given its neighbours.

    See :meth:`Capabilities.conditional_scores`.

    Attributes
    ----------
    scores : ndarray of shape (n_tokens, n_labels)
    """

    def __init__(self, structure: Structure, scores: Scores, y: np.ndarray, steps: Collection[int]):
        self._scores, self._steps = scores, steps
        self._links = structure.links()
        self._ends, self._row = structure.ends, structure.link_rows(scores)
        self._y = np.ascontiguousarray(y, dtype=np.int32)
        self.scores = with_ends(scores, self._ends).astype(scores.state.dtype, copy=False)
        for step in steps:
            add_transition_scores(
                *self._tokens(step),
                self._y,
                _seen_from(step, scores.transition),
                *self._edges(step),
                scores.token_transitions.score,
                self.scores,
            )

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the conditional scores, each times its weight, added to ``out``."""
        gradient = ScoreGradient.of(out, self._scores)
        add_with_ends(gradient, weight, self._ends)
        for step in self._steps:
            transition = np.zeros(gradient.transition.shape)
            add_transition_counts(
                *self._tokens(step),
                self._y,
                *self._edges(step),
                weight,
                transition,
                gradient.token_transitions,
            )
            gradient.transition[:] += _seen_from(step, transition)
        return gradient

    def _tokens(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """The token of each link whose scores are wanted, and its neighbour."""
        previous, current = self._links
        return (current, previous) if step < 0 else (previous, current)

    def _edges(self, step: int) -> tuple:
        """Rows and entries of the token transitions, the labels of the neighbours first."""
        _, indptr, *labels, _ = self._scores.token_transitions
        return self._row, indptr, *labels[::-step]


def _seen_from(step: int, transition: np.ndarray) -> np.ndarray:
    """Transitions, transposed if the neighbour is the later token: its label is the row."""
    return transition if step < 0 else np.ascontiguousarray(transition.T)


class TokenMarginals:
    """The marginals of the labels of all tokens; see :meth:`Capabilities.token_marginals`.

    Marginals are in double precision, as derivatives by marginals may be of any size.

    Parameters
    ----------
    structure : Structure
    scores : Scores
    sums : ScaledSums
        Of the same scores in double precision.

    Attributes
    ----------
    value : ndarray of shape (n_tokens, n_labels)
    """

    def __init__(self, structure: Structure, scores: Scores, sums: ScaledSums):
        self._ends = structure.ends
        self._scores, self._sums = scores, sums
        sums.log_partition()
        self.value = sums.pullback(np.ones(structure.n_units)).state

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the sum of all marginals times their weights, added to ``out``.

        It is the covariance of how often a labelling uses each score and the sum of the weights
        of its labels.
        """
        gradient = ScoreGradient.of(out, self._scores)
        mean = np.einsum("tj,tj->t", weight, self.value)
        states = np.zeros_like(self.value)
        self._sums.add_covariances(weight - mean[:, None], gradient._replace(state=states))
        add_with_ends(gradient, states, self._ends)
        return gradient


class Rooted(Structure):
    """The base of structures in which at most one link leads into each token.

    On a chain the link is from the token before it, on a tree from its parent. A subclass has the
    recursions.
    """

    @abstractmethod
    def take(self, units: slice | np.ndarray) -> "Rooted":
        """As :meth:`Structure.take`."""

    @property
    @abstractmethod
    def before(self) -> np.ndarray:
        """The token before each token, -1 for none; of shape (n_tokens,), int64."""

    @abstractmethod
    def sums(self, scores: Scores) -> ScaledSums:
        """Sums in probabilities over all labellings."""

    @cached_property
    def order(self) -> TreeOrder:
        """The tokens level by level, in which many are summed at once."""
        return TreeOrder.of(self.offsets, self.before)

    @cached_property
    def levels(self) -> TreeRows:
        """The same order, as one argument of kernels."""
        return TreeRows(*self.order)

    @property
    def rows(self) -> TreeRows:
        """The order in which messages are fastest."""
        return self.levels

    def messages(self, scores: Scores) -> Messages:
        """Sums in logarithms over all labellings."""
        return Messages(self.offsets, self.before, self.ends, self.rows, scores)

    @cached_property
    def _links(self) -> tuple[np.ndarray, np.ndarray]:
        current = np.flatnonzero(self.before >= 0)
        return self.before[current], current

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self._links

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        y = np.ascontiguousarray(y, dtype=np.int32)
        where = BatchScores(self.offsets, scores), self.before, *self.ends, y
        value = np.empty(self.n_units)
        labelling_scores(*where, scores.state, value)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = ScoreGradient.of(out, scores)
            labelling_counts(*where, weight, gradient.state, BatchCounts(gradient))
            return gradient

        return value, pullback

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        sums = self.sums(scores)
        return sums.log_partition(), sums.pullback

    def log_partition_and_gradient(
        self, scores: Scores, weight: np.ndarray, out: AddTo = None
    ) -> tuple[np.ndarray, ScoreGradient]:
        sums = self.sums(scores)
        gradient = sums.counts(weight, out)
        return sums.log_z, gradient

    def conditional_scores(
        self, scores: Scores, y: np.ndarray, neighbours: Collection[int] = (-1, 1)
    ) -> tuple[np.ndarray, Pullback]:
        given = ConditionalScores(self, scores, y, neighbours)
        return given.scores, given.pullback

    def locally_normalised(self, scores: Scores) -> Scores:
        return locally_normalised(self, scores)

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        sums = self.sums(scores.tokens(slice(None)))
        marginals = TokenMarginals(self, scores, sums)
        return marginals.value, marginals.pullback

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        v_state = with_ends(direction, self.ends)
        means = Means(
            self.messages(scores), v_state, direction.transition, direction.token_transitions
        )

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return means.pullback(weight, ScoreGradient.of(out, scores))

        return means.mean, pullback

    def entropy(self, scores: Scores) -> np.ndarray:
        """As :meth:`Capabilities.entropy` (Hernando et al. 2005)."""
        return entropy(self.messages(scores), np.diff(self.offsets))

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best = np.empty(scores.state.shape)
        value, _ = self._maximum(scores, best)
        labels, is_possible = best_excluding(self.offsets, self.levels, scores, y, best)
        differing = np.where(is_possible, self.score(scores, labels)[0], -np.inf)
        return np.where(np.isnan(value), value, differing), labels

    def _maximum(self, scores: Scores, best: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The best labellings, and the best scores of each node and the nodes below it."""
        value, y = np.empty(self.n_units), np.empty(self.n_tokens, dtype=np.int32)
        batch = BatchScores(self.offsets, scores)
        trees.max_trees(self.levels, batch, scores.state, best, y, value)
        return value, y

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Capabilities.log_partition_excluding`.

        It is exact even where the given labelling outweighs all others so much that
        log(Z - exp(its score)) would be lost to rounding.
        """
        others = OthersThan(self.messages(scores), scores, y)
        return others.value, others.pullback

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        noun = "path of sequence" if self.always_sequential else "labelling of unit"
        return self.messages(scores).sample(n_samples, rng, noun)
