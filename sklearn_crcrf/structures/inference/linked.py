"""Tokens with undirected links: what engines of inference see of a graph."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data.ragged import joined_ranges, locate
from ..base import Structure
from ..scores import AddTo, ScoreGradient, Scores
from .link_tables import LinkTables

__all__ = ["Linked"]


class Linked(Structure):
    """Units whose tokens have undirected links, however their labellings are summed.

    A token may have several links into it. So in ``Scores.token_transitions`` each *link* has a
    row. A link has no direction, except that the label of its first end is the row of the
    transition scores. Begin scores are for tokens that are the second end of no link, end scores
    for tokens that are the first end of none.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,), int64
        Unit ``u`` has the tokens from ``offsets[u]`` to ``offsets[u + 1] - 1``.
    edges : ndarray of shape (n_links, 2), int64
        The two ends of each link, as numbers of tokens of the batch; the links of the first unit
        come first, then the links of the second, and so on.
    link_attributes : CSR of shape (n_links, n_attributes), optional
        What transition scores of links depend on; kept with the links. By default nothing.

    Raises
    ------
    ValueError
        If the ends of a link are not two tokens of one unit, or links are not sorted by unit.
    """

    is_directed = False

    plan: Any
    """What the engine computes once for these links."""

    def __init__(
        self,
        offsets: np.ndarray,
        edges: np.ndarray,
        link_attributes: sp.csr_array | None = None,
    ):
        super().__init__(offsets)
        edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        self._ends = np.ascontiguousarray(edges.T)
        nothing = sp.csr_array((len(edges), 0))
        self.link_attributes = nothing if link_attributes is None else link_attributes
        self.link_offsets = self._checked_links()

    @abstractmethod
    def take(self, units: slice | np.ndarray) -> "Linked":
        """As :meth:`Structure.take`."""

    @abstractmethod
    def with_inference(self, inference: Any) -> "Linked":
        """The same graphs with another engine, or the engine of another name."""

    @property
    def edges(self) -> np.ndarray:
        """The two ends of each link, of shape (n_links, 2)."""
        return self._ends.T

    @property
    def n_links(self) -> int:
        """The number of links of all graphs."""
        return self._ends.shape[1]

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self._ends[0], self._ends[1]

    @property
    def n_rows(self) -> int:
        return self.n_links

    def rows_of_links(self) -> np.ndarray:
        return np.arange(self.n_links)

    def rows(self, scores: Scores) -> np.ndarray:
        """The row of the token transitions that each link has, -1 for none; of shape (n_links,)."""
        if len(scores.token_transitions.score) == 0:
            return np.full(self.n_links, -1)
        return scores.token_transitions.row

    def units_of(self, tokens: np.ndarray) -> np.ndarray:
        """The units that tokens belong to."""
        return np.searchsorted(self.offsets, tokens, side="right") - 1

    def with_ends(self, scores: Scores | ScoreGradient) -> np.ndarray:
        """State scores with begin and end scores, in double precision; a new array."""
        state = np.array(scores.state, dtype=float)
        state[self.first_tokens()] += scores.begin
        state[self.last_tokens()] += scores.end
        return state

    def add_gradient(
        self,
        scores: Scores,
        tables: LinkTables,
        of_state: np.ndarray,
        of_tables: np.ndarray,
        out: AddTo,
    ) -> ScoreGradient:
        """Derivatives by the scores with ends and by tables of links, as a score gradient.

        Parameters
        ----------
        scores : Scores
        tables : LinkTables
        of_state : ndarray of shape (n_tokens, n_labels)
        of_tables : ndarray of shape (n_tables, n_labels, n_labels)
            Is overwritten.
        out : AddTo
        """
        gradient = ScoreGradient.of(out, scores)
        gradient.state[:] += of_state
        gradient.begin[:] += of_state[self.first_tokens()].sum(axis=0)
        gradient.end[:] += of_state[self.last_tokens()].sum(axis=0)
        tables.add_gradient(of_tables, gradient)
        return gradient

    @cached_property
    def _tokens_at_ends(self) -> tuple[np.ndarray, np.ndarray]:
        return super().first_tokens(), super().last_tokens()

    def first_tokens(self) -> np.ndarray:
        return self._tokens_at_ends[0]

    def last_tokens(self) -> np.ndarray:
        return self._tokens_at_ends[1]

    def is_sequential(self) -> bool:
        """False: kernels that expect a sequence know no rows of links, and no engine."""
        return False

    def _links_of(
        self, units: slice | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, sp.csr_array]:
        """Offsets, ends, link offsets and link attributes of some of the units."""
        if isinstance(units, slice):
            # The time must not depend on the other units: batches take a few out of many.
            start, stop, _ = units.indices(self.n_units)
            stop = max(start, stop)
            offsets, links = (
                bounds[start : stop + 1] for bounds in (self.offsets, self.link_offsets)
            )
            which = slice(links[0], links[-1])
            ends = np.ascontiguousarray(self._ends[:, which] - offsets[0])
            attributes = self.link_attributes[which]
            return offsets - offsets[0], ends, links - links[0], attributes
        n_tokens, n_links = (
            bounds[units + 1] - bounds[units] for bounds in (self.offsets, self.link_offsets)
        )
        offsets, links = (np.append(0, np.cumsum(n)) for n in (n_tokens, n_links))
        moved = np.repeat(offsets[:-1] - self.offsets[units], n_links)
        chosen = joined_ranges(self.link_offsets[units], n_links)
        ends = np.ascontiguousarray(self._ends[:, chosen] + moved)
        return offsets, ends, links, self.link_attributes[chosen]

    def _checked_links(self) -> np.ndarray:
        """Where the links of each unit begin."""
        n = self.n_tokens
        units = []
        for name, ends in zip(("first", "second"), self._ends, strict=True):
            outside = np.flatnonzero((ends < 0) | (ends >= n))
            if len(outside):
                link = outside[0]
                raise ValueError(
                    f"edges, link {link}: the {name} end is token {ends[link]}, but there are {n} "
                    "tokens"
                )
            units.append(self.units_of(ends))
        wrong = np.flatnonzero((units[0] != units[1]) | (self._ends[0] == self._ends[1]))
        if len(wrong):
            places = (locate(self.offsets, end) for end in self._ends[:, wrong[0]].tolist())
            first, second = (f"token {t} of unit {u}" for u, t in places)
            raise ValueError(
                f"edges, link {wrong[0]}: it joins {first} and {second}, but must join two tokens "
                "of a unit"
            )
        unsorted = np.flatnonzero(np.diff(units[0]) < 0)
        if len(unsorted):
            link = unsorted[0] + 1
            raise ValueError(
                f"edges, link {link}: it is of unit {units[0][link]}, but the link before it is of "
                f"unit {units[0][link - 1]}; sort links by unit"
            )
        return np.searchsorted(units[0], np.arange(self.n_units + 1))
