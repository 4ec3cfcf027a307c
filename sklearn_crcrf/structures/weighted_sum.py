"""Sums of the scores of several chains over the same tokens."""

from collections.abc import Sequence

import numpy as np

from ..data.ragged import joined_ranges
from .scores import ScoreGradient, Scores, TokenTransitions


class WeightedSum:
    """The sum of the scores of several chains, each times a weight, as the scores of one chain.

    Parameters
    ----------
    scores : sequence of n_chains Scores
        The scores of each chain, for the same tokens and labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Scores
    >>> from sklearn_crcrf.structures.weighted_sum import WeightedSum
    >>> chains = [Scores.of(np.array([[k, 0.0]]), np.eye(2)) for k in (1.0, 3.0)]
    >>> WeightedSum(chains).scores(np.array([0.5, 0.5])).state
    array([[2., 0.]])
    """

    def __init__(self, scores: Sequence[Scores]):
        edges, of_chains = _join_edges(scores)
        self._edges = edges
        self._chains = [
            chain._replace(
                state=np.asarray(chain.state, dtype=float),
                token_transitions=edges._replace(score=own),
            )
            for chain, own in zip(scores, of_chains, strict=True)
        ]

    def scores(self, weights: np.ndarray) -> Scores:
        """Return the weighted sum of all scores, in double precision.

        Parameters
        ----------
        weights : ndarray of shape (n_chains,)
            Not negative. A score of -inf times a weight of zero is zero.

        Returns
        -------
        Scores
        """
        state, transition, begin, end = (self._sum(part, weights) for part in range(4))
        score = sum(
            w * chain.token_transitions.score
            for w, chain in zip(weights, self._chains, strict=True)
            if w > 0
        )
        # Rounding must not put a token transition below the common score.
        common = transition[self._edges.previous, self._edges.current]
        edges = self._edges._replace(score=np.maximum(score, common))
        return Scores(state, transition, begin, end, edges)

    def pullback(self, counts: ScoreGradient) -> np.ndarray:
        """Return derivatives by the weights, given the score gradient.

        Parameters
        ----------
        counts : ScoreGradient

        Returns
        -------
        ndarray of shape (n_chains,)
        """
        return np.array([_dot(counts, chain) for chain in self._chains])

    def _sum(self, part: int, weights: np.ndarray) -> np.ndarray:
        total = np.zeros_like(self._chains[0][part])
        for weight, chain in zip(weights, self._chains, strict=True):
            if weight > 0:
                total += weight * chain[part]
        return total


def _dot(counts: ScoreGradient, scores: Scores) -> float:
    """Return the sum of derivatives times scores, in which a score of -inf counts as zero."""
    values = (*scores[:4], scores.token_transitions.score)
    return sum(
        float((n * np.where(np.isneginf(part), 0.0, part)).sum())
        for n, part in zip(counts[:5], values, strict=True)
    )


def _join_edges(scores: Sequence[Scores]) -> tuple[TokenTransitions, list[np.ndarray]]:
    """Token transitions wherever a chain has an entry, and the scores of each chain there.

    Tokens whose rows are the same in all chains share a row.
    """
    n_labels = len(scores[0].transition)
    rows = np.array(
        [
            p.token_transitions.row if len(p.token_transitions.score) else np.full(len(p.state), -1)
            for p in scores
        ]
    )
    used = (rows >= 0).any(axis=0)
    combinations, which = np.unique(rows[:, used], axis=1, return_inverse=True)
    row = np.full(rows.shape[1], -1)
    row[used] = which.reshape(-1)
    entries, keys = zip(
        *(
            _entries(p.token_transitions, own, n_labels)
            for p, own in zip(scores, combinations, strict=True)
        ),
        strict=True,
    )
    # np.unique would take ten times as long: it hashes integers, and most of these keys collide.
    joined = np.sort(np.concatenate(keys))
    joined = joined[np.diff(joined, prepend=-1) > 0]
    combination, labels = np.divmod(joined, n_labels**2)
    current, previous = np.divmod(labels, n_labels)
    of_chains = [p.transition[previous, current].astype(float) for p in scores]
    for p, entry, key, score in zip(scores, entries, keys, of_chains, strict=True):
        score[np.searchsorted(joined, key)] = p.token_transitions.score[entry]
    indptr = np.searchsorted(combination, np.arange(combinations.shape[1] + 1))
    edges = TokenTransitions(
        row,
        indptr.astype(np.int64),
        previous.astype(np.int32),
        current.astype(np.int32),
        np.empty(0),
    )
    return edges, of_chains


def _entries(
    edges: TokenTransitions, rows: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of these rows (-1: no row), and their keys: place, current, previous."""
    place = np.flatnonzero(rows >= 0)
    start = edges.indptr[rows[place]]
    lengths = edges.indptr[rows[place] + 1] - start
    entry = joined_ranges(start, lengths)
    key = np.repeat(place, lengths) * n_labels + edges.current[entry]
    return entry, key * n_labels + edges.previous[entry]
