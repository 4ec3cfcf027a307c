"""Block-coordinate Frank-Wolfe."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from .._kernels._learning import FROM_ALL
from .active_paths import ascend
from .problem import MarginProblem

__all__ = ["frank_wolfe"]

# Steps between active paths after each one to the best path: more of them hardly help.
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

    For each sequence y' = argmax_y [score(y) + d(y)] is found, and its distribution of
    labellings moves towards y' by the step that raises the dual most:

        alpha <- alpha + size * (1[y'] - alpha)

    The labellings found before are kept, and four times the sequence then moves weight from the
    worst of them to the best, without looking for others (Osokin et al. 2016): the step towards
    y' alone never takes all weight from a labelling that was a mistake.

    Parameters
    ----------
    problem : MarginProblem
    max_iter : int, default=200
        Passes over the sequences, at most.
    tol : float, default=1e-2
        Stop when the duality gap is at most this part of the objective.
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
    options = {"max_iter": max_iter, "tol": tol, "callback": callback, "rng": rng}
    return ascend(problem, FROM_ALL, CORRECTIONS, **options)
