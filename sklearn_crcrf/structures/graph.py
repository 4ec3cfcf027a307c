"""Undirected graphs: what is the same for all engines of inference, which do the rest."""

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.ragged import joined_ranges, locate
from .base import Structure
from .inference import Inference, as_inference
from .link_pieces import LinkPieces
from .link_scores import LabellingScores, NeighbourScores
from .link_tables import LinkTables
from .scores import AddTo, Pullback, ScoreGradient, Scores

__all__ = ["Graph"]

# What depends on the engine: each method, and the capability of the engine that it needs.
ENGINE = {
    "log_partition": "log_partition",
    "log_partition_and_gradient": "log_partition",
    "marginals": "log_partition",
    "maximum": "maximum",
    "token_marginals": "token_marginals",
    "covariance": "covariance",
    "entropy": "entropy",
    "sample": "sample",
}


class Graph(Structure):
    """Graphs of any kind, with undirected links.

    An engine of inference finds sums and maxima over all labellings. Some engines are exact, others
    approximate them, and some have only one of both; the capabilities of a graph are those of its
    engine, besides ``conditional_scores`` and ``pieces``, which need none.

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
    inference : str or Inference, default="auto"
        The engine, or its name: "auto", "exact", "loopy", "trw", "cut" or "ilp". The engines are in
        :mod:`sklearn_crcrf.structures.inference`.
    link_attributes : CSR of shape (n_links, n_attributes), optional
        What transition scores of links depend on; kept with the links. By default nothing.

    Raises
    ------
    ValueError
        If the ends of a link are not two tokens of one unit, or links are not sorted by unit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores
    >>> offsets, edges = np.array([0, 4]), np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    >>> ring = Graph(offsets, edges, "exact")
    >>> scores = Scores.of(np.array([[1.0, 0.0], [0.0, 0.2], [0.0, 0.2], [0.0, 0.2]]), np.eye(2))
    >>> ring.maximum(scores)
    (array([5.]), array([0, 0, 0, 0], dtype=int32))
    >>> ring.can("log_partition"), Graph(offsets, edges, "cut").can("log_partition")
    (True, False)
    """

    is_directed = False

    def __init__(
        self,
        offsets: np.ndarray,
        edges: np.ndarray,
        inference: str | Inference = "auto",
        link_attributes: sp.csr_array | None = None,
    ):
        super().__init__(offsets)
        edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        self._ends = np.ascontiguousarray(edges.T)
        self.inference = as_inference(inference)
        nothing = sp.csr_array((len(edges), 0))
        self.link_attributes = nothing if link_attributes is None else link_attributes
        self.link_offsets = self._checked_links()

    @classmethod
    def _of(
        cls,
        offsets: np.ndarray,
        ends: np.ndarray,
        link_offsets: np.ndarray,
        link_attributes: sp.csr_array,
        inference: Inference,
    ) -> "Graph":
        """A graph of arrays that are sound."""
        graph = cls.__new__(cls)
        Structure.__init__(graph, offsets)
        graph._ends, graph.link_offsets, graph.inference = ends, link_offsets, inference
        graph.link_attributes = link_attributes
        return graph

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

    @property
    def edges(self) -> np.ndarray:
        """The two ends of each link, of shape (n_links, 2)."""
        return self._ends.T

    @property
    def n_links(self) -> int:
        """The number of links of all graphs."""
        return self._ends.shape[1]

    @property
    def title(self) -> str:
        return f'{type(self).__name__} with inference="{self.inference.name}"'

    @cached_property
    def plan(self) -> Any:
        """What the engine computes once for this graph."""
        return self.inference.plan(self)

    def can(self, capability: str) -> bool:
        if capability in ENGINE:
            return self.inference.can(ENGINE[capability])
        return super().can(capability)

    def take(self, units: slice | np.ndarray) -> "Graph":
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
            starts = offsets - offsets[0], ends, links - links[0], attributes
            return Graph._of(*starts, self.inference)
        n_tokens, n_links = (
            bounds[units + 1] - bounds[units] for bounds in (self.offsets, self.link_offsets)
        )
        offsets, links = (np.append(0, np.cumsum(n)) for n in (n_tokens, n_links))
        moved = np.repeat(offsets[:-1] - self.offsets[units], n_links)
        chosen = joined_ranges(self.link_offsets[units], n_links)
        ends = np.ascontiguousarray(self._ends[:, chosen] + moved)
        attributes = self.link_attributes[chosen]
        return Graph._of(offsets, ends, links, attributes, self.inference)

    def with_inference(self, inference: str | Inference) -> "Graph":
        """The same graphs with another engine."""
        engine = as_inference(inference)
        links = self._ends, self.link_offsets, self.link_attributes
        return Graph._of(self.offsets, *links, engine)

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

    def takes_triangles(self, n_labels: int) -> bool:
        return self.inference.takes_triangles(n_labels)

    def is_sequential(self) -> bool:
        """False: kernels that expect a sequence know no rows of links, and no engine."""
        return False

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        given = LabellingScores(self, scores, y)
        return given.value, given.pullback

    def conditional_scores(
        self, scores: Scores, y: np.ndarray, neighbours: Collection[int] = (-1, 1)
    ) -> tuple[np.ndarray, Pullback]:
        given = NeighbourScores(self, scores, y, neighbours)
        return given.scores, given.pullback

    def pieces(self, scores: Scores, with_tokens: bool = False) -> LinkPieces:
        return LinkPieces(self, scores, with_tokens)

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Structure.log_partition`: exact, an approximation or a bound."""
        scores, improper = self._sound(scores)
        value, pullback = self.inference.log_partition(self, scores)
        value[improper] = np.nan
        return value, pullback

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.maximum`; an engine may find a labelling that is not the best.

        The value is the score of the labelling found.
        """
        scores, improper = self._sound(scores)
        value, y = self.inference.maximum(self, scores)
        value[improper] = np.nan
        return value, y

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        return self.inference.token_marginals(self, scores)

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        return self.inference.covariance(self, scores, direction)

    def entropy(self, scores: Scores) -> np.ndarray:
        return self.inference.entropy(self, scores)

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        return self.inference.sample(self, scores, n_samples, rng)

    def _sound(self, scores: Scores) -> tuple[Scores, np.ndarray]:
        """Scores with zeros in place of NaN and inf, and the units where these are."""
        proper = scores.state < np.inf
        if proper.all():
            return scores, np.empty(0, dtype=np.int64)
        token = np.flatnonzero(~proper.all(axis=1))
        return scores._replace(state=np.where(proper, scores.state, 0.0)), self.units_of(token)
