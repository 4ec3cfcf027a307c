"""Undirected graphs: what is the same for all engines of inference, which do the rest."""

from collections.abc import Collection
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..chain.chain import Chain
from ..inference import Inference, as_inference
from ..inference.linked import Linked, sums_of_units
from ..pieces import Pieces
from ..rooted import conditional_scores
from ..scores import AddTo, Pullback, ScoreGradient, Scores

# Which capability of an engine a method needs, where it has another name.
NEEDED = {"log_partition_and_gradient": "log_partition", "marginals": "log_partition"}


class Graph(Linked):
    """Graphs of any kind, with undirected links.

    An engine of inference finds sums and maxima over all labellings. Some engines are exact, others
    approximate them, and some have only one of both; a graph has the capabilities of its
    engine, besides ``conditional_scores`` and ``pieces``, which need none.

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

    def __init__(
        self,
        offsets: np.ndarray,
        edges: np.ndarray,
        inference: str | Inference = "auto",
        link_attributes: sp.csr_array | None = None,
    ):
        super().__init__(offsets, edges, link_attributes)
        self.inference = as_inference(inference)

    @property
    def title(self) -> str:
        return f'{type(self).__name__} with inference="{self.inference.name}"'

    @cached_property
    def plan(self) -> Any:
        """What the engine computes once for these links."""
        return self.inference.plan(self)

    def can(self, capability: str) -> bool:
        capability = NEEDED.get(capability, capability)
        if hasattr(Inference, capability):
            return self.inference.can(capability)
        return super().can(capability)

    def with_inference(self, inference: str | Inference) -> Self:
        """Return the same graphs with another engine."""
        return self.changed(inference=as_inference(inference))

    def takes_triangles(self, n_labels: int) -> bool:
        return self.inference.takes_triangles(n_labels)

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        y = np.asarray(y, dtype=np.int64)
        every, (first, last), (previous, current) = np.arange(len(y)), self.ends, self.links()
        of_tokens = scores.state[every, y].astype(float)
        of_tokens[first] += scores.begin[y[first]]
        of_tokens[last] += scores.end[y[last]]
        transitions = self.rows_of_links(), y[previous], y[current]
        of_links = np.asarray(scores.of_transitions(*transitions), dtype=float)
        value = sums_of_units(of_tokens, self.offsets) + sums_of_units(of_links, self.link_offsets)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient, weight = ScoreGradient.of(out, scores), np.asarray(weight, dtype=float)
            of_tokens = np.repeat(weight, np.diff(self.offsets))
            gradient.state[every, y] += of_tokens
            np.add.at(gradient.begin, y[first], of_tokens[first])
            np.add.at(gradient.end, y[last], of_tokens[last])
            of_links = np.repeat(weight, np.diff(self.link_offsets))
            gradient.add_transitions(scores, *transitions, of_links)
            return gradient

        return value, pullback

    def conditional_scores(
        self, scores: Scores, y: np.ndarray, neighbours: Collection[int] = (-1, 1)
    ) -> tuple[np.ndarray, Pullback]:
        return conditional_scores(self, scores, y, neighbours)

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Pieces:
        return Pieces(self, scores, with_tokens, Chain)

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
        """Return scores with zeros in place of NaN and inf, and the units where these are."""
        proper = scores.state < np.inf
        if proper.all():
            return scores, np.empty(0, dtype=np.int64)
        token = np.flatnonzero(~proper.all(axis=1))
        return scores._replace(state=np.where(proper, scores.state, 0.0)), self.units_of(token)
