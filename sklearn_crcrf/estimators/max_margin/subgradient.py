"""The averaged subgradient method."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ...linear.examples import Coefficients
from ..perceptron.learning import Learned, MeanWeights
from .problem import Bounds, MarginProblem

__all__ = ["subgradient"]


def subgradient(
    problem: MarginProblem,
    *,
    max_iter: int = 200,
    tol: float = 1e-2,
    callback: Callable[[OptimizeResult], None] | None = None,
    rng: np.random.RandomState,
) -> OptimizeResult:
    """Minimise by stochastic subgradients, averaged (Ratliff et al. 2007; Pegasos, 2007).

    Step t, on sequence s and with the rate C n / t for n sequences, is

        w_t = (1 - 1/t) w_{t-1} + C n / t * weight_s * (features(gold_s) - features(y'))

    for y' = argmax_y [score(y) + d(y)]. So v_t = t / (C n) * w_t is a sum of differences of
    features, like the weights of a perceptron that adds the cost (t - 1) / (C n) to each wrong
    label. In the mean, w_t has weight t, so the mean is 2 C n / (T + 1) times the mean of all v_t
    (Lacoste-Julien, Schmidt & Bach 2012). For the lower bound, the labellings found in pass k get
    weight 2 / (k + 1) in the dual, and the weights of earlier labellings shrink in proportion.

    Parameters
    ----------
    problem, max_iter, tol, callback, rng : as in :func:`frank_wolfe`

    Returns
    -------
    OptimizeResult
        As in :func:`frank_wolfe`.
    """
    examples, bounds = problem.examples, Bounds(problem, max_iter, tol, callback)
    n, start = len(problem.sequences), examples.zeros()
    learner, last = MeanWeights(Learned(start, start, 0)), start
    weights, wrong, cost = start.copy(), *np.zeros((2, examples.n_sequences))
    while not bounds.message:
        order = rng.permutation(problem.sequences)
        # A positive cost even in the first step, so that it finds the most wrong labels.
        cost[order] = np.maximum(bounds.nit * n + np.arange(n), 0.5) / (problem.C * n)
        found = learner.learn(examples, order, cost)
        learned = learner.learned()
        share = 2.0 / (bounds.nit + 2)
        for part, before, after in zip(weights, last, learned.last, strict=True):
            part += share * (problem.C * (after - before) - part)
        wrong += share * (examples.n_wrong(found) - wrong)
        last, factor = learned.last, 2 * problem.C * n / (learned.n_seen + 1)
        mean = Coefficients(*(part * part.dtype.type(factor) for part in learned.weights))
        bounds.advance(mean, problem.lower_bound(weights, wrong))
    return bounds.result()
