"""The linear chain: paths, their best, their sum and their marginals."""

from collections.abc import Callable, Collection
from functools import cached_property
from itertools import pairwise
from math import log2

import numpy as np

from .._kernels._k_best import k_best
from .._kernels._paths import path_counts, path_scores
from .._kernels.sizes import check_number
from .._kernels.vectorized import viterbi
from ..data.ragged import longest_first
from .conditional_scores import ConditionalScores
from .covariance import PathMeans, entropy
from .excluding import PathsExcluding
from .local import locally_normalised
from .marginals import TokenMarginals
from .maxima import Maxima
from .messages import Messages, ends, with_ends
from .pieces import Pieces
from .sampling import sample
from .scores import AddTo, ScoreGradient, Scores
from .span_margins import SpanMargins
from .spans import span_log_probability
from .sums import PathSums

__all__ = ["Chain", "Pullback"]

Pullback = Callable[..., ScoreGradient]
"""Takes a weight for each sequence, and what to add to, and returns the weighted counts."""


class Chain:
    """Linear chains of labels over the sequences of a batch.

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

    def __init__(self, offsets: np.ndarray):
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)

    @cached_property
    def _longest_first(self) -> np.ndarray:
        return longest_first(self.offsets)

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """Scores of given paths.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids of the paths.

        Returns
        -------
        value : float64 ndarray of shape (n_sequences,)
        pullback : callable
        """
        y = np.ascontiguousarray(y, dtype=np.int32)
        value = np.empty(len(self.offsets) - 1)
        path_scores(self.offsets, y, *scores[:4], *scores.edges, value)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            counts = ScoreGradient.of(out, scores)
            path_counts(self.offsets, y, *scores.edges, weight, *counts)
            return counts

        return value, pullback

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        """Logarithms of the sums of exp(score) over all paths; the pullback is expected counts.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        value : float64 ndarray of shape (n_sequences,)
            -inf where no path is possible, 0 for an empty sequence, NaN where a state score is
            NaN or inf.
        pullback : callable
        """
        sums = PathSums(self.offsets, self._longest_first, scores)
        return sums.sum_forward(), sums.pullback

    def log_partition_and_counts(
        self, scores: Scores, weight: np.ndarray, out: AddTo = None
    ) -> tuple[np.ndarray, ScoreGradient]:
        """The log-partitions and what their pullback returns for a weight, faster than in turn.

        Parameters
        ----------
        scores : Scores
        weight : ndarray of shape (n_sequences,)
        out : ScoreGradient or ndarray of shape (n_tokens, n_labels), optional

        Returns
        -------
        value : float64 ndarray of shape (n_sequences,)
        counts : ScoreGradient
        """
        sums = PathSums(self.offsets, self._longest_first, scores)
        counts = sums.counts(weight, out)
        return sums.log_z, counts

    def gold_score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """Scores of the labels that are known: of one path, or the sum of all they allow.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,) of label ids, or of shape (n_tokens, n_labels) of bool

        Returns
        -------
        value : float64 ndarray of shape (n_sequences,)
        pullback : callable
        """
        if y.ndim == 1:
            return self.score(scores, y)
        return self.log_partition(scores.allow(y))

    def conditional_scores(
        self, scores: Scores, y: np.ndarray, neighbours: Collection[int] = (-1, 1)
    ) -> tuple[np.ndarray, Pullback]:
        """Scores of the labels of each token, given the labels next to it.

        They are all that the label of a token adds to the score of a path, with what begin and
        end give it, but without the transitions from or to a neighbour that is not given.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids of the neighbours.
        neighbours : collection of {-1, 1}
            Which are given: -1 is the token before, 1 the one after.

        Returns
        -------
        scores : ndarray of shape (n_tokens, n_labels), of the type of the state scores
        pullback : callable
            Takes a weight for each label of each token, of the type of the state scores.
        """
        given = ConditionalScores(self.offsets, scores, y, neighbours)
        return given.scores, given.pullback

    def locally_normalised(self, scores: Scores) -> Scores:
        """The scores of the conditional Markov model with these scores.

        Its paths have the probabilities

            prod_t p(y_t | y_{t-1}),    p(j | i) = exp(s_t(i, j)) / sum_j' exp(s_t(i, j')),

        where s_t(i, j) is the score of label j of token t, with those of begin and end, plus that
        of the transition from i to j. The sum depends on a token and the label before it, so it
        becomes a part of the state score of that label.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        Scores
            In double precision; begin and end are zero. Labels that no label can follow are
            impossible, but at the end of a sequence. Unless there are any, log-partitions are 0.
        """
        return locally_normalised(self.offsets, scores)

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Pieces:
        """The edges of the sequences as sequences of their own, and perhaps their tokens.

        The scores of a token, with those of begin and end, are shared equally by the pieces that
        have it, so that the scores of the pieces of a path add up to its score. A sequence of one
        token is one piece.

        Parameters
        ----------
        scores : Scores
        with_tokens : bool
            Whether each token is a piece too.

        Returns
        -------
        Pieces
            With offsets, scores, and a pullback from the counts of these scores.
        """
        return Pieces(self.offsets, scores, with_tokens)

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """The best path of each sequence; of equals the one with the lowest labels at its end.

        Returns
        -------
        value : ndarray of shape (n_sequences,)
            Its score, -inf where no path is possible, 0 for an empty sequence, NaN where a state
            score is NaN or inf.
        y : ndarray of shape (n_tokens,), int32
        """
        y = np.zeros(len(scores.state), dtype=np.int32)
        value = np.empty(len(self.offsets) - 1)
        order = self._longest_first
        viterbi.viterbi(self.offsets, order, *scores[:4], *scores.edges, None, y, value)
        return value, y

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best path of each sequence among those that differ from a given one.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids of the given paths.

        Returns
        -------
        value : ndarray of shape (n_sequences,)
            Its score, -inf where no other path is possible.
        y : ndarray of shape (n_tokens,), int32
            The given path where no other is possible.
        """
        others = PathsExcluding(self.offsets, scores, y)
        value, path = self.maximum(others.scores)
        value[np.diff(self.offsets) == 0] = -np.inf
        possible = np.repeat(value > -np.inf, np.diff(self.offsets))
        return value, np.where(possible, others.labels(path), y).astype(np.int32)

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """Logarithms of the sums of exp(score) over all paths but given ones.

        It is exact where the given path outweighs the others by far, and log(Z - exp(its score))
        is lost in rounding. The pullback is the counts expected of the others.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids of the given paths.

        Returns
        -------
        value : ndarray of shape (n_sequences,)
            -inf where no other path is possible.
        pullback : callable
        """
        others = PathsExcluding(self.offsets, scores, y)
        value, pull_others = self.log_partition(others.scores)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return others.counts(pull_others(weight), out)

        return np.where(np.diff(self.offsets) == 0, -np.inf, value), pullback

    def marginals(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """Log-partition and token marginals.

        Returns
        -------
        log_z : ndarray of shape (n_sequences,)
            -inf where no path is possible, 0 for an empty sequence.
        marginals : ndarray of shape (n_tokens, n_labels)
        """
        log_z, counts = self.log_partition_and_counts(scores, np.ones(len(self.offsets) - 1))
        return log_z, counts.state

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        """Token marginals as functions of the scores.

        Returns
        -------
        value : float64 ndarray of shape (n_tokens, n_labels)
            Zero where no path is possible.
        pullback : callable
            Takes a weight for each label of each token, instead of each sequence.
        """
        marginals = TokenMarginals(self.offsets, self._longest_first, scores)
        return marginals.value, marginals.pullback

    def max_marginals(self, scores: Scores) -> np.ndarray:
        """Score of the best path through each label of each token.

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
            -inf where no path is possible.
        """
        return Maxima(self.offsets, scores).through()

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """The k best paths of each sequence, best first.

        Returns
        -------
        list of (values, paths)
            Arrays of shape (n_paths,) and (n_paths, length), with ``n_paths <= k`` where there
            are fewer possible paths.
        """
        scores = scores.tokens(slice(None))
        transposed = np.ascontiguousarray(scores.transition.T)
        return [self._k_best(scores, transposed, a, b, k) for a, b in pairwise(self.offsets)]

    @staticmethod
    def _k_best(scores: Scores, transposed: np.ndarray, start: int, stop: int, k: int):
        n_labels, length = len(transposed), int(stop - start)
        if length * log2(n_labels) < log2(k):
            k = n_labels**length
        check_number(length * n_labels * k, f"steps of the {k} best paths of {length} tokens")
        y = np.zeros((k, length), dtype=np.int32)
        value = np.full(k, -np.inf)
        if start == stop:
            value[0] = 0.0
        else:
            edges = scores.edges._replace(row=scores.edges.row[start:stop])
            k_best(scores.state[start:stop], transposed, *scores[2:4], *edges, y, value)
        possible = value > -np.inf
        return value[possible], y[possible]

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        """Means of linear functions <v, f(y)> of paths y; the pullback is their covariance with f.

        f(y) is how often y uses each part. The covariance is the derivative of the means by the
        scores, and that of the expected counts in the direction v (Kakade, Teh & Roweis 2002).

        Parameters
        ----------
        scores : Scores
        direction : ScoreGradient
            v, with finite values.

        Returns
        -------
        mean : ndarray of shape (n_sequences,)
            NaN where no path is possible, 0 for an empty sequence.
        pullback : callable
            Adds nothing for sequences without a possible path.
        """
        v_state = with_ends(self.offsets, direction)
        messages = Messages(self.offsets, scores)
        means = PathMeans(messages, v_state, direction.transition, direction.edges)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return means.pullback(weight, ScoreGradient.of(out, scores))

        return means.mean, pullback

    def entropy(self, scores: Scores) -> np.ndarray:
        """Entropy of the distribution of the paths of each sequence (Hernando et al. 2005).

        Returns
        -------
        ndarray of shape (n_sequences,)
            In nats; NaN where no path is possible, 0 for an empty sequence.
        """
        return entropy(self.offsets, scores)

    @staticmethod
    def hamming(scores: Scores, y: np.ndarray) -> np.ndarray:
        """The cost of each label of each token: 1 where it is wrong.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,) of label ids, or of shape (n_tokens, n_labels) of bool
            The right labels.

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
            To be added to the state scores, in their type.
        """
        right = y if y.ndim == 2 else y[:, None] == np.arange(scores.state.shape[1])
        return np.logical_not(right).astype(scores.state.dtype)

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        """Draw paths of all sequences from their distributions.

        Parameters
        ----------
        scores : Scores
        n_samples : int
        rng : Generator or RandomState

        Returns
        -------
        y : ndarray of shape (n_samples, n_tokens), int32

        Raises
        ------
        ValueError
            If no path of a sequence is possible.
        """
        return sample(self.offsets, scores, n_samples, rng)

    def span_log_probability(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        """Logarithms of the probabilities that runs of tokens have given labels.

        Parameters
        ----------
        scores : Scores
        start, stop : array-like of shape (n_spans,)
            Each span is of the tokens from start to stop - 1, at least one, of one sequence.
        labels : array-like of shape (n,)
            Label ids of the tokens of the first span, then those of the second, and so on.
        following, preceding : bool array of shape (n_labels,) or (n_spans, n_labels), optional
            Which labels the tokens after and before a span may have, where there are any. By
            default all of them.

        Returns
        -------
        ndarray of shape (n_spans,)
            -inf for an impossible span, NaN where no path of the sequence is possible.

        Raises
        ------
        ValueError
            If a span is empty or exceeds its sequence, or a label is not there.
        """
        return span_log_probability(self.offsets, scores, start, stop, labels, following, preceding)

    def span_margin(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Pullback]:
        """Scores of the best paths in which runs of tokens have given labels, less those without.

        Parameters
        ----------
        scores : Scores
        start, stop, labels, following, preceding : as in :meth:`span_log_probability`
            A path has the labels of a span only between neighbours that are allowed.

        Returns
        -------
        value : ndarray of shape (n_spans,)
            -inf where no path has the labels, inf where all have, NaN where there is no path.
        pullback : callable
            Takes a weight for each span; those of no best path count nothing.

        Raises
        ------
        ValueError
            If a span is empty or exceeds its sequence, or a label is not there.
        """
        margins = SpanMargins(self.offsets, scores, start, stop, labels, following, preceding)
        return margins.value, margins.pullback

    def positions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First tokens, last tokens, and tokens that have one before them."""
        first, last = ends(self.offsets)
        return first, last, np.setdiff1d(np.arange(self.offsets[-1]), first, assume_unique=True)
