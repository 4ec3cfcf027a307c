"""Messages between linked tokens, sent until they no longer change; the base of these engines."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ..._kernels.graph import propagation
from ..._kernels.graph.messages import (
    GraphMessages,
    breadth_first,
    decode,
    links_of_tokens,
    log_beliefs,
    make_slots,
    remove_unsupported,
)
from ..scores import AddTo, ScoreGradient, Scores
from .base import Convergence, Inference, Report
from .linked import Linked, LinkTables

# The number of products in one call of the kernel, which cannot be interrupted: about a second.
WORK = 2**31
# After max-product, the number of rounds in which the labels of single tokens are changed.
N_ROUNDS = 20


class Slots(NamedTuple):
    """The slots of all tokens, one for each of their links; see ``graph/order.pxi``.

    Parameters
    ----------
    order : ndarray of shape (n_tokens,), int64
        The tokens in the order by which they are numbered here.
    start : ndarray of shape (n_tokens + 1,), int64
        The first slot of each token.
    middle : ndarray of shape (n_tokens,), int64
        The first slot of each token whose link leads to a later token.
    neighbour, reverse, link : ndarray of shape (n_slots,), int64
        The token at the other end, its slot for the same link, and that link.
    is_current : ndarray of shape (n_slots,), uint8
        Whether the token is the second end of the link.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.inference.propagation import Slots
    >>> slots = Slots.of(np.array([0, 3]), np.array([[0, 2], [2, 1]]))
    >>> slots.order, slots.neighbour, slots.link
    (array([0, 2, 1]), array([1, 0, 2, 1]), array([0, 0, 1, 1]))
    """

    order: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    neighbour: np.ndarray
    reverse: np.ndarray
    link: np.ndarray
    is_current: np.ndarray

    @classmethod
    def of(cls, offsets: np.ndarray, ends: np.ndarray) -> "Slots":
        """Return the slots of some units.

        Parameters
        ----------
        offsets : ndarray of shape (n_units + 1,), int64
        ends : ndarray of shape (2, n_links), int64
        """
        n_tokens, n_slots = int(offsets[-1]), ends.size
        first, link = np.empty(n_tokens + 1, dtype=np.int64), np.empty(n_slots, dtype=np.int64)
        links_of_tokens(ends, first, link)
        order, middle = np.empty((2, n_tokens), dtype=np.int64)
        breadth_first(offsets, ends, first, link, order)
        neighbour, reverse, link_of = np.empty((3, n_slots), dtype=np.int64)
        start, is_current = np.empty_like(first), np.empty(n_slots, dtype=np.uint8)
        slots = cls(order, start, middle, neighbour, reverse, link_of, is_current)
        make_slots(ends, first, link, *slots)
        return slots

    @property
    def n_earlier(self) -> np.ndarray:
        """The number of links of each token to earlier tokens."""
        return self.middle - self.start[:-1]


class Plan(NamedTuple):
    """What is computed once for a graph.

    Parameters
    ----------
    slots : Slots
    share : pair of ndarrays, optional
        Appearance probabilities, and which of them each link has; 1 by default.
    forests : Forests, optional
        Which spanning forests contain each link.
    """

    slots: Slots
    share: tuple[np.ndarray, np.ndarray] | None = None
    forests: Any = None


class Messages:
    """The messages of a batch; see ``graph/propagation.pyx``.

    Parameters
    ----------
    graph : Linked
        With a :class:`Plan`.
    scores : Scores
    is_max : bool
        Whether messages are maxima or sums.

    Attributes
    ----------
    tables : LinkTables
        Transition scores, divided by the shares.
    impossible : ndarray of shape (n_units,), bool
        Units in which a token has no label that its neighbours are compatible with. Their state
        scores are replaced by zeros.
    arrays : GraphMessages
        The slots, all scores, in the order of the slots, and the messages, which are zeros before
        they are sent: as one argument of kernels.
    """

    def __init__(self, graph: Linked, scores: Scores, is_max: bool):
        slots, share, _ = graph.plan
        self._graph, self._scores, self._slots, self._is_max = graph, scores, slots, is_max
        self.tables = LinkTables(scores, graph.link_rows(scores), *(share or ()))
        self._state = state = graph.with_ends(scores)[slots.order]
        self.arrays = GraphMessages(
            graph.offsets,
            slots,
            2 * self.tables.of_link[slots.link] + slots.is_current,
            self.tables.tables,
            np.empty(0) if share is None else share[0][share[1][slots.link]],
            state,
            np.zeros((len(slots.link), state.shape[1])),
        )
        if np.isneginf(self.tables.tables).any():
            remove_unsupported(self.arrays)
        self.impossible = np.zeros(graph.n_units, dtype=bool)
        n_possible = (state > -np.inf).sum(axis=1)
        if not n_possible.all():
            self.impossible[graph.units_of(np.flatnonzero(n_possible == 0))] = True
            state[np.repeat(self.impossible, np.diff(graph.offsets))] = 0.0
        self._is_fixed = (n_possible == 1).astype(np.uint8)

    def send(self, max_iter: int, tol: float, damping: float) -> Convergence:
        """Send messages until none changes by more than a tolerance.

        Parameters
        ----------
        max_iter : int
        tol : float
            The largest change of a message in the last iteration.
        damping : float
            The share of the old message in the new one, in units with cycles.

        Returns
        -------
        Convergence
        """
        offsets, slots = self._graph.offsets, self._slots
        n_units, n_slots = len(offsets) - 1, np.diff(slots.start[offsets])
        n_iter, residual = np.zeros(n_units, dtype=np.int64), np.zeros(n_units)
        has_cycle = np.zeros(n_units, dtype=bool)
        has_cycle[self._graph.units_of(np.flatnonzero(slots.n_earlier > 1))] = True
        of_old = np.where(has_cycle, damping, 0.0)
        potentials = propagation.packed_tables(self.tables.tables, self._is_max)
        units = np.flatnonzero((n_slots > 0) & ~self.impossible)
        while len(units):
            n_products = int(n_slots[units].sum()) * self._state.shape[1] ** 2
            n_done = int(n_iter[units[0]])
            n_more = min(max_iter - n_done, max(1, WORK // n_products))
            propagation.propagate(
                self.arrays,
                units,
                self._is_fixed,
                potentials,
                self._is_max,
                of_old,
                tol,
                n_more,
                n_iter,
                residual,
            )
            is_open = (residual[units] > tol) & (n_iter[units] < max_iter)
            units = units[is_open]
        return Convergence(n_iter, residual, tol)

    @cached_property
    def beliefs(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the beliefs of tokens, normalised, and what was subtracted for that."""
        belief, log_z = np.empty_like(self._state), np.empty(len(self._state))
        log_beliefs(self.arrays, belief, log_z)
        return belief, log_z

    def of_possible(self, weight: np.ndarray) -> np.ndarray:
        """Return the weights of units, zero for those without a possible labelling."""
        return np.where(self.impossible, 0.0, weight)

    def in_order(self, of_tokens: np.ndarray) -> np.ndarray:
        """Rows of tokens in the order of the slots, brought into the order of the tokens."""
        rows = np.empty_like(of_tokens)
        rows[self._slots.order] = of_tokens
        return rows

    def gradient(self, of_state: np.ndarray, of_tables: np.ndarray, out: AddTo) -> ScoreGradient:
        """Return the score gradient, given derivatives by state scores, by slots, and tables."""
        rows = self.in_order(of_state)
        return self._graph.add_gradient(self._scores, self.tables, rows, of_tables, out)


