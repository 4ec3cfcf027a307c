"""CalibratedSequenceClassifier: the scores of another classifier, divided by a temperature."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ...base.batches import Batch
from ...base.docstrings import documented
from ...criteria.temperature import best_temperature, brier_score
from ...structures import Scores
from ...utils.soundness import Array, Fact, Requirement
from .base import HeldOutBatch, HeldOutChoice


@documented
@dataclass(eq=False, repr=False)
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
    fitted to the others. The estimator itself is fitted to all sequences.

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
    sklearn_crcrf.display.ReliabilityDisplay : How well probabilities are calibrated.

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

    _: KW_ONLY
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    def _choose(self, batches: Sequence[HeldOutBatch]) -> None:
        self.temperature_ = temperature_of(batches)

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        yield Array("temperature_", np.asarray(self.temperature_), (), 0.0)
        yield Fact("temperature_", self.temperature_ > 0, "must be positive")

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return super()._scores(prepared, batch).times(1 / self.temperature_)


def temperature_of(batches: Sequence[HeldOutBatch]) -> float:
    """Return the temperature with the least Brier score of the likeliest labels.

    Raises
    ------
    ValueError
        If no token has a known label and a positive weight.
    """
    if not any(batch.weight.any() for batch in batches):
        raise ValueError("no held-out token has a label that the other folds know")
    return best_temperature(lambda t: sum(_brier_score(batch, t) for batch in batches))


def _brier_score(batch: HeldOutBatch, temperature: float) -> float:
    _, marginals = batch.structure.marginals(batch.scores.times(1 / temperature))
    return brier_score(marginals[batch.tokens], batch.y, batch.weight)
