"""Loopy belief propagation."""

from dataclasses import dataclass

import numpy as np

from ..._kernels.graph.messages import add_link_beliefs, energies_of_links
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .linked import Linked, sums_of_units
from .propagation import Plan, Propagation, Slots


@dataclass(eq=False)
class Loopy(Propagation):
    """Loopy belief propagation: sum-product [1]_ with the Bethe approximation [2]_, max-product.

    It is exact on graphs without cycles. On others the log-partition is an approximation, above or
    below, whose derivatives are the beliefs once messages have converged; it is not convex. The
    labels of :meth:`maximum` are often, but not always, the best.

    Parameters
    ----------
    max_iter : int, default=100
        The largest number of iterations, in each of which every message is sent once.
    tol : float, default=1e-4
        Messages, which are logarithms, are sent until none changes by more.
    damping : float, default=0.0
        The share of the old message in the new one, at least 0 and less than 1, in units with
        cycles. With more damping messages change more slowly, but oscillate less.
    report : callable, optional
        Called with the :class:`~sklearn_crcrf.structures.inference.Convergence` of a batch after
        each inference.

    References
    ----------
    .. [1] Pearl, "Probabilistic Reasoning in Intelligent Systems", 1988.
    .. [2] Yedidia, Freeman, Weiss, "Constructing Free-Energy Approximations and Generalized Belief
       Propagation Algorithms", IEEE Trans. Information Theory 51 (7), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores
    >>> from sklearn_crcrf.structures.inference import Loopy
    >>> edges, reports = np.array([[0, 1], [1, 2], [0, 2]]), []
    >>> ring = Graph(np.array([0, 3]), edges, Loopy(report=reports.append))
    >>> scores = Scores.of(np.zeros((3, 2)), np.log([[2.0, 1.0], [1.0, 2.0]]))
    >>> log_z, _ = ring.log_partition(scores)
    >>> np.exp(log_z).round(6)  # exact: 28
    array([27.])
    >>> reports[0].n_iter, reports[0].converged
    (array([1]), array([ True]))
    """

    name = "loopy"

    max_iter: int = 100
    tol: float = 1e-4
    damping: float = 0.0

    def plan(self, graph: Linked) -> Plan:
        return Plan(Slots.of(graph.offsets, np.stack(graph.links())))

    def log_partition(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        messages = self._sent(graph, scores)
        belief, log_z = messages.beliefs
        energy = np.empty(graph.n_units)
        energies_of_links(messages.arrays, belief, energy)
        energy += sums_of_units(log_z, graph.offsets)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            weight = messages.of_possible(weight)
            of_tables = np.zeros_like(messages.tables.tables)
            add_link_beliefs(messages.arrays, belief, weight, of_tables)
            of_state = np.exp(belief) * np.repeat(weight, np.diff(graph.offsets))[:, None]
            return messages.gradient(of_state, of_tables, out)

        return np.where(messages.impossible, -np.inf, energy), pullback
