"""Minimum classification error: a smooth count of the sequences with a wrong labelling."""

from dataclasses import dataclass

import numpy as np

from ..labels.segments.schemes import check_option
from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ._misclassification import MEASURES
from ._smoothing import SMOOTHINGS, check_positive
from ._tokens import check_all_known
from .base import Criterion


@dataclass(eq=False, repr=False)
class MCE(Criterion):
    r"""Smoothed number of sequences whose best labelling is wrong [1]_.

    The score of the gold labelling is subtracted from a soft maximum over all other labellings,

    .. math::

       d(y) = -s(y) + \frac{1}{\psi} \log \sum_{y' \neq y} \exp(\psi\, s(y')),

    which for an infinite psi is the score of the best other labelling. The appendix of [1]_ has two
    other measures, of scores that are not negative. With probabilities,

    .. math::

       d(y) = -p(y) + \left[\sum_{y' \neq y} p(y')^\psi\right]^{1/\psi}, \qquad
       d(y) = \frac{1}{p(y)} \left[\sum_{y' \neq y} p(y')^\psi\right]^{1/\psi}

    are the "difference" and the "ratio". The loss is

    .. math::

       l(d) = \frac{1}{1 + \exp(-(\mathrm{slope}\, d + \mathrm{offset}))}, \qquad l(d) =
       \frac{1}{\mathrm{slope}} \log(1 + \exp(\mathrm{slope}\, d + \mathrm{offset})),

    for the "sigmoid" and for the "logistic" function.

    As the slope grows, the sigmoid tends to a step: it counts wrong sequences. Sequences that are
    right or wrong by far have little influence. The sigmoid is not convex, so training starts
    from the optimum of the log loss. The logistic function is convex, and with ``psi=1`` and the
    defaults for the rest it is the log loss itself. Where no other labelling is possible, as with
    a single label, the score d is -inf and the loss is zero; the difference is -1 and the ratio 0.
    Labels must not be partial.

    Parameters
    ----------
    smoothing : {"sigmoid", "logistic"}, default="sigmoid"
        l, a function of d.
    slope : float, default=1.0
        Positive.
    offset : float, default=0.0
        Positive to ask for a margin.
    psi : float, default=inf
        How much the best of the other labellings outweigh the rest, in (0, inf]. With inf the
        loss has kinks, and its derivatives are from one of the best labellings.
    averaged : bool, default=False
        Whether d has the mean of the other labellings, as in [1]_, instead of their sum. The
        mean is over ``n_labels ** length - 1`` labellings, which lowers d in proportion to the
        length. With an infinite psi it makes no difference.
    measure : {"score", "difference", "ratio"}, default="score"
        d, a function of all labellings. The gold labelling and the best other one tie where the
        score or the difference is 0, but where the ratio is 1: an offset of ``-slope`` has the
        step there.

    References
    ----------
    .. [1] Suzuki, McDermott, Isozaki, "Training Conditional Random Fields with Multivariate
       Evaluation Measures", COLING/ACL 2006, pages 217-224, doi:10.3115/1220175.1220203.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import MCE
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.array([[2.0, 0.0], [1.0, 0.0]]), np.zeros((2, 2)))
    >>> chain, y = Chain(np.array([0, 2])), np.array([0, 0])
    >>> MCE()(chain, scores, y)[0]
    array([0.26894142])
    >>> MCE("logistic", psi=1.0)(chain, scores, y)[0]
    array([0.4401897])
    """

    takes_partial_labels = False

    smoothing: str = "sigmoid"
    slope: float = 1.0
    offset: float = 0.0
    psi: float = np.inf
    averaged: bool = False
    measure: str = "score"

    @property
    def requires(self) -> tuple[str, ...]:  # type: ignore[override]
        """The capabilities that a structure must have."""
        check_option("measure", self.measure, MEASURES)
        others = "best_excluding" if np.isinf(self.psi) else "log_partition_excluding"
        return (others, "log_partition") if MEASURES[self.measure].normalised else (others,)

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the loss is a convex function of the scores."""
        return self.smoothing == "logistic" and self.measure != "difference"

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether the loss has no kinks: whether psi is finite."""
        return bool(np.isfinite(self.psi))

    @property
    def start(self) -> str:
        """Where training starts: "zeros" if the loss is convex and smooth, else "log_loss".

        At zero all labellings tie, so the loss has a kink there if psi is infinite.
        """
        return "zeros" if self.convex and self.smooth else "log_loss"

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        check_option("smoothing", self.smoothing, SMOOTHINGS)
        check_option("measure", self.measure, MEASURES)
        check_positive(slope=self.slope, psi=self.psi)
        check_all_known("MCE", y)
        gold, pull_gold = structure.score(scores, y)
        others, pull_others = self._others(structure, scores, y)
        measure = MEASURES[self.measure]
        # Where no labelling is possible the loss is NaN, as the log loss is.
        with np.errstate(invalid="ignore"):
            if measure.normalised:
                total, pull_total = structure.log_partition(scores)
                gold, others = gold - total, others - total
            d, by_gold, by_others = measure.value(gold, others)
            loss, derivative = SMOOTHINGS[self.smoothing](d, self.slope, self.offset)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_d = weight * derivative
            if measure.normalised:
                out = pull_total(-of_d * (by_gold + by_others), out)
            return pull_gold(of_d * by_gold, pull_others(of_d * by_others, out))

        return loss, pullback

    def _others(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        """Return the soft maximum of the scores of the other labellings."""
        if np.isinf(self.psi):
            value, best = structure.best_excluding(scores, y)
            return value, structure.score(scores, best)[1]
        value, pullback = structure.log_partition_excluding(scores.times(self.psi), y)
        if self.averaged:
            value = value - _log_number_of_others(structure, scores.state.shape[1])
        return value / self.psi, pullback


def _log_number_of_others(structure: Structure, n_labels: int) -> np.ndarray:
    """log(n_labels ** length - 1), where there is more than one labelling."""
    number = np.diff(structure.offsets) * np.log(n_labels)
    return np.log(-np.expm1(-number), out=np.zeros(len(number)), where=number > 0) + number
