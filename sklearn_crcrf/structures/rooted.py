"""Structures in which at most one token is before each token: chains, and trees."""

from abc import abstractmethod
from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np

from .._kernels.chain.paths import labelling_counts, labelling_scores
from .._kernels.chain.scores import BatchCounts, BatchScores
from .base import Structure
from .conditional_scores import ConditionalScores
from .covariance import entropy
from .ends import Ends, with_ends
from .local import locally_normalised
from .marginals import TokenMarginals
from .scaled_sums import ScaledSums
from .scores import AddTo, Pullback, ScoreGradient, Scores

__all__ = ["Rooted"]


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

    @abstractmethod
    def messages(self, scores: Scores) -> Any:
        """Sums in logarithms over all labellings."""

    @abstractmethod
    def means(
        self, messages: Any, v_state: np.ndarray, v_transition: np.ndarray, v_edges: np.ndarray
    ) -> Any:
        """Means of a linear function of labellings, from the messages."""

    @cached_property
    def _links(self) -> tuple[np.ndarray, np.ndarray]:
        current = np.flatnonzero(self.before >= 0)
        return self.before[current], current

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self._links

    @cached_property
    def ends(self) -> Ends:
        """The tokens that have begin scores, and the tokens that have end scores."""
        return super().first_tokens(), super().last_tokens()

    def first_tokens(self) -> np.ndarray:
        return self.ends[0]

    def last_tokens(self) -> np.ndarray:
        return self.ends[1]

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
        messages = self.messages(scores)
        means = self.means(messages, v_state, direction.transition, direction.token_transitions)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return means.pullback(weight, ScoreGradient.of(out, scores))

        return means.mean, pullback

    def entropy(self, scores: Scores) -> np.ndarray:
        """As :meth:`Capabilities.entropy` (Hernando et al. 2005)."""
        return entropy(self.messages(scores), self.means, np.diff(self.offsets))