@dataclass(eq=False)
class Propagation(Inference):
    """The base of engines that send messages between linked tokens until they no longer change.

    Tokens send their messages one after another, and use all messages sent before. On grids and
    random graphs that took a half to a fifth of the iterations of sending all messages at once.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations, in each of which every message is sent once.
    tol : float
        Messages, which are logarithms, are sent until none changes by more.
    damping : float
        The share of the old message in the new one, at least 0 and less than 1, in units with
        cycles. With more damping messages change more slowly, but oscillate less.
    report : callable, optional
        Called with the :class:`~sklearn_crcrf.structures.inference.Convergence` of a batch after
        each inference.
    """

    max_iter: int
    tol: float
    damping: float
    report: Report | None = None

    def reporting(self, report: Report) -> Self:
        return replace(self, report=report)

    def _sent(self, graph: Linked, scores: Scores, is_max: bool = False) -> Messages:
        """Return the messages of a batch, as sums or as maxima, after they are sent."""
        messages = Messages(graph, scores, is_max)
        convergence = messages.send(self.max_iter, self.tol, self.damping)
        if self.report is not None:
            self.report(convergence)
        return messages

    def maximum(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        messages = self._sent(graph, scores, is_max=True)
        labels = np.zeros(graph.n_tokens, dtype=np.int32)
        decode(messages.arrays, N_ROUNDS, labels)
        y = messages.in_order(labels)
        value, _ = graph.score(scores, y)
        return np.where(messages.impossible, -np.inf, value), y
