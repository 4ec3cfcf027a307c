"""What is done when inference has ended."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...utils.warning import warn_caller
from .base import Convergence

__all__ = ["IterationCount", "warn_unless_converged"]


class IterationCount:
    """Counts the iterations of inference; in training, few of them matter if they are too few.

    Attributes
    ----------
    n_iter : int
        The most iterations of an inference so far.

    Examples
    --------
    >>> count = IterationCount()
    >>> count(Convergence(np.array([3, 7]), np.array([0.0, 1e-6]), 1e-5))
    >>> count.n_iter
    7
    """

    def __init__(self) -> None:
        self.n_iter = 0

    def __call__(self, convergence: Convergence) -> None:
        self.n_iter = max(self.n_iter, int(convergence.n_iter.max(initial=0)))


def warn_unless_converged(convergence: Convergence) -> None:
    """Warn if the inference of a graph did not converge.

    Parameters
    ----------
    convergence : Convergence

    Warns
    -----
    ConvergenceWarning
        Says in how many graphs, and by how much messages still changed.
    """
    failed = np.flatnonzero(~convergence.converged)
    if len(failed):
        worst = failed[np.argmax(convergence.residual[failed])]
        warn_caller(
            f"inference did not converge in {len(failed)} of {len(convergence.n_iter)} graphs: "
            f"after {convergence.n_iter[worst]} iterations messages still changed by "
            f"{convergence.residual[worst]:.2g}; damping may help",
            ConvergenceWarning,
        )
