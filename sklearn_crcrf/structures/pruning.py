"""Which labels of each token are likely, in a cascade of ever more exact sums.

First only the labels are left that have one of the best state scores of their token. The posterior
probabilities, from exact sums over the paths that are left, decide about the rest (Weiss & Taskar
2010). For scores of three labels in a row, sums of second order follow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .lattice import Candidates, Lattice, LatticeScores
from .scores import Scores

__all__ = ["prune_chains", "prune_second_order", "second_order_lattice"]

# Number of labels of a token whose paths are summed over.
MOST = 16
# The labels that go on to sums of second order have at least this share of the threshold, and there
# are at most this number of a token.
SHARE, MOST_SECOND = 0.1, 8


def prune_chains(
    offsets: np.ndarray,
    scores: Scores,
    threshold: float,
    gold: np.ndarray | None = None,
    most: int = MOST,
) -> tuple[np.ndarray, Candidates]:
    """The labels of chains of a probability of at least a threshold.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,)
    scores : Scores
    threshold : float in (0, 1)
    gold : ndarray of shape (n_tokens,), optional
        Label ids that are always candidates; -1 for none.
    most : int
        Number of labels of a token whose paths are summed over.

    Returns
    -------
    log_z : float64 ndarray of shape (n_sequences,)
        Log-partitions over the paths that the first step leaves.
    candidates : Candidates
        At least one label for each token.
    """
    best = _best_states(scores.state, -np.log(threshold), gold, most)
    lattice = Lattice(offsets, Candidates.of(best, best))
    return _prune(lattice, lattice.scores_of(scores), threshold, gold)


def prune_second_order(
    offsets: np.ndarray,
    scores: Scores,
    trigram_score: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    threshold: float,
    gold: np.ndarray | None = None,
) -> tuple[np.ndarray, Candidates]:
    """As :func:`prune_chains`, for chains with scores of three labels in a row.

    Parameters
    ----------
    offsets, scores, threshold, gold : as in :func:`prune_chains`
    trigram_score : callable
        As in :class:`SecondOrderChain`.
    """
    _, candidates = prune_chains(offsets, scores, SHARE * threshold, gold)
    candidates = candidates.most_probable(MOST_SECOND, gold)
    lattice, of_runs = _with_trigrams(offsets, scores, trigram_score, candidates)
    return _prune(lattice, of_runs, threshold, gold)


def second_order_lattice(
    offsets: np.ndarray,
    scores: Scores,
    trigram_score: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    threshold: float,
    most: int,
) -> tuple[Lattice, LatticeScores]:
    """The lattice of the labels of a first-order probability of at least a threshold.

    Parameters
    ----------
    offsets, scores, threshold, trigram_score : as in :func:`prune_second_order`
    most : int
        Number of labels of a token, with the best state scores, whose paths are summed over.

    Returns
    -------
    lattice : Lattice of order 2
    scores : LatticeScores
    """
    _, candidates = prune_chains(offsets, scores, threshold, most=most)
    return _with_trigrams(offsets, scores, trigram_score, candidates)


def _with_trigrams(
    offsets: np.ndarray, scores: Scores, trigram_score: Callable, candidates: Candidates
) -> tuple[Lattice, LatticeScores]:
    lattice = Lattice(offsets, candidates, 2)
    of_runs = lattice.scores_of(scores)
    of_runs.runs[lattice.start[2, 0] :] = trigram_score(*lattice.labels_of_runs(2))
    return lattice, of_runs


def _prune(
    lattice: Lattice, scores: LatticeScores, threshold: float, gold: np.ndarray | None
) -> tuple[np.ndarray, Candidates]:
    log_z, pullback = lattice.log_partition(scores)
    probability: Any = pullback(np.ones(lattice.n_units))
    return log_z, lattice.candidates.pruned(probability.state, threshold, gold)


def _best_states(
    state: np.ndarray, margin: float, gold: np.ndarray | None, most: int
) -> np.ndarray:
    """Which labels have one of the best state scores of their token, bool (n_tokens, n_labels)."""
    if len(state) == 0:
        return np.zeros(state.shape, dtype=bool)
    best = state >= (state.max(axis=1) - state.dtype.type(margin))[:, None]
    many = np.flatnonzero(best.sum(axis=1) > most)
    if len(many):
        least = -np.partition(-state[many], most - 1, axis=1)[:, most - 1]
        best[many] &= state[many] >= least[:, None]
    if gold is not None:
        known = np.flatnonzero(gold >= 0)
        best[known, gold[known]] = True
    return best
