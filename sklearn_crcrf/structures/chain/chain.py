"""The linear chain: best paths, sums over paths, and marginals."""

from functools import cached_property

import numpy as np

from ..._kernels.chain import viterbi
from ..._kernels.chain.paths import k_best
from ..._kernels.chain.scores import BatchScores
from ..._kernels.tree.messages import TreeRows
from ...data.ragged import joined_ranges, longest_first
from ..candidates import Candidates
from ..expected import own_entries
from ..k_best import k_best_paths
from ..lattice.pruning import prune_chains
from ..messages import rows_of_chains
from ..pieces import Pieces
from ..rooted import Rooted
from ..scores import Ends, Pullback, Scores, ends
from ..spans import HasWindows
from .span_margins import margins_of_spans
from .sums import PathSums


class Chain(HasWindows, Rooted):
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
    def rows(self) -> TreeRows:
        return rows_of_chains(self.offsets, self.before)

    @cached_property
    def ends(self) -> Ends:
        return ends(self.offsets)

    def take(self, units: slice | np.ndarray) -> "Chain":
        if isinstance(units, slice):
            # The time must not depend on the other sequences: batches take a few out of millions.
            start, stop, _ = units.indices(self.n_units)
            return Chain(self.offsets[start : stop + 1] - self.offsets[start])
        lengths = self.offsets[units + 1] - self.offsets[units]
        return Chain(np.append(0, np.cumsum(lengths)))

    def sums(self, scores: Scores) -> PathSums:
        return PathSums(self, scores)

    def marginals(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        sums = self.sums(scores)
        marginals = sums.marginals()
        return sums.log_z, marginals

    def pair_marginals(self, scores: Scores) -> np.ndarray:
        """As :meth:`Capabilities.pair_marginals`: p(i of t) p(j of t + 1 | i of t)."""
        previous, current = self.links()
        messages, shape = self.messages(scores), (len(current), *scores.transition.shape)
        following = np.broadcast_to(messages.transition, shape).copy()
        link, entry = own_entries(self, scores)
        edges = messages.token_transitions
        following[link, edges.previous[entry], edges.current[entry]] = edges.score[entry]
        following += messages.up[current][:, None, :]
        highest = following.max(axis=2, keepdims=True)
        np.exp(following - np.where(np.isneginf(highest), 0.0, highest), out=following)
        sums = following.sum(axis=2, keepdims=True)
        following /= np.where(sums > 0, sums, 1.0)
        _, marginals = self.marginals(scores.tokens(slice(None)))
        return marginals[previous][:, :, None] * following

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.maximum`; of ties, the path with the lowest labels at its end."""
        y = np.zeros(len(scores.state), dtype=np.int32)
        value = np.empty(self.n_units)
        batch = BatchScores(self.offsets, scores)
        viterbi.viterbi(batch, self.longest_first, scores.state, None, y, value)
        return value, y

    def likely_labels(
        self, scores: Scores, threshold: float, gold: np.ndarray | None = None
    ) -> tuple[np.ndarray, Candidates]:
        """As :meth:`Structure.likely_labels`; see ``structures/lattice/pruning.py``."""
        return prune_chains(self.offsets, scores, threshold, gold)

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Pieces:
        return Pieces(self, scores, with_tokens, Chain)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        scores = scores.tokens(slice(None))
        batch, transposed = BatchScores(self.offsets, scores), scores.transition.T.copy()

        def search(sequence: int, paths: np.ndarray, value: np.ndarray) -> None:
            k_best(batch, sequence, scores.state, transposed, paths, value)

        sizes = np.full(self.n_tokens, len(transposed))
        return k_best_paths(self.offsets, sizes, sizes, k, search)

    def windows(
        self, scores: Scores, unit: np.ndarray, start: np.ndarray, stop: np.ndarray
    ) -> tuple["Chain", Scores, np.ndarray]:
        """As ``HasWindows.windows``; the sums are in the scores of the first and last token."""
        first = np.maximum(start - 1, self.offsets[unit])
        end = np.minimum(stop + 1, self.offsets[unit + 1])
        forwards = Chain(self.n_tokens - self.offsets[::-1]).messages(scores.reversed())
        backwards = self.messages(scores)
        tokens = joined_ranges(first, end - first)
        windows = Chain(np.append(0, np.cumsum(end - first)))
        cut, (begins, stops) = scores.tokens(tokens), windows.ends
        state = backwards.state[tokens]
        state[begins] = forwards.up[::-1][first]
        state[stops] = backwards.up[end - 1]
        cut.token_transitions.row[begins] = -1
        none = np.zeros_like(cut.begin)
        cut = cut._replace(state=state, begin=none, end=none)
        return windows, cut, windows.offsets[:-1] - first

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
        return margins_of_spans(self.offsets, scores, *spans)
