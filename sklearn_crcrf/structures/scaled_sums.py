"""Sums over all labellings in scaled probabilities, and the expected counts: their derivatives."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._kernels.chain.scores import BatchCounts, BatchPotentials, BatchScores
from .._kernels.tree import sums as trees
from .scores import AddTo, ScoreGradient, Scores

# Products of probabilities with larger values could overflow.
LARGEST = 1e20


class ScaledSums(ABC):
    """The log-partition of each unit, and what is needed for its derivative.

    Probabilities are scaled. A unit in which a probability could underflow is summed again: from
    single precision in double precision, and from double precision in logarithms. Either
    :meth:`log_partition` sums all units, and :meth:`pullback` finds the counts when it is called;
    or, if the weights are known, :meth:`counts` finds both block by block: then it keeps few
    probabilities, which are still in the cache when they are needed.

    Parameters
    ----------
    structure : Rooted
    scores : Scores

    Attributes
    ----------
    log_z : ndarray of shape (n_units,)
        -inf where no labelling is possible, 0 for a unit without tokens.
    """

    def __init__(self, structure: Any, scores: Scores):
        self._structure, self._given = structure, scores
        self._potentials = BatchPotentials(BatchScores(structure.offsets, scores))
        self.log_z = np.empty(structure.n_units)

    def log_partition(self) -> np.ndarray:
        """Compute the log-partitions, and keep what the pullback needs."""
        self._work = self._work_of(self._structure.n_tokens)
        self._sum(self._work)
        self._sum_again()
        return self.log_z

    def counts(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """Compute the log-partitions, and return their score gradient, at once."""
        return self._gradient(self._work_of(self._largest_block()), self.log_z, weight, out)

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """Return the score gradient of the log-partitions times their weights, added to ``out``.

        Parameters
        ----------
        weight : ndarray of shape (n_units,)
        out : ScoreGradient or ndarray, optional

        Returns
        -------
        ScoreGradient
        """
        return self._gradient(self._work, None, weight, out)

    def add_expected(
        self, weight: np.ndarray, transition: np.ndarray, edges: np.ndarray
    ) -> np.ndarray:
        """Add expected counts of all transitions, as :meth:`Messages.add_expected`."""
        gradient = ScoreGradient.zeros(self._given)
        gradient = gradient._replace(transition=transition, token_transitions=edges)
        return self.pullback(weight, gradient).state

    def marginals(self) -> np.ndarray:
        """Compute the log-partitions, and return the marginals, (n_tokens, n_labels)."""
        self.log_partition()
        return self.pullback(np.ones(self._structure.n_units)).state

    @abstractmethod
    def covariances(self, values: np.ndarray, out: ScoreGradient) -> np.ndarray:
        """Covariances of how often a labelling uses each score and the sum of its labels' values.

        The scores must be in double precision, and :meth:`marginals` must have been called.

        Parameters
        ----------
        values : ndarray of shape (n_tokens, n_labels)
            With a mean of zero at every token.
        out : ScoreGradient
            The covariances of transitions are added to it.

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
            The covariances of state scores.
        """

    @abstractmethod
    def _work_of(self, n_tokens: int) -> tuple[np.ndarray, ...]:
        """Return the arrays for sums over ``n_tokens`` tokens."""

    @abstractmethod
    def _largest_block(self) -> int:
        """Return the number of tokens of the largest block."""

    @abstractmethod
    def _sum(self, work: tuple[np.ndarray, ...]) -> None:
        """Compute the log-partitions: NaN where a probability could underflow."""

    @abstractmethod
    def _add_counts(
        self,
        work: tuple[np.ndarray, ...],
        log_z: np.ndarray | None,
        weight: np.ndarray,
        adds: bool,
        gradient: ScoreGradient,
    ) -> None:
        """Add the expected counts to a gradient, whose ``state`` is overwritten unless ``adds``.

        If ``log_z`` is given, compute the log-partitions too, and set the weight of units to zero
        whose log-partition is NaN.
        """

    def _gradient(
        self,
        work: tuple[np.ndarray, ...],
        log_z: np.ndarray | None,
        weight: np.ndarray,
        out: AddTo,
    ) -> ScoreGradient:
        """Return the score gradient; write the log-partitions to ``log_z`` if it is given."""
        adds = isinstance(out, ScoreGradient)
        if isinstance(out, ScoreGradient):
            gradient = out
        else:
            state = np.empty_like(self._given.state) if out is None else out
            gradient = ScoreGradient.zeros(self._given, state)
        of_the_rest = np.array(weight, dtype=float)
        if log_z is None:
            of_the_rest[self._failed] = 0.0
        self._add_counts(work, log_z, of_the_rest, adds, gradient)
        if log_z is not None:
            self._sum_again()
        self._add_again(np.asarray(weight, dtype=float), gradient)
        return gradient

    def _sum_again(self) -> None:
        """Sum the units again whose log-partition is NaN."""
        self._failed = np.flatnonzero(np.isnan(self.log_z))
        if len(self._failed):
            structure, self._tokens, scores = self._structure.subset(self._failed, self._given)
            if self._given.state.dtype == np.float64:
                self._again = structure.messages(scores)
            else:
                self._again = structure.sums(scores)
                self._again.log_partition()
            self._ends = structure.ends
            self.log_z[self._failed] = self._again.log_z

    def _add_again(self, weight: np.ndarray, counts: ScoreGradient) -> None:
        """Add the expected counts of the units that are summed again."""
        if len(self._failed):
            marginals = self._again.add_expected(
                weight[self._failed], counts.transition, counts.token_transitions
            )
            first, last = self._ends
            counts.state[self._tokens] += marginals
            counts.begin[:] += marginals[first].sum(axis=0)
            counts.end[:] += marginals[last].sum(axis=0)


class TreeSums(ScaledSums):
    """Sums over the labellings of trees: the nodes of a level of a block are summed together.

    Parameters
    ----------
    structure : Rooted
    scores : Scores
    """

    def _work_of(self, n_tokens: int) -> tuple[np.ndarray, ...]:
        """b and m."""
        n_labels, dtype = self._given.state.shape[1], self._given.state.dtype
        return tuple(trees.empty_rows(n_tokens, n_labels, dtype) for _ in range(2))

    def _largest_block(self) -> int:
        return self._structure.levels.largest_block

    def _sum(self, work: tuple[np.ndarray, ...]) -> None:
        given = self._structure.levels, self._potentials, self._given.state
        trees.sum_up(*given, *work, self.log_z)

    def _add_counts(
        self,
        work: tuple[np.ndarray, ...],
        log_z: np.ndarray | None,
        weight: np.ndarray,
        adds: bool,
        gradient: ScoreGradient,
    ) -> None:
        given = self._structure.levels, self._potentials, self._given.state
        counts = gradient.state, BatchCounts(gradient)
        trees.sum_down(*given, *work, log_z, weight, adds, *counts)

    def covariances(self, values: np.ndarray, out: ScoreGradient) -> np.ndarray:
        left_out = np.zeros(self._structure.n_units, dtype=np.uint8)
        left_out[self._failed] = True
        if max(values.max(initial=0.0), -values.min(initial=0.0)) > LARGEST:
            huge = np.flatnonzero(np.abs(values).max(axis=1) > LARGEST)
            left_out[self._structure.units_of(huge)] = True
        states, given = np.zeros_like(values), (self._structure.levels, self._potentials)
        counts = BatchCounts(out)
        trees.tree_covariances(*given, *self._work, left_out, values, states, counts)
        which = np.flatnonzero(left_out)
        if len(which):
            structure, tokens, scores = self._structure.subset(which, self._given)
            direction = np.zeros(scores.transition.shape), np.zeros(len(out.token_transitions))
            _, pullback = structure.messages(scores).covariance(values[tokens], *direction)
            of_these = ScoreGradient.zeros(scores)._replace(
                transition=out.transition, token_transitions=out.token_transitions
            )
            states[tokens] += pullback(np.ones(len(which)), of_these).state
        return states
