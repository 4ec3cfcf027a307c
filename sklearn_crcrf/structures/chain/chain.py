"""The linear chain: best paths, sums over paths, and marginals."""

from functools import cached_property
from itertools import pairwise
from math import log2

import numpy as np

from ..._kernels.chain import viterbi
from ..._kernels.chain.paths import k_best
from ..._kernels.chain.scores import BatchScores
from ..._kernels.sizes import check_number
from ...data.ragged import longest_first
from ..candidates import Candidates
from ..covariance import PathMeans
from ..lattice.pruning import prune_chains
from ..messages import Messages
from ..pieces import Pieces
from ..rooted import Rooted
from ..scores import AddTo, Ends, Pullback, ScoreGradient, Scores, ends
from ..spans import span_log_probability
from .excluding import PathsExcluding
from .span_margins import SpanMargins
from .sums import PathSums

__all__ = ["Chain"]


class Chain(Rooted):
    """Linear chains of labels over the sequences of a batch.

    A chain has all capabilities. Each method is documented where it is declared, in
    :class:`~sklearn_crcrf.structures.Structure` or
    :class:`~sklearn_crcrf.structures.capabilities.Capabilities`; a labelling is called a path.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.array([[1.0, 0.0], [0.0, 0.5]]), np.eye(2))
    >>> chain = Chain(np.array([0, 2]))
    >>> chain.maximum(scores)
    (array([2.]), array([0, 0], dtype=int32))
    >>> log_z, marginals = chain.marginals(scores)
    >>> np.round(marginals, 3)
    array([[0.684, 0.316],
           [0.483, 0.517]])
    """

    always_sequential = True

    @cached_property
    def longest_first(self) -> np.ndarray:
        """The sequences by decreasing length."""
        return longest_first(self.offsets)

    @cached_property
    def before(self) -> np.ndarray:
        before = np.arange(-1, self.n_tokens - 1)
        before[self.ends[0]] = -1
        return before

    @cached_property
    def ends(self) -> Ends:
        return ends(self.offsets)

    def first_tokens(self) -> np.ndarray:
        return self.ends[0]

    def last_tokens(self) -> np.ndarray:
        return self.ends[1]

    def take(self, units: slice | np.ndarray) -> "Chain":
        if isinstance(units, slice):
            # The time must not depend on the other sequences: batches take a few out of millions.
            start, stop, _ = units.indices(self.n_units)
            return Chain(self.offsets[start : stop + 1] - self.offsets[start])
        lengths = self.offsets[units + 1] - self.offsets[units]
        return Chain(np.append(0, np.cumsum(lengths)))

    def sums(self, scores: Scores) -> PathSums:
        return PathSums(self, self.longest_first, scores)

    def marginals(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        sums = self.sums(scores)
        marginals = sums.marginals()
        return sums.log_z, marginals

    def messages(self, scores: Scores) -> Messages:
        return Messages(self.offsets, scores)

    def means(
        self,
        messages: Messages,
        v_state: np.ndarray,
        v_transition: np.ndarray,
        v_edges: np.ndarray,
    ) -> PathMeans:
        return PathMeans(messages, v_state, v_transition, v_edges)

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.maximum`; of ties, the path with the lowest labels at its end."""
        y = np.zeros(len(scores.state), dtype=np.int32)
        value = np.empty(self.n_units)
        batch = BatchScores(self.offsets, scores)
        viterbi.viterbi(batch, self.longest_first, scores.state, None, y, value)
        return value, y

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        others = PathsExcluding(self.offsets, scores, y)
        value, path = self.maximum(others.scores)
        value[np.diff(self.offsets) == 0] = -np.inf
        possible = np.repeat(value > -np.inf, np.diff(self.offsets))
        return value, np.where(possible, others.labels(path), y).astype(np.int32)

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Capabilities.log_partition_excluding`.

        It is exact even where the given path outweighs all other paths so much that
        log(Z - exp(its score)) would be lost to rounding.
        """
        others = PathsExcluding(self.offsets, scores, y)
        value, pull_others = self.log_partition(others.scores)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return others.counts(pull_others(weight), out)

        return np.where(np.diff(self.offsets) == 0, -np.inf, value), pullback

    def likely_labels(
        self, scores: Scores, threshold: float, gold: np.ndarray | None = None
    ) -> tuple[np.ndarray, Candidates]:
        """As :meth:`Structure.likely_labels`; see ``structures/lattice/pruning.py``."""
        return prune_chains(self.offsets, scores, threshold, gold)

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Pieces:
        return Pieces(self, scores, with_tokens, Chain)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        scores = scores.tokens(slice(None))
        transposed = np.ascontiguousarray(scores.transition.T)
        batch, found = BatchScores(self.offsets, scores), []
        for s, (start, stop) in enumerate(pairwise(self.offsets.tolist())):
            y, value = _empty_paths(stop - start, len(transposed), k)
            if start < stop:
                k_best(batch, s, scores.state, transposed, y, value)
            possible = value > -np.inf
            found.append((value[possible], y[possible]))
        return found

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        return self.messages(scores).sample(n_samples, rng)

    def span_log_probability(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        spans = start, stop, labels, following, preceding
        return span_log_probability(self.offsets, scores, *spans)

    def span_margin(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Pullback]:
        spans = start, stop, labels, following, preceding
        margins = SpanMargins(self.offsets, scores, *spans)
        return margins.value, margins.pullback


def _empty_paths(length: int, n_labels: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrays for the labels and scores of the k best paths, or of all paths if there are fewer."""
    if length * log2(n_labels) < log2(k):
        k = n_labels**length
    check_number(length * n_labels * k, f"steps of the {k} best paths of {length} tokens")
    return np.zeros((k, length), dtype=np.int32), np.full(k, 0.0 if length == 0 else -np.inf)
