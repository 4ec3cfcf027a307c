"""Messages between linked tokens, sent until they no longer change."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._kernels.graph import propagation
from ..._kernels.graph.messages import GraphMessages, log_beliefs, remove_unsupported
from ..scores import AddTo, ScoreGradient, Scores
from .base import Convergence
from .link_tables import LinkTables
from .linked import Linked
from .slots import Slots

__all__ = ["Messages", "Schedule"]

# The number of products in one call of the kernel, which cannot be interrupted: about a second.
WORK = 2**31


class Schedule(NamedTuple):
    """When to stop, and how fast messages change.

    Parameters
    ----------
    max_iter : int
    tol : float
        The largest change of a message in the last iteration.
    damping : float
        The share of the old message in the new one, in units with cycles.
    """

    max_iter: int
    tol: float
    damping: float


class Messages:
    """The messages of a batch; see ``graph/propagation.pyx``.

    Parameters
    ----------
    graph : Linked
    scores : Scores
    slots : Slots
    share : pair of ndarrays, optional
        Appearance probabilities, and which of them each link has; 1 by default.
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

    def __init__(
        self,
        graph: Linked,
        scores: Scores,
        slots: Slots,
        share: tuple[np.ndarray, np.ndarray] | None,
        is_max: bool,
    ):
        self._graph, self._scores, self._slots, self._is_max = graph, scores, slots, is_max
        self.tables = LinkTables(scores, graph.rows(scores), *(share or ()))
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

    def send(self, schedule: Schedule) -> Convergence:
        """Send messages until none changes by more than a tolerance."""
        offsets, slots = self._graph.offsets, self._slots
        n_units, n_slots = len(offsets) - 1, np.diff(slots.start[offsets])
        n_iter, residual = np.zeros(n_units, dtype=np.int64), np.zeros(n_units)
        has_cycle = np.zeros(n_units, dtype=bool)
        has_cycle[self._graph.units_of(np.flatnonzero(slots.n_earlier > 1))] = True
        damping = np.where(has_cycle, schedule.damping, 0.0)
        potentials = propagation.packed_tables(self.tables.tables, self._is_max)
        units = np.flatnonzero((n_slots > 0) & ~self.impossible)
        while len(units):
            n_products = int(n_slots[units].sum()) * self._state.shape[1] ** 2
            n_done = int(n_iter[units[0]])
            n_more = min(schedule.max_iter - n_done, max(1, WORK // n_products))
            propagation.propagate(
                self.arrays,
                units,
                self._is_fixed,
                potentials,
                self._is_max,
                damping,
                schedule.tol,
                n_more,
                n_iter,
                residual,
            )
            is_open = (residual[units] > schedule.tol) & (n_iter[units] < schedule.max_iter)
            units = units[is_open]
        return Convergence(n_iter, residual, schedule.tol)

    @cached_property
    def beliefs(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the beliefs of tokens, normalised, and what was subtracted for that."""
        belief, log_z = np.empty_like(self._state), np.empty(len(self._state))
        log_beliefs(self.arrays, belief, log_z)
        return belief, log_z

    def sums(self, of_tokens: np.ndarray) -> np.ndarray:
        """The sums of numbers of tokens, in the order of the slots, over each unit."""
        unit = np.repeat(np.arange(self._graph.n_units), np.diff(self._graph.offsets))
        return np.bincount(unit, of_tokens, minlength=self._graph.n_units).astype(float)

    def of_possible(self, weight: np.ndarray) -> np.ndarray:
        """The weights of units, zero for those without a possible labelling."""
        return np.where(self.impossible, 0.0, weight)

    def in_order(self, of_tokens: np.ndarray) -> np.ndarray:
        """Rows of tokens in the order of the slots, brought into the order of the tokens."""
        rows = np.empty_like(of_tokens)
        rows[self._slots.order] = of_tokens
        return rows

    def gradient(self, of_state: np.ndarray, of_tables: np.ndarray, out: AddTo) -> ScoreGradient:
        """The score gradient of derivatives by state scores, in the order of slots, and tables."""
        rows = self.in_order(of_state)
        return self._graph.add_gradient(self._scores, self.tables, rows, of_tables, out)
