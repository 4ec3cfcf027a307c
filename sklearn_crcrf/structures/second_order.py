"""A chain whose scores reach back two labels, over the likeliest labels of each token."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ..data.ragged import joined_ranges
from .base import Structure
from .candidates import Candidates
from .chain import Chain
from .lattice import Lattice, LatticeScores
from .pruning import prune_second_order, second_order_lattice
from .scores import AddTo, Pullback, ScoreGradient, Scores, TokenTransitions
from .spans import check_spans

__all__ = ["SecondOrderChain"]


class SecondOrderChain(Structure):
    """Linear chains in which the score of a label depends on the two labels before it.

    Only the labels with the best state scores of each token are considered. A pair of labels,
    (previous, current), is one label of a first-order chain in which (i, j) can only be followed
    by some (j, k), so the recursions of :class:`Chain` apply. In training all labels must be
    considered: a gold path with a label that is not considered has the score -inf.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    trigram_score : callable
        Takes label ids i, j, k of shape (n,) and returns the scores that are added where these
        labels follow each other.
    n_candidates : int
        Number of labels considered per token.
    threshold : float, default=0.0
        If it is positive, :meth:`maximum` and :meth:`marginals` leave out the labels of which
        first-order sums find a smaller probability. What is left is a :class:`Lattice`, which is
        many times as fast; probabilities differ by about 100 times the threshold at most.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Scores, SecondOrderChain
    >>> def alternating(i, j, k):
    ...     return np.where((i == k) & (i != j), 1.0, 0.0)
    >>> chain = SecondOrderChain(np.array([0, 4]), alternating, 2)
    >>> chain.maximum(Scores.of(np.array([[0.1, 0.0]] * 4), np.zeros((2, 2))))
    (array([2.2]), array([0, 1, 0, 1], dtype=int32))
    """

    own_scores = True

    def __init__(
        self,
        offsets: np.ndarray,
        trigram_score: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        n_candidates: int,
        threshold: float = 0.0,
    ):
        super().__init__(offsets)
        self.trigram_score, self.n_candidates = trigram_score, n_candidates
        self.threshold = threshold
        self.chain = Chain(self.offsets)

    def take(self, units: slice | np.ndarray) -> "SecondOrderChain":
        offsets = self.chain.take(units).offsets
        return SecondOrderChain(offsets, self.trigram_score, self.n_candidates, self.threshold)

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self.chain.links()

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        value, pullback = self.chain.score(scores, y)
        _, third = self.trigrams()
        y = np.asarray(y, dtype=np.int64)
        more = np.zeros(self.n_tokens)
        more[third] = self.trigram_score(y[third - 2], y[third - 1], y[third])
        more[~(_considered(scores, self.n_candidates) == y[:, None]).any(axis=1)] = -np.inf
        sequence = np.repeat(np.arange(self.n_units), np.diff(self.offsets))
        return value + np.bincount(sequence, more, self.n_units), pullback

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        pairs = _Pairs(self, scores)
        value, pull_pairs = self.chain.log_partition(pairs.scores)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return pairs.pullback(pull_pairs(weight), out)

        return value, pullback

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        if self.threshold > 0.0:
            value, y = Lattice.maximum(*self._lattice(scores))
            if np.isfinite(value).all():
                return value, y
        pairs = _Pairs(self, scores)
        value, y = self.chain.maximum(pairs.scores)
        return value, pairs.current(y)

    def marginals(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        if self.threshold > 0.0:
            log_z, marginals = Lattice.marginals(*self._lattice(scores))
            if np.isfinite(log_z).all():
                return log_z, marginals
        return super().marginals(scores)

    def _lattice(self, scores: Scores) -> tuple[Lattice, LatticeScores]:
        given = self.trigram_score, self.threshold, self.n_candidates
        return second_order_lattice(self.offsets, scores, *given)

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        pairs = _Pairs(self, scores)
        mean, pull_pairs = self.chain.covariance(pairs.scores, pairs.along(direction))

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return pairs.pullback(pull_pairs(weight), out)

        return mean, pullback

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        # Marginals are derivatives of the log-partition, so derivatives of marginals are
        # covariances.
        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            direction = ScoreGradient.zeros(scores, np.asarray(weight, dtype=float))
            return self.covariance(scores, direction)[1](np.ones(self.n_units), out)

        return self.marginals(scores.tokens(slice(None)))[1], pullback

    def entropy(self, scores: Scores) -> np.ndarray:
        return self.chain.entropy(_Pairs(self, scores).scores)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        pairs = _Pairs(self, scores)
        found = self.chain.k_best(pairs.scores, k)
        return [
            (values, pairs.current(paths, slice(a, b)))
            for (values, paths), (a, b) in zip(found, pairwise(self.offsets), strict=True)
        ]

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        pairs = _Pairs(self, scores)
        return pairs.current(self.chain.sample(pairs.scores, n_samples, rng))

    def likely_labels(
        self, scores: Scores, threshold: float, gold: np.ndarray | None = None
    ) -> tuple[np.ndarray, Candidates]:
        """As :meth:`Structure.likely_labels`; see ``structures/pruning.py``."""
        return prune_second_order(self.offsets, scores, self.trigram_score, threshold, gold)

    def linked_scores(self, scores: Scores) -> tuple[Chain, Scores]:
        n = scores.state.shape[1]
        linked, (_, third) = Chain(self.offsets), self.trigrams()
        linked.triangles = np.stack([third - 2, third - 1, third], axis=1)
        linked.table_of_triangle = np.zeros(len(third), dtype=np.int64)
        state = np.full(scores.state.shape, -np.inf)
        considered = _considered(scores, self.n_candidates)
        np.put_along_axis(
            state, considered, np.take_along_axis(scores.state, considered, axis=1), axis=1
        )
        own = self.trigram_score(*np.indices((n, n, n)).reshape(3, -1))
        return linked, scores._replace(state=state, own=own)

    def trigrams(self) -> tuple[np.ndarray, np.ndarray]:
        """For all runs of three tokens: the number of the last link, and the last token."""
        _, into = self.links()
        places = np.flatnonzero(~np.isin(into - 1, self.offsets))
        return places, into[places]

    def span_log_probability(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        """As :meth:`Capabilities.span_log_probability`; -inf for labels that were not considered.

        A span of labels becomes one span of pairs for each label that can precede it.
        """
        start, stop, path = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
        check_spans(self.offsets, start, stop, path, scores.state.shape[1])
        if len(start) == 0:
            return np.empty(0)
        pairs = _Pairs(self, scores)
        considered = pairs.labels
        n, begins = considered.shape[1], np.cumsum(stop - start) - (stop - start)
        is_label = considered[joined_ranges(start, stop - start)] == path[:, None]
        current = is_label.argmax(axis=1)
        previous = np.tile(np.roll(current, 1), (n, 1))
        previous[:, begins] = np.arange(n)[:, None]
        if following is not None:
            allowed = np.broadcast_to(following, (len(start), scores.state.shape[1]))
            after = considered[np.minimum(stop, len(considered) - 1)]
            following = np.tile(np.take_along_axis(allowed, after, axis=1), (n, n))
        value = self.chain.span_log_probability(
            pairs.scores,
            np.tile(start, n),
            np.tile(stop, n),
            (previous * n + current).ravel(),
            following,
        )
        value = value.reshape(n, -1)
        if preceding is not None:
            allowed = np.broadcast_to(preceding, (len(start), scores.state.shape[1]))
            before = np.take_along_axis(allowed, considered[np.maximum(start - 1, 0)], axis=1)
            is_first = np.isin(start, self.offsets)
            value = np.where((before | is_first[:, None]).T | np.isnan(value), value, -np.inf)
        possible = np.logical_and.reduceat(is_label.any(axis=1), begins)
        total = np.logaddexp.reduce(value, axis=0)
        return np.where(possible | np.isnan(total), np.minimum(total, 0.0), -np.inf)


class _Pairs:
    """The first-order chain whose labels are the pairs of considered labels.

    Attributes
    ----------
    labels : ndarray of shape (n_tokens, n)
        The considered labels, in increasing order. Pair ``i * n + j`` of a token is the i-th label
        of the token before and the j-th label of the token itself.
    scores : Scores
        The scores of the pairs. All possible transitions are in ``token_transitions``.
    """

    def __init__(self, structure: SecondOrderChain, scores: Scores):
        self._structure, self._given = structure, scores
        self.labels = _considered(scores, structure.n_candidates)
        self._first, self._last = structure.first_tokens(), structure.last_tokens()
        _, self._into = structure.links()
        state = self._state(scores)
        # A first token has no previous label: only its pairs with i = 0 are possible.
        state[self._first, 1:] = -np.inf
        of_pairs = self._transitions(scores)
        self._add_trigrams(of_pairs)
        n = self.labels.shape[1]
        zeros, never = np.zeros(n * n), np.full((n * n, n * n), -np.inf)
        transitions = self._token_transitions(of_pairs.ravel())
        self.scores = Scores(state.reshape(-1, n * n), never, zeros, zeros, transitions)

    def current(self, pairs: np.ndarray, tokens: slice = slice(None)) -> np.ndarray:
        """The current labels of pairs of shape (..., n_tokens)."""
        labels = self.labels[tokens]
        return labels[np.arange(len(labels)), pairs % labels.shape[1]].astype(np.int32)

    def pullback(self, of_pairs: ScoreGradient, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the labels, given the score gradient of the pairs."""
        gradient, n = ScoreGradient.of(out, self._given), self.labels.shape[1]
        state = np.zeros(self._given.state.shape)
        considered = of_pairs.state.reshape(-1, n, n).sum(axis=1)
        np.put_along_axis(state, self.labels, considered, axis=1)
        gradient.state[:] += state
        gradient.begin[:] += state[self._first].sum(axis=0)
        gradient.end[:] += state[self._last].sum(axis=0)
        single = of_pairs.token_transitions.reshape(-1, n, n, n).sum(axis=3)
        gradient.add_transitions(self._given, *self._single(), single.ravel())
        return gradient

    def along(self, direction: ScoreGradient) -> ScoreGradient:
        """The direction in which the scores of pairs move."""
        n = self.labels.shape[1]
        edges = self._given.token_transitions._replace(score=direction.token_transitions)
        state, transition, begin, end = (np.asarray(part, dtype=float) for part in direction[:4])
        moved = Scores(state, transition, begin, end, edges)
        zeros = np.zeros(n * n)
        state, of_pairs = self._state(moved).reshape(-1, n * n), self._transitions(moved)
        return ScoreGradient(state, np.zeros((n * n, n * n)), zeros, zeros, of_pairs.ravel())

    def _state(self, scores: Scores) -> np.ndarray:
        """State scores of pairs, (n_tokens, n, n), which depend on the current label only."""
        state = np.take_along_axis(np.asarray(scores.state, dtype=float), self.labels, axis=1)
        state[self._first] += scores.begin[self.labels[self._first]]
        state[self._last] += scores.end[self.labels[self._last]]
        return np.repeat(state[:, None, :], self.labels.shape[1], axis=1)

    def _single(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Token, previous and current label of all transitions, in the order (token, j, k)."""
        n = self.labels.shape[1]
        before, here = self.labels[self._into - 1], self.labels[self._into]
        return np.repeat(self._into, n * n), np.repeat(before, n), np.tile(here, n).ravel()

    def _transitions(self, scores: Scores) -> np.ndarray:
        """Scores of (i, j) -> (j, k) of all links, in the order (link, j, k, i)."""
        n = self.labels.shape[1]
        single = scores.of_transitions(*self._single()).astype(float)
        return np.repeat(single.reshape(-1, n, n, 1), n, axis=3)

    def _add_trigrams(self, of_pairs: np.ndarray) -> None:
        """Add the trigram scores, at all tokens with two tokens before them."""
        places, third = self._structure.trigrams()
        i, j, k = (self.labels[third - back] for back in (2, 1, 0))
        grid = np.broadcast_arrays(i[:, None, None, :], j[:, :, None, None], k[:, None, :, None])
        score = self._structure.trigram_score(*(labels.ravel() for labels in grid))
        of_pairs[places] += np.reshape(score, grid[0].shape)

    def _token_transitions(self, score: np.ndarray) -> TokenTransitions:
        n, n_links = self.labels.shape[1], len(self._into)
        j, k, i = (index.ravel() for index in np.indices((n, n, n)))
        row = np.full(len(self.labels), -1)
        row[self._into] = np.arange(n_links)
        return TokenTransitions(
            row,
            np.arange(n_links + 1, dtype=np.int64) * n**3,
            np.tile(i * n + j, n_links).astype(np.int32),
            np.tile(j * n + k, n_links).astype(np.int32),
            score,
        )


def _considered(scores: Scores, n_candidates: int) -> np.ndarray:
    """The labels with the best state scores of each token, in increasing order; (n_tokens, n)."""
    n = min(n_candidates, scores.state.shape[1])
    labels = np.argpartition(-scores.state, n - 1, axis=1)[:, :n]
    labels.sort(axis=1)
    return labels
