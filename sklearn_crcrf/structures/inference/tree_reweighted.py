"""Tree-reweighted belief propagation."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._kernels.graph.messages import forest_bounds, root_forest, spanning_forest
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .linked import Linked, sums_of_units
from .propagation import Plan, Propagation, Slots

# The number of forests of a unit with cycles, unless more are needed to contain every link.
N_FORESTS = 8


class Forests(NamedTuple):
    """Spanning forests of each unit, which together contain all of its links.

    Each further forest prefers the links that the forests before it contain least often, so that
    the appearance probabilities of links, the shares of the forests that contain them, are about
    as equal as they can be. Of a unit without cycles there is one forest: the unit itself.

    Parameters
    ----------
    share : ndarray of shape (n_links,)
        The appearance probabilities.
    first : ndarray of shape (n_units + 1,), int64
        The first forest of each unit.
    place : ndarray of shape (n_forests,), int64
        Where the tokens of each forest begin in ``order``.
    order : ndarray of shape (n,), int64
        The tokens of all forests, each after its parent, in the numbers of the slots.
    up : ndarray of shape (n,), int64
        The slots of the messages from the parents, -1 for roots.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.inference.propagation import Slots
    >>> from sklearn_crcrf.structures.inference.tree_reweighted import Forests
    >>> offsets, ends = np.array([0, 4]), np.array([[0, 1, 2, 0], [1, 2, 3, 3]])
    >>> Forests.of(offsets, ends, Slots.of(offsets, ends)).share
    array([0.75, 0.75, 0.75, 0.75])
    """

    share: np.ndarray
    first: np.ndarray
    place: np.ndarray
    order: np.ndarray
    up: np.ndarray

    @classmethod
    def of(cls, offsets: np.ndarray, ends: np.ndarray, slots: Slots) -> "Forests":
        """Return the forests of some units.

        Parameters
        ----------
        offsets : ndarray of shape (n_units + 1,), int64
        ends : ndarray of shape (2, n_links), int64
        slots : Slots
        """
        n_units, lengths = len(offsets) - 1, np.diff(offsets)
        unit_of_link = np.searchsorted(offsets, ends[0], side="right") - 1
        n_uses, n_forests = np.zeros(ends.shape[1]), np.zeros(n_units, dtype=np.int64)
        nothing = np.empty(0, dtype=np.int64)
        units, rounds = np.flatnonzero(lengths > 0), [(nothing, nothing, nothing)]
        while len(units):
            is_open = np.zeros(n_units, dtype=bool)
            is_open[units] = True
            links = np.flatnonzero(is_open[unit_of_link])
            chosen = np.zeros(ends.shape[1], dtype=np.uint8)
            least_first = links[np.argsort(n_uses[links], kind="stable")]
            spanning_forest(ends, least_first, int(offsets[-1]), chosen)
            order, up = np.empty((2, int(lengths[units].sum())), dtype=np.int64)
            structure = slots.start, slots.neighbour, slots.reverse, slots.link
            root_forest(offsets, units, *structure, chosen, order, up)
            rounds.append((units, order, up))
            n_uses += chosen
            n_forests[units] += 1
            is_open[:] = False
            is_open[unit_of_link[n_uses == 0]] = True
            has_cycles = np.zeros(n_units, dtype=bool)
            has_cycles[unit_of_link[n_uses < n_forests[unit_of_link]]] = True
            units = units[is_open[units] | (has_cycles[units] & (n_forests[units] < N_FORESTS))]
        unit, order, up = map(np.concatenate, zip(*rounds, strict=True))
        place = np.cumsum(lengths[unit]) - lengths[unit]
        by_unit = np.argsort(unit, kind="stable")
        first = np.searchsorted(unit[by_unit], np.arange(n_units + 1))
        return cls(n_uses / n_forests[unit_of_link], first, place[by_unit], order, up)


@dataclass(eq=False)
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

    max_iter: int = 500
    tol: float = 1e-3
    damping: float = 0.3

    def plan(self, graph: Linked) -> Plan:
        ends = np.stack(graph.links())
        slots = Slots.of(graph.offsets, ends)
        forests = Forests.of(graph.offsets, ends, slots)
        return Plan(slots, np.unique(forests.share, return_inverse=True), forests)

    def log_partition(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        messages = self._sent(graph, scores)

        def bounds(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Return the bounds, and their derivatives by the scores if there are weights."""
            belief, log_z = messages.beliefs
            bound, of_state = np.empty(graph.n_units), np.zeros_like(belief)
            of_tables = np.zeros_like(messages.tables.tables)
            forests, derivatives = graph.plan.forests[1:], (of_state, of_tables)
            forest_bounds(messages.arrays, *forests, belief, weight, bound, *derivatives)
            return bound + sums_of_units(log_z, graph.offsets), of_state, of_tables

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            _, of_state, of_tables = bounds(messages.of_possible(weight))
            return messages.gradient(of_state, of_tables, out)

        bound, *_ = bounds(np.empty(0))
        return np.where(messages.impossible, -np.inf, bound), pullback
