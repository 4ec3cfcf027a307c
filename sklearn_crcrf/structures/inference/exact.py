"""Exact sums and maxima over all labellings, on junction trees."""

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
from .link_tables import LinkTables
from .linked import Linked

__all__ = ["Exact"]


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

    def __init__(self, max_table: int = 10**6):
        self.max_table = max_table

    def takes_triangles(self, n_labels: int) -> bool:
        return n_labels**3 <= self.max_table

    def plan(self, graph: Linked) -> Elimination:
        return Elimination(graph.offsets, *graph.links(), graph.triangles)

    def log_partition(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        sums = _TreeSums(graph, scores, self.max_table)
        return sums.log_z, sums.pullback

    def maximum(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        y, value = np.zeros(graph.n_tokens, dtype=np.int32), np.empty(graph.n_units)
        trees = _TreeScores(graph, scores, self.max_table)
        maximise_over_junction_trees(trees.arrays, value, y)
        return value, y

    def token_marginals(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, Pullback]:
        sums = _TreeSums(graph, scores, self.max_table)
        marginals = sums.expected(np.ones(graph.n_units))[0]

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            # Without their means, weights lose less to rounding.
            mean = np.einsum("tj,tj->t", weight, marginals)
            direction = ScoreGradient.zeros(scores, weight - mean[:, None])
            return sums.covariance(direction)[1](np.ones(graph.n_units), out)

        return marginals, pullback

    def covariance(
        self, graph: Linked, scores: Scores, direction: ScoreGradient
    ) -> tuple[np.ndarray, Pullback]:
        return _TreeSums(graph, scores, self.max_table).covariance(direction)

    def entropy(self, graph: Linked, scores: Scores) -> np.ndarray:
        sums = _TreeSums(graph, scores, self.max_table)
        entropy = sums.expected(np.ones(graph.n_units))[3]
        return np.where(sums.log_z > -np.inf, entropy, np.nan)

    def sample(
        self,
        graph: Linked,
        scores: Scores,
        n_samples: int,
        rng: np.random.Generator | np.random.RandomState,
    ) -> np.ndarray:
        sums = _TreeSums(graph, scores, self.max_table)
        impossible = np.flatnonzero(sums.log_z == -np.inf)
        if len(impossible):
            raise ValueError(f"no labelling of unit {impossible[0]} is possible")
        y = np.empty((n_samples, graph.n_tokens), dtype=np.int32)
        sample_from_junction_trees(sums.arrays, rng.random(y.shape), y)
        return y


def check_width(graph: Linked, n_labels: int, max_table: int) -> None:
    """Raise ValueError if a unit of a graph needs too large a table."""
    widest = widest_of(n_labels, max_table)
    unit = graph.plan.first_wider(widest)
    if unit is not None:
        raise ValueError(
            f"unit {unit}: its junction tree is wider than {widest}, the largest width that "
            f'inference="exact" takes with {n_labels} labels: a table of {n_labels} ** (width + 1) '
            f"numbers must not exceed max_table={max_table}"
        )


def widest_of(n_labels: int, max_table: int) -> int:
    """The largest width of junction trees of which no table is too large; -1 if there is none."""
    if n_labels == 1:
        return max_table
    width = -1
    while n_labels ** (width + 2) <= max_table:
        width += 1
    return width


def as_tables(own: np.ndarray, n_labels: int) -> np.ndarray:
    """Scores of triangles, or numbers in their place, as a table of each kind."""
    return np.ascontiguousarray(own, dtype=float).reshape(-1, n_labels, n_labels, n_labels)


class _TreeScores:
    """The scores of a batch, on its junction trees.

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
        check_width(graph, n, max_table)
        trees = graph.plan.trees
        self.tables = LinkTables(scores, graph.rows(scores))
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


class _TreeSums(_TreeScores):
    """The log-partition of each unit, and its first and second derivatives.

    Attributes
    ----------
    log_z : ndarray of shape (n_units,)
    """

    def __init__(self, graph: Linked, scores: Scores, max_table: int):
        super().__init__(graph, scores, max_table)
        self._graph, self._scores = graph, scores
        self.log_z = np.empty(graph.n_units)
        sum_over_junction_trees(self.arrays, self.log_z)

    def expected(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Expected uses of scores of tokens, links and triangles, and entropies, times weights."""
        of_state = np.zeros(self._scores.state.shape)
        of_tables, of_triangles = np.zeros_like(self.tables.tables), np.zeros_like(self.triangles)
        entropy, work = np.empty(len(self.log_z)), np.zeros(self.n_messages)
        weight = np.ascontiguousarray(weight, dtype=float)
        expected = of_state, of_tables, of_triangles
        add_expected_uses(self.arrays, self.log_z, weight, *expected, work, entropy)
        return *expected, entropy

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the log-partitions, each times its weight, added to ``out``."""
        of_state, of_tables, of_triangles, _ = self.expected(weight)
        gradient = self._graph.add_gradient(self._scores, self.tables, of_state, of_tables, out)
        gradient.own[:] += of_triangles.ravel()
        return gradient

    def covariance(self, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        """As :meth:`~sklearn_crcrf.structures.Capabilities.covariance`."""
        along_state = self._graph.with_ends(direction)
        along = self.tables.filled(direction.transition, direction.token_transitions)
        along_triangles = as_tables(direction.own, along.shape[1])
        mean = np.empty(len(self.log_z))
        graph, scores, tables = self._graph, self._scores, self.tables

        def covariances(weight: np.ndarray) -> list[np.ndarray]:
            found = [np.zeros_like(part) for part in (along_state, along, along_triangles)]
            add_junction_covariances(
                self.arrays,
                self.log_z,
                along_state,
                along,
                along_triangles,
                np.empty(self.n_messages),
                mean,
                weight,
                *found,
            )
            return found

        covariances(np.zeros(graph.n_units))

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            weight = np.ascontiguousarray(weight, dtype=float)
            of_state, of_tables, of_triangles = covariances(weight)
            gradient = graph.add_gradient(scores, tables, of_state, of_tables, out)
            gradient.own[:] += of_triangles.ravel()
            return gradient

        return mean, pullback
