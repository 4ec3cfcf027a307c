"""Epochs of the perceptron, and the weights that result.

A learner changes by whole epochs: an interrupted epoch leaves it as it was.
"""

from copy import copy
from typing import NamedTuple, Self

import numpy as np

from ...linear import Coefficients, Examples, correct
from .voting import WeightHistory

__all__ = ["LEARNERS", "LastWeights", "Learned", "MeanWeights", "Rows", "VotingWeights"]


class Learned(NamedTuple):
    """The state of training, from which it can be continued.

    Parameters
    ----------
    weights : Coefficients
        The weights for prediction.
    last : Coefficients
        The weights after the last example.
    n_seen : int
        Number of examples seen.
    history : WeightHistory or None
    """

    weights: Coefficients
    last: Coefficients
    n_seen: int
    history: WeightHistory | None = None


class Rows(NamedTuple):
    """Some of the rows of Coefficients.

    Parameters
    ----------
    state, pairs : ndarray of int
    """

    state: np.ndarray
    pairs: np.ndarray

    def take(self, coefficients: Coefficients) -> Coefficients:
        """A copy of these rows."""
        return Coefficients(coefficients.state[self.state], coefficients.pairs[self.pairs])

    def put(self, own: Coefficients, coefficients: Coefficients) -> None:
        """Write these rows."""
        coefficients.state[self.state], coefficients.pairs[self.pairs] = own


class LastWeights:
    """A learner that predicts with the weights after the last example.

    Parameters
    ----------
    start : Learned
    """

    def __init__(self, start: Learned):
        self._last, self._n_seen = start.last.copy(), start.n_seen
        self._spare = self._last.copy()

    def learned(self) -> Learned:
        """The present state, in arrays of its own."""
        last = self._last.copy()
        return Learned(last, last, self._n_seen)

    def part(self, rows: Rows) -> Self:
        """A learner of some of the weights, in the same state."""
        twin = copy(self)
        own = {name: rows.take(value) for name, value in self._coefficients()}
        vars(twin).update(own)
        return twin

    def put(self, rows: Rows, part: Self) -> None:
        """Take over the state of a learner of some of the weights."""
        for name, own in part._coefficients():
            rows.put(own, getattr(self, name))
        self._n_seen = part._n_seen

    def _coefficients(self) -> list[tuple[str, Coefficients]]:
        """The attributes that have a value for each weight."""
        values = vars(self).items()
        return [(name, value) for name, value in values if isinstance(value, Coefficients)]

    def copy(self) -> "LastWeights":
        """Another learner in the same state."""
        return type(self)(self.learned())

    def learn(
        self, examples: Examples, order: np.ndarray, cost: np.ndarray | None = None
    ) -> np.ndarray:
        """Correct the weights by the sequences that they label wrongly, one after another.

        Parameters
        ----------
        examples : Examples
        order : ndarray of int
            The sequences to learn from.
        cost : ndarray of shape (n_sequences,), optional
            Added to the score of each wrong label.

        Returns
        -------
        ndarray of shape (n_tokens,)
            The labels that were predicted for each sequence before its correction.
        """
        self._spare.assign(self._last)
        if cost is None:
            cost = np.zeros(examples.n_sequences)
        found, rate, changed = self._correct(examples, order, cost)
        before = np.zeros(examples.n_sequences, dtype=np.int64)
        before[order] = self._n_seen + np.arange(len(order))
        n_seen = self._n_seen + len(order)
        more = changed | self._follow(examples, found, before, rate, n_seen)
        # In one step: an interrupt comes before or after it.
        vars(self).update(more, _last=self._spare, _spare=self._last, _n_seen=n_seen)
        return found

    def _correct(
        self, examples: Examples, order: np.ndarray, cost: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, dict]:
        """Correct the spare weights.

        Returns
        -------
        found : ndarray of shape (n_tokens,)
        rate : ndarray of shape (n_sequences,)
            The size of the correction of each sequence.
        more : dict
            Other attributes to update.
        """
        found, _ = correct(examples, self._spare, order, examples.weight, cost)
        return found, examples.weight, {}

    def _follow(
        self,
        examples: Examples,
        found: np.ndarray,
        before: np.ndarray,
        rate: np.ndarray,
        n_seen: int,
    ) -> dict:
        """Other attributes to update; ``before`` is the number of examples before each."""
        return {}


class MeanWeights(LastWeights):
    """The mean of the weights after each example (Collins 2002).

    A correction made after c of n examples is part of the weights after each of the last n - c.
    So the mean is the last weights minus the sum of ``c * correction / n``. The sum of
    ``c * correction`` is called the lag.
    """

    def __init__(self, start: Learned):
        super().__init__(start)
        self._lag = Coefficients(
            *(
                start.n_seen * (last - mean)
                for last, mean in zip(start.last, start.weights, strict=True)
            )
        )
        self._spare_lag = self._lag.copy()

    def learned(self) -> Learned:
        """The present state, in arrays of its own."""
        mean = Coefficients(*(lag / -max(self._n_seen, 1) for lag in self._lag))
        for part, last in zip(mean, self._last, strict=True):
            part += last
        return super().learned()._replace(weights=mean)

    def _follow(
        self,
        examples: Examples,
        found: np.ndarray,
        before: np.ndarray,
        rate: np.ndarray,
        n_seen: int,
    ) -> dict:
        self._spare_lag.assign(self._lag)
        lagging = before * rate
        for lag, new in zip(self._spare_lag, examples.differences(found), strict=True):
            np.add.at(lag.reshape(-1), new.place, lagging[new.sequence] * new.value)
        return {"_lag": self._spare_lag, "_spare_lag": self._lag}


class VotingWeights(MeanWeights):
    """The weights after each example vote; where no vote is possible, their mean is used."""

    def __init__(self, start: Learned):
        super().__init__(start)
        self._history = WeightHistory.of(start.last) if start.history is None else start.history

    def learned(self) -> Learned:
        """The present state, in arrays of its own."""
        return super().learned()._replace(history=self._history)

    def _follow(
        self,
        examples: Examples,
        found: np.ndarray,
        before: np.ndarray,
        rate: np.ndarray,
        n_seen: int,
    ) -> dict:
        differences = examples.differences(found)
        history = self._history.after(n_seen, before, rate, differences, examples.n_labels)
        return {**super()._follow(examples, found, before, rate, n_seen), "_history": history}


LEARNERS = {"none": LastWeights, "mean": MeanWeights, "vote": VotingWeights}
"""Learners, by the value of ``averaging``."""
