"""PassiveAggressiveCRF: a linear chain with steps just as large as needed."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ...base.docstrings import documented
from .learning import LEARNERS, LastWeights, Learned, MarginRule
from .online import EPOCHS, OnlineClassifier


@documented
@dataclass(eq=False, repr=False)
class PassiveAggressiveCRF(OnlineClassifier):
    r"""Linear chain trained online by passive-aggressive steps [1]_.

    The sequences are labelled one after another. If the best path y' is not the gold path y, the
    weights move by a step times d, the features of y minus the features of y'. The step is just so
    large that the score of y exceeds the score of y' by a margin, unless C limits it:

    .. math::

       \begin{aligned}
       \mathrm{loss} &= s(x, y') - s(x, y) + \mathrm{margin}, \\
       \mathrm{step} &= \min\left(C, \frac{\mathrm{loss}}{\lVert d \rVert^2}\right)
       \text{ for the hinge loss,} \\
       \mathrm{step} &= \frac{\mathrm{loss}}{\lVert d \rVert^2 + 1 / (2 C)}
       \text{ for the squared hinge loss.}
       \end{aligned}

    The weight of a sequence multiplies C.

    Parameters
    ----------
    C : float, default=1.0
        Limit of the steps. ``numpy.inf`` is no limit.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        PA-I ("hinge") or PA-II ("squared_hinge") of the paper.
    margin : {"sqrt", "one"}, default="sqrt"
        The square root of the number of wrong labels of y', or 1.
    averaging : {"mean", "none"}, default="mean"
        Predict with the mean of the weights after all steps, or with the last weights.
    max_iter : int, default=10
        Maximum number of epochs. Training ends earlier after an epoch without errors.
    {min_freq}
    {boundaries}
    {edge_columns}
    {constraints}
    {warm_start}
    {class_weight}
    {validation_fraction}
    n_iter_no_change : int, default=5
        Number of epochs in which the number of wrong held-out labels must fall.
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.
    random_state : int, RandomState or None, default=None
        Chooses the order of the sequences in each epoch, and the held-out sequences.
    {verbose}

    Attributes
    ----------
    {classes_}
    {coef_}
    {transitions_}
    {begin_, end_}
    {edge_coef_}
    {edge_attribute_names_}
    {attribute_names_}
    {state_features_}
    {transition_features_}
    loss_curve_ : list of float
        Fraction of tokens labelled wrongly in each epoch, each before its step.
    validation_curve_ : list of float
        Fraction of held-out tokens labelled wrongly after each epoch.
    {n_iter_}
    {converged_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    StructuredPerceptron : All steps have the size 1.
    ArowCRF : Steps that are smaller for weights that are well known.

    References
    ----------
    .. [1] Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, "Online Passive-Aggressive Algorithms",
       JMLR 7 (2006).

    Examples
    --------
    >>> from sklearn_crcrf import PassiveAggressiveCRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> crf = PassiveAggressiveCRF(random_state=0).fit(X, y)
    >>> crf.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    """

    C: float = 1.0
    loss: str = "hinge"
    margin: str = "sqrt"
    averaging: str = "mean"
    max_iter: int = 10

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="right")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "margin": [StrOptions({"sqrt", "one"})],
        "averaging": [StrOptions({"mean", "none"})],
        "max_iter": EPOCHS,
    }

    def _learner(self, start: Learned) -> LastWeights:
        def sizes(weight: np.ndarray) -> tuple:
            if self.loss == "hinge":
                return self.C * weight, 0.0, np.inf
            return np.inf, 0.5 / (self.C * weight), np.inf

        rule = MarginRule(0.5 if self.margin == "sqrt" else 0.0, sizes)
        return LEARNERS[self.averaging](start, rule)
