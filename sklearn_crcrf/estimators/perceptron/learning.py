"""Epochs of the perceptron, and the weights that result.

A learner changes by whole epochs: an interrupted epoch leaves it as it was.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from ...base.weights import NamedWeights, Weights, places_of
from ...linear.examples import Coefficients, Examples, correct, step_by_margin
from .voting import Corrections, WeightHistory


class Known(NamedTuple):
    """The state of training, with the names of attributes and labels.

    Parameters
    ----------
    named : NamedWeights
        The weights for prediction.
    last : Weights
        The weights after the last example.
    n_seen : int
        Number of examples seen.
    history : WeightHistory or None
    """

    named: NamedWeights
    last: Weights
    n_seen: int
    history: WeightHistory | None

    def coefficients(self, named: NamedWeights, fitted: Any) -> Coefficients:
        """Return weights for the attributes and labels of an estimator, zero for new ones."""
        edge_names = fitted.edge_attribute_names_
        weights = named.matching(fitted.attribute_names_, edge_names, fitted.classes_)
        return Coefficients.of(weights, fitted.boundaries)

    def history_of(self, fitted: Any) -> WeightHistory | None:
        """Return the history of the weights of an estimator that has all known attributes."""
        if self.history is None:
            return None
        names, classes = fitted.attribute_names_, fitted.classes_
        attributes = places_of(self.named.names, names)
        edges = places_of(self.named.edge_names, fitted.edge_attribute_names_)
        return self.history.renumbered(
            np.concatenate([attributes, len(names) + np.arange(2)]),
            np.append(0, 1 + edges),
            places_of(self.named.classes, classes),
            len(classes),
        )


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

    @classmethod
    def start(
        cls, nothing: Coefficients, known: Known | None, fitted: Any, goes_on: bool = False
    ) -> "Learned":
        """Return where training starts.

        Parameters
        ----------
        nothing : Coefficients
            Weights that are all zero.
        known : Known or None
            What an earlier fit has learned.
        fitted : estimator
            Has the attributes and the labels to train on.
        goes_on : bool
            Whether training goes on with the state of the earlier fit, all of whose attributes and
            labels it has; else it begins anew at the weights to predict with.
        """
        if known is None:
            return cls(nothing, nothing, 0)
        weights = known.coefficients(known.named, fitted)
        if not goes_on:
            weights = weights._replace(state=weights.state.astype(nothing.state.dtype))
            return cls(weights, weights, 0)
        last = known.coefficients(known.named._replace(weights=known.last), fitted)
        return cls(weights, last, known.n_seen, known.history_of(fitted))


class Rows(NamedTuple):
    """Some of the rows of Coefficients.

    Parameters
    ----------
    state, pairs : ndarray of int
    """

    state: np.ndarray
    pairs: np.ndarray

    def take(self, coefficients: Coefficients) -> Coefficients:
        """Return a copy of these rows."""
        return Coefficients(coefficients.state[self.state], coefficients.pairs[self.pairs])

    def put(self, own: Coefficients, coefficients: Coefficients) -> None:
        """Write these rows."""
        coefficients.state[self.state], coefficients.pairs[self.pairs] = own


class MarginRule(NamedTuple):
    """How the size of a step depends on the margin.

    Parameters
    ----------
    power : float
        The margin is the number of wrong labels to this power.
    sizes : callable
        Makes bound, slack and spread from the weights of the sequences, which are not zero.
    variance : float or None
        Of all weights before training; None if weights have no variances.
    """

    power: float
    sizes: Callable[[np.ndarray], tuple]
    variance: float | None = None

    def sizes_of(self, weight: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return bound, slack and spread for weights of sequences, some of which may be zero."""
        used, sizes = weight > 0, self.sizes(np.where(weight > 0, weight, 1.0))
        pairs = zip(sizes, (0.0, np.inf, np.inf), strict=True)
        return tuple(np.where(used, size, nothing) * 1.0 for size, nothing in pairs)


