"""Transition scores that depend on the token, and the tokens that tell most about them."""

from typing import NamedTuple

import numpy as np

from ...structures import ScoreGradient, Scores, Structure, TokenTransitions


class PairScores(NamedTuple):
    """What is added to the scores of pairs of labels at the link into each token.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2), int32
        The ids of a previous and a current label; in the order of the current label, then of the
        previous one.
    values : ndarray of shape (n_tokens, n_pairs)
        Without a meaning at tokens with no link into them.
    """

    pairs: np.ndarray
    values: np.ndarray

    @classmethod
    def zeros(cls, n_tokens: int, pairs: np.ndarray) -> "PairScores":
        """Return scores that add nothing."""
        return cls(pairs, np.zeros((n_tokens, len(pairs))))

    def of_tokens(self, start: int, stop: int) -> "PairScores":
        """Return the scores of the tokens from ``start`` to ``stop``."""
        return self._replace(values=self.values[start:stop])

    def add_to(self, scores: Scores, structure: Structure) -> Scores:
        """Return scores without token transitions, with these scores added to their transitions.

        Parameters
        ----------
        scores : Scores
        structure : Structure
            At most one link leads into each of its tokens.
        """
        tokens = structure.links()[1]
        n_links, n_pairs = len(tokens), len(self.pairs)
        if n_links == 0 or n_pairs == 0:
            return scores
        previous, current = self.pairs.T
        added = scores.transition[previous, current] + self.values[tokens]
        # Scores of single tokens must not be below the common ones.
        transition = scores.transition.copy()
        transition[previous, current] = added.min(axis=0)
        row = np.full(structure.n_rows, -1)
        row[structure.rows_of_links()] = np.arange(n_links)
        starts = n_pairs * np.arange(n_links + 1)
        labels = np.tile(previous, n_links), np.tile(current, n_links)
        edges = TokenTransitions(row, starts, *labels, added.reshape(-1))
        return scores._replace(transition=transition, token_transitions=edges)

    def counts(
        self, gradient: ScoreGradient, structure: Structure
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the counts of pairs of labels in a score gradient.

        Parameters
        ----------
        gradient : ScoreGradient
            By what :meth:`add_to` returns.
        structure : Structure

        Returns
        -------
        total : ndarray of shape (n_labels, n_labels)
            Of all pairs, summed over all tokens.
        of_tokens : ndarray of shape (n_tokens, n_pairs)
            Of the pairs at the link into each token; zero where there is none.
        """
        of_tokens = np.zeros(self.values.shape)
        if gradient.token_transitions.size:
            counts = gradient.token_transitions.reshape(-1, len(self.pairs))
            of_tokens[structure.links()[1]] = counts
            gradient.transition[tuple(self.pairs.T)] += counts.sum(axis=0)
        return gradient.transition, of_tokens


def occurring_pairs(counts: np.ndarray) -> np.ndarray:
    """Return the pairs of labels that occur, as :class:`PairScores` has them.

    Parameters
    ----------
    counts : ndarray of shape (n_labels, n_labels)
        How often each pair occurs; row = previous label.
    """
    return np.argwhere(counts.T > 0)[:, ::-1].astype(np.int32)


def influential(curvature: np.ndarray, weight: np.ndarray, trimmed: float) -> np.ndarray:
    """Find the tokens that are left after influence trimming (Friedman 2001, 4.5.1).

    The influence of a token is the sum of the second derivatives P (1 - P) of its loss by the
    scores of its pairs, which is about 0 where the model is sure. The least influential tokens,
    which together have the fraction ``trimmed`` of the influence of all, are left out.

    Parameters
    ----------
    curvature : ndarray of shape (n_tokens, n_pairs)
        Second derivatives, times the weights of tokens.
    weight : ndarray of shape (n_tokens,)
    trimmed : float in [0, 1)

    Returns
    -------
    ndarray of int
        At least one token, in order.
    """
    influence = np.maximum(curvature.sum(axis=1), 0.0)
    of_one = influence / weight
    order = np.argsort(of_one)
    total = np.cumsum(influence[order])
    first = order[np.searchsorted(total, trimmed * total[-1])]
    # Copies of a token are left out together, so that they are the same as a weight.
    return np.flatnonzero(of_one >= of_one[first] * (1.0 - 1e-9))
