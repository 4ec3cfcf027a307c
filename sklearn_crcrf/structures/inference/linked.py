"""Tokens with undirected links: what engines of inference see of a graph."""

from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ...data.ragged import joined_ranges, locate
from ..base import Structure
from ..scores import AddTo, ScoreGradient, Scores, add_with_ends, with_ends


class LinkTables:
    """A table of transition scores for each group of links that have the same scores.

    Parameters
    ----------
    scores : Scores
    row : ndarray of shape (n_links,), int64
        The row of the token transitions that each link has, -1 for none.
    divisor : ndarray of shape (n_divisors,), optional
        By what the tables of groups of links are divided.
    which : ndarray of shape (n_links,), int64, optional
        The group of each link: which divisor it has.

    Attributes
    ----------
    tables : float64 ndarray of shape (n_tables, n_labels, n_labels), row = previous label
    of_link : ndarray of shape (n_links,), int64

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Scores
    >>> from sklearn_crcrf.structures.inference.linked import LinkTables
    >>> scores = Scores.of(np.zeros((2, 2)), np.eye(2))
    >>> row, divisor, which = np.array([-1, -1, -1]), np.array([1.0, 0.5]), np.array([0, 0, 1])
    >>> tables = LinkTables(scores, row, divisor, which)
    >>> tables.of_link, tables.tables[1].tolist()
    (array([0, 0, 1]), [[2.0, 0.0], [0.0, 2.0]])
    """

    def __init__(
        self,
        scores: Scores,
        row: np.ndarray,
        divisor: np.ndarray | None = None,
        which: np.ndarray | None = None,
    ):
        if divisor is None or which is None or len(row) == 0:
            divisor, which = np.ones(1), np.zeros(len(row), dtype=np.int64)
        if (row < 0).all():
            self._row, self._divisor, self.of_link = np.full(len(divisor), -1), divisor, which
        else:
            keys, of_link = np.unique((row + 1) * len(divisor) + which, return_inverse=True)
            self.of_link = of_link.reshape(-1).astype(np.int64)
            self._row, self._divisor = keys // len(divisor) - 1, divisor[keys % len(divisor)]
        _, indptr, previous, current, _ = scores.token_transitions
        own = np.flatnonzero(self._row >= 0)
        starts = indptr[self._row[own]]
        lengths = indptr[self._row[own] + 1] - starts
        # Which entries of token transitions are in the tables, and where.
        self._entry = joined_ranges(starts, lengths)
        self._place = np.repeat(own, lengths), previous[self._entry], current[self._entry]
        self.tables = self.filled(scores.transition, scores.token_transitions.score)
        self.tables /= self._divisor[:, None, None]

    def filled(self, transition: np.ndarray, entries: np.ndarray) -> np.ndarray:
        """Return tables of other numbers in the place of the scores, not divided.

        Parameters
        ----------
        transition : ndarray of shape (n_labels, n_labels)
        entries : ndarray of shape (n_entries,)
            In the place of the scores of the token transitions.

        Returns
        -------
        float64 ndarray of shape (n_tables, n_labels, n_labels)
        """
        tables = np.empty((len(self._row), *transition.shape))
        tables[:] = transition
        tables[self._place] = entries[self._entry]
        return tables

    def add_gradient(self, of_tables: np.ndarray, gradient: ScoreGradient) -> None:
        """Add derivatives by the scores in the tables, which are overwritten, to a gradient.

        Parameters
        ----------
        of_tables : ndarray of shape (n_tables, n_labels, n_labels)
            Derivatives by the scores, not by the scores divided.
        gradient : ScoreGradient
        """
        np.add.at(gradient.token_transitions, self._entry, of_tables[self._place])
        of_tables[self._place] = 0.0
        gradient.transition[:] += of_tables.sum(axis=0)


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
        self, offsets: np.ndarray, edges: np.ndarray, link_attributes: sp.csr_array | None = None
    ):
        super().__init__(offsets)
        edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        self._pairs = np.ascontiguousarray(edges.T)
        nothing = sp.csr_array((len(edges), 0))
        self.link_attributes = nothing if link_attributes is None else link_attributes
        self.link_offsets = self._checked_links()

    def changed(self, **attributes: Any) -> Self:
        """Return a copy with other attributes, which are not checked, and no plan."""
        twin = copy(self)
        for computed in ("plan", "ends"):
            vars(twin).pop(computed, None)
        vars(twin).update(attributes)
        return twin

    def take(self, units: slice | np.ndarray) -> Self:
        if isinstance(units, slice):
            units = np.arange(*units.indices(self.n_units))
        n_tokens, n_links = (
            bounds[units + 1] - bounds[units] for bounds in (self.offsets, self.link_offsets)
        )
        offsets, link_offsets = (np.append(0, np.cumsum(n)) for n in (n_tokens, n_links))
        moved = np.repeat(offsets[:-1] - self.offsets[units], n_links)
        links = joined_ranges(self.link_offsets[units], n_links)
        return self.changed(
            offsets=offsets,
            _pairs=np.ascontiguousarray(self._pairs[:, links] + moved),
            link_offsets=link_offsets,
            link_attributes=self.link_attributes[links],
        )

    @property
    def edges(self) -> np.ndarray:
        """The two ends of each link, of shape (n_links, 2)."""
        return self._pairs.T

    @property
    def n_links(self) -> int:
        """The number of links of all graphs."""
        return self._pairs.shape[1]

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self._pairs[0], self._pairs[1]

    @property
    def n_rows(self) -> int:
        return self.n_links

    def rows_of_links(self) -> np.ndarray:
        return np.arange(self.n_links)

    def with_ends(self, scores: Scores | ScoreGradient) -> np.ndarray:
        """Return state scores with begin and end scores, in double precision; a new array."""
        return with_ends(scores, self.ends)

    def add_gradient(
        self,
        scores: Scores,
        tables: LinkTables,
        of_state: np.ndarray,
        of_tables: np.ndarray,
        out: AddTo,
    ) -> ScoreGradient:
        """Return derivatives by the scores with ends and by tables of links as a score gradient.

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
        add_with_ends(gradient, of_state, self.ends)
        tables.add_gradient(of_tables, gradient)
        return gradient

    def is_sequential(self) -> bool:
        """Return False: kernels that expect a sequence know no rows of links, and no engine."""
        return False

    def _checked_links(self) -> np.ndarray:
        """Return where the links of each unit begin."""
        units, n = [], self.n_tokens
        for name, ends in zip(("first", "second"), self._pairs, strict=True):
            for link in np.flatnonzero((ends < 0) | (ends >= n)):
                raise ValueError(
                    f"edges, link {link}: the {name} end is token {ends[link]}, but there are {n} "
                    "tokens"
                )
            units.append(self.units_of(ends))
        for link in np.flatnonzero((units[0] != units[1]) | (self._pairs[0] == self._pairs[1])):
            places = (locate(self.offsets, end) for end in self._pairs[:, link].tolist())
            first, second = (f"token {t} of unit {u}" for u, t in places)
            raise ValueError(
                f"edges, link {link}: it joins {first} and {second}, but must join two tokens of a "
                "unit"
            )
        for link in np.flatnonzero(np.diff(units[0]) < 0) + 1:
            raise ValueError(
                f"edges, link {link}: it is of unit {units[0][link]}, but the link before it is of "
                f"unit {units[0][link - 1]}; sort links by unit"
            )
        return np.searchsorted(units[0], np.arange(self.n_units + 1))


def sums_of_units(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the sums of the values of each unit, which begin at its offset."""
    unit = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(unit, values, minlength=len(offsets) - 1).astype(float)
