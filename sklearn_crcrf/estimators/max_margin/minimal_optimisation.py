"""Sequential minimal optimisation."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ..._kernels.tree import learning
from .active_paths import ascend
from .problem import MarginProblem

__all__ = ["minimal_optimisation"]

# Number of pairs of active paths after each pair with the best path of all.
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

    Only two dual variables of a sequence change at a time, in closed form: weight moves from a
    labelling y2 to y1 so that the dual rises most, up to the whole weight of y2. y1 is the argmax
    of score(y) + d(y); y2 is the labelling with nonzero weight for which score(y) + d(y) is
    smallest. Eight more pairs are then chosen among the labellings found earlier. Taskar et al.
    store marginals instead of labellings, from which y2 would have to be reconstructed.

    Parameters
    ----------
    problem, max_iter, tol, callback, rng : as in :func:`frank_wolfe`

    Returns
    -------
    OptimizeResult
        As in :func:`frank_wolfe`.
    """
    return ascend(
        problem, learning.FROM_WORST, PAIRS, max_iter=max_iter, tol=tol, callback=callback, rng=rng
    )
