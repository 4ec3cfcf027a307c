"""Graphs whose triangles have scores: three tokens that are linked to each other."""

from typing import Self

import numpy as np

from ...data.ragged import joined_ranges
from ..capabilities import Capabilities
from ..inference import Inference
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .graph import Graph


class TriangleGraph(Graph):
    """A graph with scores of three tokens that are linked to each other.

    ``Scores.own`` has the tables of triangles one after another, each of shape
    (n_labels, n_labels, n_labels), by the labels of the three tokens in their order. It has no
    ``conditional_scores`` and no ``pieces``.

    Parameters
    ----------
    graph : Graph
        Its engine must be able to sum over triangles, such as "exact".
    triangles : ndarray of shape (n_triangles, 3), int64
        Tokens, sorted by unit.
    table_of_triangle : ndarray of shape (n_triangles,), int64
        The number of the table of each triangle.

    Raises
    ------
    ValueError
        If two tokens of a triangle are not linked, triangles are not sorted by unit, or the engine
        has no sums over triangles.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores, TriangleGraph
    >>> graph = Graph(np.array([0, 3]), np.array([[0, 1], [1, 2], [0, 2]]), "exact")
    >>> triangle = TriangleGraph(graph, np.array([[0, 1, 2]]), np.array([0]))
    >>> scores = Scores.of(np.zeros((3, 2)), np.zeros((2, 2)))
    >>> scores = scores._replace(own=np.log([1, 1, 1, 5, 1, 1, 1, 1]))  # 5 for labels 0, 1, 1
    >>> np.exp(triangle.log_partition(scores)[0])
    array([12.])
    >>> triangle.maximum(scores)[1]
    array([0, 1, 1], dtype=int32)
    """

    conditional_scores = Capabilities.conditional_scores
    pieces = Capabilities.pieces

    def __init__(self, graph: Graph, triangles: np.ndarray, table_of_triangle: np.ndarray):
        vars(self).update(vars(graph.changed()))
        self.triangles = np.ascontiguousarray(triangles, dtype=np.int64).reshape(-1, 3)
        self.table_of_triangle = np.ascontiguousarray(table_of_triangle, dtype=np.int64)
        self._first = np.searchsorted(self._checked_units(), np.arange(graph.n_units + 1))
        self._check_engine()

    def _check_engine(self) -> None:
        if len(self.triangles) and not self.inference.takes_triangles(1):
            engine = self.inference.name
            raise ValueError(f'inference="{engine}" has no scores of triangles; use "exact"')

    def take(self, units: slice | np.ndarray) -> Self:
        if isinstance(units, slice):
            units = np.arange(*units.indices(self.n_units))
        twin, n = super().take(units), self._first[units + 1] - self._first[units]
        chosen = joined_ranges(self._first[units], n)
        moved = np.repeat(twin.offsets[:-1] - self.offsets[units], n)
        twin.triangles = self.triangles[chosen] + moved[:, None]
        twin.table_of_triangle = self.table_of_triangle[chosen]
        twin._first = np.append(0, np.cumsum(n))
        return twin

    def with_inference(self, inference: str | Inference) -> Self:
        twin = super().with_inference(inference)
        twin._check_engine()
        return twin

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        value, of_links = super().score(scores, y)
        n, unit = scores.state.shape[1], np.repeat(np.arange(self.n_units), np.diff(self._first))
        place = self.table_of_triangle
        for label in np.asarray(y, dtype=np.int64)[self.triangles.T]:
            place = place * n + label
        value += np.bincount(unit, scores.own[place], minlength=self.n_units)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = of_links(weight, out)
            np.add.at(gradient.own, place, np.asarray(weight)[unit])
            return gradient

        return value, pullback

    def _checked_units(self) -> np.ndarray:
        """Return the unit of each triangle."""
        n, tokens = self.n_tokens, np.sort(self.triangles, axis=1)
        low, high = np.sort(self.links(), axis=0)
        pairs = tokens[:, [0, 1, 0]] * n + tokens[:, [1, 2, 2]]
        is_linked = np.isin(pairs, low * n + high).all(axis=1)
        sound = is_linked & (tokens[:, 0] >= 0) & (tokens[:, 2] < n)
        for k in np.flatnonzero(~sound):
            raise ValueError(
                f"triangles, triangle {k}: {self.triangles[k].tolist()} are not three tokens that "
                "are linked to each other"
            )
        unit = self.units_of(tokens[:, 0])
        for k in np.flatnonzero(np.diff(unit) < 0) + 1:
            raise ValueError(
                f"triangles, triangle {k}: it is of unit {unit[k]}, but the triangle before it is "
                f"of unit {unit[k - 1]}; sort triangles by unit"
            )
        return unit
