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
from .._kernels.tree.messages import TreeRows, best_other_labelling
from ..data.ragged import joined_ranges
from ..labels.soft import SoftLabels
from .base import Structure
from .expected import expected_score
from .local import locally_normalised
from .messages import Messages, TreeOrder
from .scaled_sums import ScaledSums
from .scores import AddTo, Pullback, ScoreGradient, Scores, add_with_ends, with_ends


def conditional_scores(
    structure: Structure, scores: Scores, y: np.ndarray, neighbours: Collection[int]
) -> tuple[np.ndarray, Pullback]:
    """What each label of a token adds to the score of a labelling, given its neighbours.

    See :meth:`Capabilities.conditional_scores`.
    """
    y, (previous, current) = np.ascontiguousarray(y, dtype=np.int32), structure.links()
    row, (_, indptr, first, second, score) = structure.link_rows(scores), scores.token_transitions
    # The tokens, their neighbours, and the edges between, the labels of the neighbours first.
    given = {
        -1: (current, previous, (row, indptr, first, second)),
        1: (previous, current, (row, indptr, second, first)),
    }
    conditional = with_ends(scores, structure.ends).astype(scores.state.dtype, copy=False)
    for step in neighbours:
        tokens, others, edges = given[step]
        transition = scores.transition if step < 0 else np.ascontiguousarray(scores.transition.T)
        add_transition_scores(tokens, others, y, transition, *edges, score, conditional)

    def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        gradient = ScoreGradient.of(out, scores)
        add_with_ends(gradient, weight, structure.ends)
        for step in neighbours:
            tokens, others, edges = given[step]
            counts = np.zeros(gradient.transition.shape)
            edge_counts = gradient.token_transitions
            add_transition_counts(tokens, others, y, *edges, weight, counts, edge_counts)
            gradient.transition[:] += counts if step < 0 else counts.T
        return gradient

    return conditional, pullback


class Rooted(Structure):
    """The base of structures in which at most one link leads into each token.

    On a chain the link is from the token before it, on a tree from its parent. A subclass has the
    recursions.
    """

    @abstractmethod
    def take(self, units: slice | np.ndarray) -> "Rooted":
        """As :meth:`Structure.take`."""

    def subset(self, units: np.ndarray, scores: Scores) -> tuple["Rooted", np.ndarray, Scores]:
        """Return structure, tokens and scores of some of the units, in double precision."""
        part = self.take(units)
        tokens = joined_ranges(self.offsets[units], np.diff(part.offsets))
        return part, tokens, scores.tokens(tokens)

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
        where = BatchScores(self.offsets, scores), self.before, self.ends[1], y
        value = np.empty(self.n_units)
        labelling_scores(*where, scores.state, value)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = ScoreGradient.of(out, scores)
            labelling_counts(*where, weight, gradient.state, BatchCounts(gradient))
            return gradient

        return value, pullback

    def expected_score(self, scores: Scores, y: SoftLabels) -> tuple[np.ndarray, Pullback]:
        return expected_score(self, scores, y)

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
        return conditional_scores(self, scores, y, neighbours)

    def locally_normalised(self, scores: Scores) -> Scores:
        return locally_normalised(self, scores)

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        # In double precision, as derivatives by marginals may be of any size.
        sums = self.sums(scores.tokens(slice(None)))
        marginals = sums.marginals()

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = ScoreGradient.of(out, scores)
            centred = weight - np.einsum("tj,tj->t", weight, marginals)[:, None]
            add_with_ends(gradient, sums.covariances(centred, gradient), self.ends)
            return gradient

        return marginals, pullback

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        state = with_ends(direction, self.ends)
        return self.messages(scores).covariance(
            state, direction.transition, direction.token_transitions
        )

    def entropy(self, scores: Scores) -> np.ndarray:
        """As :meth:`Capabilities.entropy` (Hernando et al. 2005)."""
        # log Z - E[score], token by token, so that large scores do not hide small entropies.
        messages = self.messages(scores)
        surprise = _finite(messages.increment)[:, None] - _finite(messages.state)
        edges = messages.token_transitions.score
        mean, _ = messages.covariance(surprise, -_finite(messages.transition), -_finite(edges))
        # Where scores are so large that rounding hides differences, one labelling has all
        # probability.
        mean[np.isnan(mean) & np.isfinite(messages.log_z)] = 0.0
        return np.clip(mean, 0.0, np.diff(self.offsets) * np.log(scores.state.shape[1]))

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y, best = np.ascontiguousarray(y, dtype=np.int32), np.empty(scores.state.shape)
        value, _ = self._maximum(scores, best)
        labels, is_possible = np.empty_like(y), np.empty(self.n_units, dtype=np.uint8)
        batch = BatchScores(self.offsets, scores)
        best_other_labelling(self.levels, batch, y, best, labels, is_possible)
        differing = np.where(is_possible, self.score(scores, labels)[0], -np.inf)
        value = np.where(np.isnan(value), value, differing)
        is_none = np.repeat(np.isneginf(value), np.diff(self.offsets))
        return value, np.where(is_none, y, labels)

    def _maximum(self, scores: Scores, best: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the best labellings, and the best scores of each node and the nodes below it."""
        value, y = np.empty(self.n_units), np.empty(self.n_tokens, dtype=np.int32)
        batch = BatchScores(self.offsets, scores)
        trees.max_trees(self.levels, batch, scores.state, best, y, value)
        return value, y

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Capabilities.log_partition_excluding`.

        It is exact even where the given labelling outweighs all others so much that
        log(Z - exp(its score)) would be lost to rounding.
        """
        return self.messages(scores).excluding(y)

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        noun = "path of sequence" if self.always_sequential else "labelling of unit"
        return self.messages(scores).sample(n_samples, rng, noun)


def _finite(scores: np.ndarray) -> np.ndarray:
    """Scores with 0 in place of -inf: what is impossible has no part in a mean."""
    return np.where(np.isneginf(scores), 0.0, scores)
