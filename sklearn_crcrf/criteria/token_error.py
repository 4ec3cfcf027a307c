"""The number of wrong labels, smoothed."""

from dataclasses import dataclass

import numpy as np

from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ._smoothing import SMOOTHINGS
from ._tokens import check_all_known, repeat_by_token, sum_by_sequence
from .base import Criterion


@dataclass(eq=False, repr=False)
class TokenError(Criterion):
    r"""Smoothed number of wrong labels in decoding by maximal marginals [1]_.

    .. math::

       \sum_t \frac{1}{1 + \exp\left(\mathrm{slope} \cdot \left[p(y_t \mid x) - \max_{j \neq
       y_t} p(j \mid x)\right]\right)}

    The steeper the slope, the closer it is to the number of errors. Unlike the expected cost, it
    gains little from more certainty about labels that are right. It is not convex, so training
    starts from the optimum of the log loss. Labels must not be partial.

    Parameters
    ----------
    slope : float, default=5.0
        Positive.

    References
    ----------
    .. [1] Gross, Russakovsky, Do, Batzoglou, "Training Conditional Random Fields for Maximum
       Labelwise Accuracy", NIPS 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import TokenError
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.log([[3.0, 1.0], [1.0, 1.0]]), np.zeros((2, 2)))
    >>> TokenError(slope=2 * np.log(3))(Chain(np.array([0, 1, 2])), scores, np.array([0, 0]))[0]
    array([0.25, 0.5 ])
    """

    slope: float = 5.0

    requires = ("token_marginals",)
    convex = False
    smooth = False
    decoding = "marginal"
    takes_partial_labels = False

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        check_all_known("token_error", y)
        if not 0 < self.slope < np.inf:
            raise ValueError(f"slope must be finite and positive, but is {self.slope}")
        marginals, pull_marginals = structure.token_marginals(scores)
        token = np.arange(len(y))
        gold, others = marginals[token, y], marginals.copy()
        others[token, y] = 0.0
        rival = others.argmax(axis=1)
        error, derivative = SMOOTHINGS["sigmoid"](others[token, rival] - gold, self.slope, 0.0)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_tokens = repeat_by_token(structure, weight) * derivative
            slope = np.zeros_like(marginals)
            slope[token, rival] = of_tokens
            slope[token, y] = -of_tokens
            return pull_marginals(slope, out)

        return sum_by_sequence(structure, error), pullback
