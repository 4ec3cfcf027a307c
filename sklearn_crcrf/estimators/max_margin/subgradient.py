"""The averaged subgradient method."""

import numpy as np

from ...linear.examples import Coefficients
from ..perceptron.learning import Learned, MeanWeights
from .problem import MarginProblem, Pass


class Subgradient:
    """Take steps along stochastic subgradients, averaged (Ratliff et al. 2007; Pegasos, 2007).

    Step t, on sequence s and with the rate C n / t for n sequences, is

        w_t = (1 - 1/t) w_{t-1} + C n / t * weight_s * (features(gold_s) - features(y'))

    for y' = argmax_y [score(y) + d(y)]. So v_t = t / (C n) * w_t is a sum of differences of
    features, like the weights of a perceptron that adds the cost (t - 1) / (C n) to each wrong
    label. In the mean, w_t has weight t, so the mean is 2 C n / (T + 1) times the mean of all v_t
    (Lacoste-Julien, Schmidt & Bach 2012). For the lower bound, the labellings found in pass k get
    weight 2 / (k + 1) in the dual, and the weights of earlier labellings shrink in proportion.

    Parameters
    ----------
    problem : MarginProblem
    """

    def __init__(self, problem: MarginProblem):
        self._problem, nothing = problem, problem.examples.zeros()
        self._learner, self._last = MeanWeights(Learned(nothing, nothing, 0)), nothing
        self._dual_weights, self._n_passes = nothing.copy(), 0
        self._wrong, self._cost = np.zeros((2, problem.examples.n_sequences))

    def take_pass(self, order: np.ndarray) -> Pass:
        """Take a step on each sequence, in this order."""
        examples, C = self._problem.examples, self._problem.C
        n, n_passes = len(order), self._n_passes
        # A positive cost even in the first step, so that it finds the most wrong labels.
        self._cost[order] = np.maximum(n_passes * n + np.arange(n), 0.5) / (C * n)
        found = self._learner.learn(examples, order, self._cost)
        learned = self._learner.learned()
        share = 2.0 / (n_passes + 2)
        for part, before, after in zip(self._dual_weights, self._last, learned.last, strict=True):
            part += share * (C * (after - before) - part)
        self._wrong += share * (examples.n_wrong(found) - self._wrong)
        self._last, self._n_passes = learned.last, n_passes + 1
        factor = 2 * C * n / (learned.n_seen + 1)
        mean = Coefficients(*(part * part.dtype.type(factor) for part in learned.weights))
        return Pass(mean, self._dual_weights, self._wrong)
