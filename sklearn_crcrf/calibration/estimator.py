"""CalibratedSequenceClassifier: the scores of another classifier, divided by a temperature."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..base.batches import Batch
from ..base.docstrings import documented
from ..structures import Scores
from ..utils.soundness import Array, Fact, Requirement
from .base import HeldOutChoice
from .held_out import HeldOutBatch

__all__ = ["CalibratedSequenceClassifier"]

# Temperatures from 1/100 to 100; models of few sequences may be right about all held-out tokens.
LARGEST_LOG = float(np.log(100.0))


@documented
class CalibratedSequenceClassifier(HeldOutChoice):
    r"""A classifier whose probabilities are calibrated by a temperature [1]_.

    With the score s of the estimator, the probability of a labelling is

    .. math::

       p(y \mid x) \propto \exp\left(\frac{s(x, y)}{T}\right).

    All scores are divided by the same temperature T, so the best path stays the same, and all
    probabilities are exact: marginals, the k best paths, entropy. A temperature above 1 makes them
    less certain. It minimises a Brier score [2]_, the mean of :math:`(p - r)^2` over tokens, where
    p is the marginal probability of the likeliest label, and r is 1 if this label is right, else 0.
    (The logarithmic loss would be decided by the few tokens that are wrong although p is almost 1.)
    The sequences that are scored are new to the model: each fold is scored by a model that is
    fitted to the others. Then the estimator is fitted to all sequences.

    Parameters
    ----------
    estimator : estimator
        A first-order sequence classifier, or a pipeline or search that ends in one.
    cv : int, splitter or iterable of splits, default=5
        The folds of the training sequences; by default they are contiguous, so that few documents
        are divided.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    {classes_}
    estimator_ : estimator
        Fitted to all sequences.
    temperature_ : float
        What scores are divided by, between 0.01 and 100.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    sklearn_crcrf.plotting.ReliabilityDisplay : How well probabilities are calibrated.

    References
    ----------
    .. [1] Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017,
       section 4.2.
    .. [2] Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather
       Review 78, 1950.

    Examples
    --------
    >>> from sklearn_crcrf import CalibratedSequenceClassifier, StructuredPerceptron
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(60, random_state=0)
    >>> perceptron = StructuredPerceptron(random_state=0)
    >>> calibrated = CalibratedSequenceClassifier(perceptron, cv=2).fit(X, y)
    >>> calibrated.temperature_ < 1  # the perceptron was not certain enough
    True
    >>> calibrated.predict(X).tolist() == calibrated.estimator_.predict(X).tolist()
    True
    """

    def __init__(self, estimator, cv=5, *, sample_unit="sequence", n_jobs=None):
        self.estimator = estimator
        self.cv = cv
        self.sample_unit = sample_unit
        self.n_jobs = n_jobs

    def _choose(self, batches: Sequence[HeldOutBatch]) -> None:
        self.temperature_ = best_temperature(batches)

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        yield Array("temperature_", np.asarray(self.temperature_), (), 0.0)
        yield Fact("temperature_", self.temperature_ > 0, "must be positive")

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return super()._scores(prepared, batch).times(1 / self.temperature_)


def best_temperature(batches: Sequence[HeldOutBatch]) -> float:
    """The temperature with the least Brier score of the likeliest labels.

    Parameters
    ----------
    batches : sequence of HeldOutBatch

    Returns
    -------
    float
        From 0.01 to 100.

    Raises
    ------
    ValueError
        If no token has a known label and a positive weight.
    """
    if not any(batch.weight.any() for batch in batches):
        raise ValueError("no held-out token has a label that the other folds know")
    bounds = (-LARGEST_LOG, LARGEST_LOG)
    result = minimize_scalar(
        lambda x: sum(_brier_score(batch, np.exp(-x)) for batch in batches),
        bounds=bounds,
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(result.x))


def _brier_score(batch: HeldOutBatch, scale: float) -> float:
    """The sum of (p - r)^2 over tokens if all scores are multiplied by ``scale``."""
    _, marginals = batch.structure.marginals(batch.scores.times(scale))
    marginals = marginals[batch.tokens]
    is_right = marginals.argmax(axis=1) == batch.y
    return float(batch.weight @ (marginals.max(axis=1) - is_right) ** 2)
