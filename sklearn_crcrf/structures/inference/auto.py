"""Exact inference on narrow graphs, loopy belief propagation on the others."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...data.ragged import joined_ranges
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .base import Inference, Report
from .elimination import Elimination
from .exact import Exact, widest_of
from .linked import Linked
from .loopy import Loopy

# A unit with a larger core is not narrow, or it would take long to find that out.
LARGEST_CORE = 2000


@dataclass(eq=False)
class Auto(Inference):
    """Exact inference for units that are narrow enough, loopy belief propagation for the others.

    Which of both a unit gets depends on its links and on the number of labels alone, not on the
    other units of a batch. It is exact for a unit whose junction tree has small tables: for trees
    and cycles unless there are many labels, and for graphs that are made of them in few layers.

    Parameters
    ----------
    exact : Exact, default=Exact(max_table=10_000)
        Units that need a larger table are not narrow.
    loopy : Loopy, default=Loopy()

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores
    >>> edges = np.array([[0, 1], [1, 2], [0, 2], *np.transpose(np.triu_indices(20, 1)) + 3])
    >>> graph = Graph(np.array([0, 3, 23]), edges, "auto")  # a triangle, and a clique of 20 tokens
    >>> scores = Scores.of(np.zeros((23, 2)), np.log([[2.0, 1.0], [1.0, 2.0]]))
    >>> log_z, _ = graph.log_partition(scores)
    >>> np.exp(log_z[:1]).round(6)
    array([28.])
    """

    name = "auto"

    exact: Exact = field(default_factory=partial(Exact, max_table=10_000))
    loopy: Loopy = field(default_factory=Loopy)

    def reporting(self, report: Report) -> "Auto":
        return replace(self, loopy=self.loopy.reporting(report))

    def takes_triangles(self, n_labels: int) -> bool:
        return self.exact.takes_triangles(n_labels)

    def plan(self, graph: Linked) -> "_Split":
        return _Split(graph, self)

    def log_partition(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        value, parts = np.empty(graph.n_units), []
        for part in graph.plan.parts(scores.state.shape[1]):
            own = part.scores(scores)
            value[part.units], pullback = part.graph.log_partition(own)
            parts.append((part, own, pullback))

        def pull_all(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient, weight = ScoreGradient.of(out, scores), np.asarray(weight)
            for part, own, pullback in parts:
                of_part = pullback(weight[part.units], ScoreGradient.zeros(own))
                gradient.state[part.tokens] += of_part.state
                for total, term in zip(gradient[1:], of_part[1:], strict=True):
                    total += term
            return gradient

        return value, pull_all

    def maximum(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        value, y = np.empty(graph.n_units), np.empty(graph.n_tokens, dtype=np.int32)
        for part in graph.plan.parts(scores.state.shape[1]):
            value[part.units], y[part.tokens] = part.graph.maximum(part.scores(scores))
        return value, y


class _Part(NamedTuple):
    """Some units, with the engine that they have, and all their tokens and links."""

    graph: Linked
    units: np.ndarray
    tokens: np.ndarray
    links: np.ndarray

    def scores(self, scores: Scores) -> Scores:
        """Return the scores of these units."""
        edges = scores.token_transitions
        if len(edges.score):
            edges = edges._replace(row=edges.row[self.links])
        return scores._replace(state=scores.state[self.tokens], token_transitions=edges)


class _Split:
    """The narrow units of a graph, and the others, for each number of labels."""

    def __init__(self, graph: Linked, engine: Auto):
        self._graph, self._engine = graph, engine
        self._elimination = Elimination(graph.offsets, *graph.links(), graph.triangles)
        self._parts: dict[int, list[_Part]] = {}

    def parts(self, n_labels: int) -> list[_Part]:
        """Return the units with exact inference, and the units without it, if there are any."""
        widest = widest_of(n_labels, self._engine.exact.max_table)
        if widest not in self._parts:
            units = range(self._graph.n_units)
            is_narrow = np.array([self._is_narrow(u, widest) for u in units], dtype=bool)
            exact = self._part(np.flatnonzero(is_narrow), self._engine.exact)
            if is_narrow.all():
                exact.graph.plan = self._elimination
            loopy = self._part(np.flatnonzero(~is_narrow), self._engine.loopy)
            self._parts[widest] = [part for part in (exact, loopy) if len(part.units)]
        return self._parts[widest]

    def _is_narrow(self, unit: int, widest: int) -> bool:
        elimination = self._elimination
        return not (
            len(elimination.cores.get(unit, ())) > LARGEST_CORE
            or elimination.is_much_wider(unit, widest)
            or elimination.is_wider(unit, widest)
        )

    def _part(self, units: np.ndarray, engine: Inference) -> _Part:
        tokens, links = (
            joined_ranges(bounds[units], bounds[units + 1] - bounds[units])
            for bounds in (self._graph.offsets, self._graph.link_offsets)
        )
        graph: Any = self._graph.take(units)
        return _Part(graph.with_inference(engine), units, tokens, links)