class LastWeights:
    """A learner that predicts with the weights after the last example.

    Parameters
    ----------
    start : Learned
    rule : MarginRule, optional
        By default a correction is as large as the weight of its sequence.
    """

    def __init__(self, start: Learned, rule: MarginRule | None = None):
        self._last, self._n_seen, self._rule = start.last.copy(), start.n_seen, rule
        self._spare = self._last.copy()
        self._variances: Coefficients | None = None
        if rule is not None and rule.variance is not None:
            parts = (np.full(part.shape, float(rule.variance)) for part in start.last)
            self._variances = Coefficients(*parts)

    def learned(self) -> Learned:
        """Return the present state, in arrays of its own."""
        last = self._last.copy()
        return Learned(last, last, self._n_seen)

    def part(self, rows: Rows) -> Self:
        """Return a learner of some of the weights, in the same state."""
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
        """Return the attributes that have a value for each weight."""
        values = vars(self).items()
        return [(name, value) for name, value in values if isinstance(value, Coefficients)]

    def copy(self) -> Self:
        """Another learner in the same state."""
        twin = type(self)(self.learned(), self._rule)
        twin._variances = self._variances
        return twin

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
        variances = self._variances
        if self._rule is None:
            rate = examples.weight
            cost = np.zeros(examples.n_sequences) if cost is None else cost
            found, _ = correct(examples, self._spare, order, rate, cost)
        else:
            variances = None if variances is None else variances.copy()
            power, sizes = self._rule.power, self._rule.sizes_of(examples.weight)
            found, rate = step_by_margin(examples, self._spare, order, power, sizes, variances)
        before = np.zeros(examples.n_sequences, dtype=np.int64)
        before[order] = self._n_seen + np.arange(len(order))
        corrections = Corrections(examples, found, before, rate, self._n_seen + len(order))
        more = self._follow(corrections)
        # In one step: an interrupt comes before or after it.
        vars(self).update(
            more,
            _last=self._spare,
            _spare=self._last,
            _variances=variances,
            _n_seen=corrections.n_seen,
        )
        return found

    def _follow(self, corrections: Corrections) -> dict:
        """Return other attributes to update after an epoch."""
        return {}


class MeanWeights(LastWeights):
    """The mean of the weights after each example (Collins 2002).

    A correction made after c of n examples is part of the weights after each of the last n - c.
    So the mean is the last weights minus the sum of ``c * correction / n``. The sum of
    ``c * correction`` is called the lag.
    """

    def __init__(self, start: Learned, rule: MarginRule | None = None):
        super().__init__(start, rule)
        pairs = zip(start.last, start.weights, strict=True)
        self._lag = Coefficients(*(start.n_seen * (last - mean) for last, mean in pairs))
        self._spare_lag = self._lag.copy()

    def learned(self) -> Learned:
        """Return the present state, in arrays of its own."""
        mean = Coefficients(*(lag / -max(self._n_seen, 1) for lag in self._lag))
        for part, last in zip(mean, self._last, strict=True):
            part += last
        return super().learned()._replace(weights=mean)

    def _follow(self, corrections: Corrections) -> dict:
        self._spare_lag.assign(self._lag)
        lagging = corrections.before * corrections.rate
        for lag, new in zip(self._spare_lag, corrections.differences, strict=True):
            np.add.at(lag.reshape(-1), new.place, lagging[new.sequence] * new.value)
        return {"_lag": self._spare_lag, "_spare_lag": self._lag}


class VotingWeights(MeanWeights):
    """The weights after each example vote; where no vote is possible, their mean is used."""

    def __init__(self, start: Learned, rule: MarginRule | None = None):
        super().__init__(start, rule)
        self._history = WeightHistory.of(start.last) if start.history is None else start.history

    def learned(self) -> Learned:
        """Return the present state, in arrays of its own."""
        return super().learned()._replace(history=self._history)

    def _follow(self, corrections: Corrections) -> dict:
        history = self._history.after(corrections)
        return {**super()._follow(corrections), "_history": history}


LEARNERS = {"none": LastWeights, "mean": MeanWeights, "vote": VotingWeights}
"""Learners, by the value of ``averaging``."""
