"""The weights of the chains of a pool, by maximum likelihood."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult
from scipy.special import softmax

from ...criteria import log_loss
from ...solvers import lbfgs
from ...structures import Structure
from ...structures.weighted_sum import WeightedSum

TOL, MAX_ITER = 1e-7, 1000
# The weights are learned if the derivatives of the mean loss are at most this. The rule of the
# solver, no progress in ten iterations, would take many evaluations at the minimum.
FLAT = 1e-5


class LabelledBatch(NamedTuple):
    """Sequences with the scores of all chains, the gold labels and a weight for each sequence."""

    structure: Structure
    scores: WeightedSum
    y: np.ndarray
    weight: np.ndarray


def weigh(
    batches: Sequence[LabelledBatch],
    n_chains: int,
    callback: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Weights that minimise the log loss of the pool.

    They are the softmax of unbounded numbers, so they are positive and sum to one.

    Parameters
    ----------
    batches : sequence of LabelledBatch
        The gold labels must be possible under every chain.
    n_chains : int
    callback : callable, optional
        Called with an OptimizeResult (x, fun, nit) after every iteration; x are the weights. It
        may raise StopIteration.

    Returns
    -------
    OptimizeResult
        Of which x are the weights, and fun is the mean loss of the sequences.
    """
    total = sum(batch.weight.sum() for batch in batches)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        weights, loss, gradient = softmax(x), 0.0, np.zeros(n_chains)
        for batch in batches:
            losses, pullback = log_loss(batch.structure, batch.scores.scores(weights), batch.y)
            loss += batch.weight @ losses
            gradient += batch.scores.pullback(pullback(batch.weight))
        return loss / total, weights * (gradient - weights @ gradient) / total

    def note(result: OptimizeResult) -> None:
        if callback is not None:
            callback(OptimizeResult({**result, "x": softmax(result.x)}))
        if np.abs(result.jac).max() <= FLAT:
            raise StopIteration

    start = np.zeros(n_chains)
    result = lbfgs(objective, start, tol=TOL, max_iter=MAX_ITER, callback=note)
    return OptimizeResult({**result, "x": softmax(result.x)})
