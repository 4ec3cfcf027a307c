"""Exact sums and maxima over all labellings, on junction trees."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._kernels.graph.junction_trees import (
    JunctionMessages,
    add_expected_uses,
    add_junction_covariances,
    maximise_over_junction_trees,
    sample_from_junction_trees,
    sum_over_junction_trees,
)
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .base import Inference
from .elimination import Elimination
from .linked import Linked, LinkTables


@dataclass(eq=False)
class Exact(Inference):
    """Sums and maxima on junction trees [1]_, made by the elimination of one token after another.

    Time and memory grow with the largest table, of ``n_labels ** (width + 1)`` numbers, where the
    width is the number of tokens that an elimination joins: 1 in a tree, 2 in a cycle, about the
    shorter side of a grid. Unless a graph is a tree, a cycle or made of these, networkx must be
    installed; it chooses the order of elimination.

    Parameters
    ----------
    max_table : int, default=10**6
        Units that need a larger table are refused.

    References
    ----------
    .. [1] Lauritzen, Spiegelhalter, "Local Computations with Probabilities on Graphical Structures
       and their Application to Expert Systems", J. Royal Statistical Society B 50 (2), 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores
    >>> ring = Graph(np.array([0, 3]), np.array([[0, 1], [1, 2], [0, 2]]), "exact")
    >>> scores = Scores.of(np.zeros((3, 2)), np.log([[2.0, 1.0], [1.0, 2.0]]))
    >>> log_z, _ = ring.log_partition(scores)
    >>> np.exp(log_z).round(6)  # two labellings with equal labels, six others
    array([28.])
    """

    name = "exact"

    max_table: int = 10**6

    def takes_triangles(self, n_labels: int) -> bool:
        return n_labels**3 <= self.max_table

    def plan(self, graph: Linked) -> Elimination:
        return Elimination(graph.offsets, *graph.links(), graph.triangles)

    def log_partition(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        sums = _Trees(graph, scores, self.max_table)
        return sums.log_z, sums.pullback

    def maximum(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        y, value = np.zeros(graph.n_tokens, dtype=np.int32), np.empty(graph.n_units)
        trees = _Trees(graph, scores, self.max_table)
        maximise_over_junction_trees(trees.arrays, value, y)
        return value, y

    def token_marginals(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        sums = _Trees(graph, scores, self.max_table)
        (marginals, _, _), _ = sums.expected(np.ones(graph.n_units))

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            # Without their means, weights lose less to rounding.
            mean = np.einsum("tj,tj->t", weight, marginals)
            direction = ScoreGradient.zeros(scores, weight - mean[:, None])
            return sums.covariance(direction)[1](np.ones(graph.n_units), out)

        return marginals, pullback

    def covariance(
        self, graph: Linked, scores: Scores, direction: ScoreGradient
    ) -> tuple[np.ndarray, Pullback]:
        return _Trees(graph, scores, self.max_table).covariance(direction)

    def entropy(self, graph: Linked, scores: Scores) -> np.ndarray:
        sums = _Trees(graph, scores, self.max_table)
        _, entropy = sums.expected(np.ones(graph.n_units))
        return np.where(sums.log_z > -np.inf, entropy, np.nan)

    def sample(
        self,
        graph: Linked,
        scores: Scores,
        n_samples: int,
        rng: np.random.Generator | np.random.RandomState,
    ) -> np.ndarray:
        sums = _Trees(graph, scores, self.max_table)
        impossible = np.flatnonzero(sums.log_z == -np.inf)
        if len(impossible):
            raise ValueError(f"no labelling of unit {impossible[0]} is possible")
        y = np.empty((n_samples, graph.n_tokens), dtype=np.int32)
        sample_from_junction_trees(sums.arrays, rng.random(y.shape), y)
        return y


def widest_of(n_labels: int, max_table: int) -> int:
    """Return the largest width whose tables are not too large; -1 if there is none."""
    if n_labels == 1:
        return max_table
    width = -1
    while n_labels ** (width + 2) <= max_table:
        width += 1
    return width


def as_tables(own: np.ndarray, n_labels: int) -> np.ndarray:
    """Return scores of triangles, or numbers in their place, as a table of each kind."""
    return np.ascontiguousarray(own, dtype=float).reshape(-1, n_labels, n_labels, n_labels)


class _Trees:
    """The scores of a batch on its junction trees, the log-partitions, and their derivatives.

    Attributes
    ----------
    tables : LinkTables
    triangles : ndarray of shape (n_tables, n_labels, n_labels, n_labels)
    n_messages : int
        How many numbers all messages have together.
    arrays : JunctionMessages
        The plan, the scores, and room for messages, as one argument of kernels.
    """

    def __init__(self, graph: Linked, scores: Scores, max_table: int):
        n = scores.state.shape[1]
        widest = widest_of(n, max_table)
        unit = graph.plan.first_wider(widest)
        if unit is not None:
            raise ValueError(
                f"unit {unit}: its junction tree is wider than {widest}, the largest width that "
                f'inference="exact" takes with {n} labels: a table of {n} ** (width + 1) numbers '
                f"must not exceed max_table={max_table}"
            )
        self._graph, self._scores, trees = graph, scores, graph.plan.trees
        self.tables = LinkTables(scores, graph.link_rows(scores))
        self.triangles = as_tables(scores.own, n)
        lengths = n ** np.diff(trees.start)
        self.n_messages = int(lengths.sum())
        self.arrays = JunctionMessages(
            graph.offsets,
            tuple(trees),
            trees.work_space(),
            self.tables.of_link,
            graph.table_of_triangle,
            np.cumsum(lengths) - lengths,
            graph.with_ends(scores),
            self.tables.tables,
            self.triangles,
            np.empty(self.n_messages),
        )

    @cached_property
    def log_z(self) -> np.ndarray:
        """The log-partition of each unit."""
        log_z = np.empty(self._graph.n_units)
        sum_over_junction_trees(self.arrays, log_z)
        return log_z

    def expected(self, weight: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Return expected uses of scores of tokens, links and triangles; and entropies."""
        parts = self._scores.state, self.tables.tables, self.triangles
        uses = [np.zeros(part.shape) for part in parts]
        entropy, work = np.empty(self._graph.n_units), np.zeros(self.n_messages)
        weight = np.ascontiguousarray(weight, dtype=float)
        add_expected_uses(self.arrays, self.log_z, weight, *uses, work, entropy)
        return uses, entropy

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """Return the score gradient of the log-partitions, weighted, added to ``out``."""
        return self._gradient(self.expected(weight)[0], out)

    def covariance(self, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        """As :meth:`~sklearn_crcrf.structures.Capabilities.covariance`."""
        along = self.tables.filled(direction.transition, direction.token_transitions)
        triangles = as_tables(direction.own, along.shape[1])
        ahead = self._graph.with_ends(direction), along, triangles
        mean = np.empty(self._graph.n_units)

        def covariances(weight: np.ndarray) -> list[np.ndarray]:
            found = [np.zeros_like(part) for part in ahead]
            work = np.empty(self.n_messages)
            add_junction_covariances(self.arrays, self.log_z, *ahead, work, mean, weight, *found)
            return found

        covariances(np.zeros(self._graph.n_units))

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return self._gradient(covariances(np.ascontiguousarray(weight, dtype=float)), out)

        return mean, pullback

    def _gradient(self, derivatives: list[np.ndarray], out: AddTo) -> ScoreGradient:
        of_state, of_tables, of_triangles = derivatives
        gradient = self._graph.add_gradient(self._scores, self.tables, of_state, of_tables, out)
        gradient.own[:] += of_triangles.ravel()
        return gradient
