"""What all engines of inference have in common."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...utils.warning import warn_caller
from ..capabilities import Unsupported
from ..scores import Pullback, ScoreGradient, Scores
from .linked import Linked


class Convergence(NamedTuple):
    """How an iterative engine ended for each unit.

    Parameters
    ----------
    n_iter : ndarray of shape (n_units,), int64
        The number of iterations.
    residual : ndarray of shape (n_units,)
        The largest change of a message in the last iteration.
    tol : float
        The residual at which an engine stops.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.inference import Convergence
    >>> Convergence(np.array([3, 100]), np.array([1e-7, 0.1]), 1e-6).converged
    array([ True, False])
    """

    n_iter: np.ndarray
    residual: np.ndarray
    tol: float

    @property
    def converged(self) -> np.ndarray:
        """Whether the residual of each unit is at most ``tol``."""
        return self.residual <= self.tol


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


Report = Callable[[Convergence], Any]
"""Called with the convergence of a batch of units after each inference."""


class Inference:
    """How sums and maxima over the labellings of graphs are found; an engine.

    An engine holds settings only: one engine serves many graphs. What it computes once for a graph
    is its plan. The other methods are capabilities, documented in
    :class:`~sklearn_crcrf.structures.Structure` and
    :class:`~sklearn_crcrf.structures.capabilities.Capabilities`; here they take the graph first. An
    engine overrides what it can do, and the graph has those capabilities.

    Examples
    --------
    >>> from sklearn_crcrf.structures.inference import Cut, Exact
    >>> Exact().can("entropy"), Cut().can("entropy")
    (True, False)
    """

    name: ClassVar[str]
    """The name of the engine, in messages and in the registry."""

    def can(self, capability: str) -> bool:
        """Return whether the engine has a capability."""
        method = getattr(type(self), capability, None)
        return method is not None and method is not getattr(Inference, capability, None)

    def takes_triangles(self, n_labels: int) -> bool:
        """Return whether triangles of a chordal graph can have scores of their own."""
        return False

    def reporting(self, report: Report) -> "Inference":
        """Return a copy that reports its convergence; an engine that does not iterate has none."""
        return self

    def plan(self, graph: Linked) -> Any:
        """Return what is computed once for a graph, and kept in ``graph.plan``."""

    def log_partition(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        """As :meth:`~sklearn_crcrf.structures.Structure.log_partition`.

        The value is exact, an approximation or a bound.
        """
        raise Unsupported(graph, "log_partition")

    def maximum(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`~sklearn_crcrf.structures.Structure.maximum`.

        The value is the score of the labelling found.
        """
        raise Unsupported(graph, "maximum")

    def token_marginals(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        """As :meth:`~sklearn_crcrf.structures.Capabilities.token_marginals`."""
        raise Unsupported(graph, "token_marginals")

    def covariance(
        self, graph: Linked, scores: Scores, direction: ScoreGradient
    ) -> tuple[np.ndarray, Pullback]:
        """As :meth:`~sklearn_crcrf.structures.Capabilities.covariance`."""
        raise Unsupported(graph, "covariance")

    def entropy(self, graph: Linked, scores: Scores) -> np.ndarray:
        """As :meth:`~sklearn_crcrf.structures.Capabilities.entropy`."""
        raise Unsupported(graph, "entropy")

    def sample(
        self,
        graph: Linked,
        scores: Scores,
        n_samples: int,
        rng: np.random.Generator | np.random.RandomState,
    ) -> np.ndarray:
        """As :meth:`~sklearn_crcrf.structures.Capabilities.sample`."""
        raise Unsupported(graph, "sample")
