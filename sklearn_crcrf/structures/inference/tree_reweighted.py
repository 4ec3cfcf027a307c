"""Tree-reweighted belief propagation."""

from typing import NamedTuple

import numpy as np

from ..._kernels.graph.messages import forest_bounds
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .base import Report
from .linked import Linked
from .messages import Messages
from .propagation import Propagation
from .slots import Slots
from .spanning import Forests

__all__ = ["TreeReweighted"]


class TreeReweighted(Propagation):
    """Tree-reweighted belief propagation [1]_: an upper bound of the log-partition.

    The scores of a graph are a mean of the scores of forests that span it. The mean of the
    log-partitions of the forests is a bound for any messages, so also if propagation is stopped
    early; when messages have converged it is the least bound for these forests, which is a convex
    function of the scores. That makes it a sound replacement of the log-partition in training. Its
    derivatives are the probabilities of labels, averaged over the forests. It is exact on graphs
    without cycles.

    Parameters
    ----------
    max_iter : int, default=500
        The largest number of iterations, in each of which every message is sent once.
    tol : float, default=1e-3
        Messages, which are logarithms, are sent until none changes by more. On grids, marginals
        are then within about 0.0005 of the limit; edges that force labels to be equal take
        hundreds of iterations.
    damping : float, default=0.3
        The share of the old message in the new one, at least 0 and less than 1, in units with
        cycles. With more damping messages change more slowly, but oscillate less.
    report : callable, optional
        Called with the :class:`~sklearn_crcrf.structures.inference.Convergence` of a batch after
        each inference.

    References
    ----------
    .. [1] Wainwright, Jaakkola, Willsky, "A New Class of Upper Bounds on the Log Partition
       Function", IEEE Trans. Information Theory 51 (7), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores
    >>> ring = Graph(np.array([0, 3]), np.array([[0, 1], [1, 2], [0, 2]]), "trw")
    >>> scores = Scores.of(np.zeros((3, 2)), np.log([[2.0, 1.0], [1.0, 2.0]]))
    >>> log_z, _ = ring.log_partition(scores)
    >>> bool(np.exp(log_z)[0] > 28.0)  # the exact sum
    True
    """

    name = "trw"

    def __init__(
        self,
        max_iter: int = 500,
        tol: float = 1e-3,
        damping: float = 0.3,
        report: Report | None = None,
    ):
        super().__init__(max_iter, tol, damping, report)

    def plan(self, graph: Linked) -> "ForestPlan":
        ends = np.stack(graph.links())
        slots = Slots.of(graph.offsets, ends)
        forests = Forests.of(graph.offsets, ends, slots)
        return ForestPlan(slots, forests, *np.unique(forests.share, return_inverse=True))

    def _messages(self, graph: Linked, scores: Scores, is_max: bool) -> Messages:
        slots, _, share, which = graph.plan
        return Messages(graph, scores, slots, (share, which), is_max)

    def log_partition(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        messages = self._sent(self._messages(graph, scores, False))

        def bounds(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """The bounds, and their derivatives by the scores if there are weights."""
            belief, log_z = messages.beliefs
            bound, of_state = np.empty(graph.n_units), np.zeros_like(belief)
            of_tables = np.zeros_like(messages.tables.tables)
            forests, derivatives = graph.plan.forests[1:], (of_state, of_tables)
            forest_bounds(messages.arrays, *forests, belief, weight, bound, *derivatives)
            return bound + messages.sums(log_z), of_state, of_tables

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            _, of_state, of_tables = bounds(messages.of_possible(weight))
            return messages.gradient(of_state, of_tables, out)

        bound, *_ = bounds(np.empty(0))
        return np.where(messages.impossible, -np.inf, bound), pullback


class ForestPlan(NamedTuple):
    """The slots and spanning forests of a graph, and the appearance probabilities of its links.

    Parameters
    ----------
    slots : Slots
    forests : Forests
    share : ndarray of shape (n_shares,)
        The different appearance probabilities.
    which : ndarray of shape (n_links,)
        Which of them each link has.
    """

    slots: Slots
    forests: Forests
    share: np.ndarray
    which: np.ndarray
