"""ArowCRF: a linear chain with a variance of each weight."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...base.docstrings import documented
from .learning import LEARNERS, LastWeights, Learned, MarginRule
from .online import EPOCHS, OnlineClassifier


@documented
@dataclass(eq=False, repr=False)
class ArowCRF(OnlineClassifier):
    r"""Linear chain trained online by adaptive regularisation of weights, AROW [1]_.

    Every weight has a variance v. If the best path y' is not the gold path y, and d are the
    features of y minus the features of y', the weights and the variances become

    .. math::

       \begin{aligned}
       w &\leftarrow w + \frac{s(x, y') - s(x, y) + n}{\gamma + \sum_k v_k d_k^2}\, v d, \\
       \frac{1}{v} &\leftarrow \frac{1}{v} + \frac{d^2}{\gamma}
       \end{aligned}

    with n the number of wrong labels, so that weights that have changed often change less. The last
    weights are used. The weight of a sequence divides its gamma. Variances begin anew in each call
    of ``fit`` and ``partial_fit``.

    Parameters
    ----------
    variance : float, default=1.0
        Variance of all weights before training, in (0, inf).
    gamma : float, default=1.0
        In (0, inf); a larger value makes smaller steps.
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
    PassiveAggressiveCRF : Steps without variances.

    References
    ----------
    .. [1] Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009.

    Examples
    --------
    >>> from sklearn_crcrf import ArowCRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> crf = ArowCRF(random_state=0).fit(X, y)
    >>> crf.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    """

    variance: float = 1.0
    gamma: float = 1.0
    max_iter: int = 10

    _parameter_constraints: ClassVar[dict] = {
        "variance": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "max_iter": EPOCHS,
    }

    def _learner(self, start: Learned) -> LastWeights:
        def sizes(weight: np.ndarray) -> tuple:
            return np.inf, self.gamma / weight, self.gamma / weight

        rule = MarginRule(1.0, sizes, self.variance)
        return LEARNERS["none"](start, rule)
