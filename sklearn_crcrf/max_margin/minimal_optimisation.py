"""Sequential minimal optimisation."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from .._kernels._learning import FROM_WORST
from .active_paths import ascend
from .problem import MarginProblem

__all__ = ["minimal_optimisation"]

# Pairs of active paths after each pair with the best path of all.
PAIRS = 8


def minimal_optimisation(
    problem: MarginProblem,
    *,
    max_iter: int = 200,
    tol: float = 1e-2,
    callback: Callable[[OptimizeResult], None] | None = None,
    rng: np.random.RandomState,
) -> OptimizeResult:
    """Minimise by sequential minimal optimisation (Platt 1998; Taskar et al. 2003).

    Only two dual variables of a sequence change at a time, in closed form: weight moves from the
    labelling y2 to y1 so that the dual rises most, at most all that y2 has. y1 is the argmax of
    score(y) + d(y), and y2, of the labellings that have any weight, the one with the least of it.
    Eight pairs more are then taken from the labellings that were found before. These stand in
    place of the marginals of [Taskar et al.], from which y2 would have to be made up.

    Parameters
    ----------
    problem, max_iter, tol, callback, rng : as in :func:`frank_wolfe`

    Returns
    -------
    OptimizeResult
        As that of :func:`frank_wolfe`.
    """
    options = {"max_iter": max_iter, "tol": tol, "callback": callback, "rng": rng}
    return ascend(problem, FROM_WORST, PAIRS, **options)
