"""Block-coordinate Frank-Wolfe."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ..._kernels.tree import learning
from .active_paths import ascend
from .problem import MarginProblem

__all__ = ["frank_wolfe"]

# Steps between active paths after each step to the best path; more hardly help.
CORRECTIONS = 4


def frank_wolfe(
    problem: MarginProblem,
    *,
    max_iter: int = 200,
    tol: float = 1e-2,
    callback: Callable[[OptimizeResult], None] | None = None,
    rng: np.random.RandomState,
) -> OptimizeResult:
    """Minimise by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013).

    For each sequence y' = argmax_y [score(y) + d(y)] is found, and the distribution alpha over
    its labellings moves towards y' by the step size that raises the dual most:

        alpha <- alpha + size * (1[y'] - alpha)

    Labellings found earlier are kept. After each step, weight is moved four times from the worst
    to the best of them, without a new search (Osokin et al. 2016): the step towards y' alone
    would never take all weight from a bad labelling.

    Parameters
    ----------
    problem : MarginProblem
    max_iter : int, default=200
        Maximum number of passes over the sequences.
    tol : float, default=1e-2
        Stop when the duality gap is at most this fraction of the objective.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, dual, nit) after every pass; may raise
        StopIteration.
    rng : RandomState

    Returns
    -------
    OptimizeResult
        With x, fun, dual, nit, success and message; x are Coefficients, and the minimum is
        between dual and fun.
    """
    return ascend(
        problem,
        learning.FROM_ALL,
        CORRECTIONS,
        max_iter=max_iter,
        tol=tol,
        callback=callback,
        rng=rng,
    )
