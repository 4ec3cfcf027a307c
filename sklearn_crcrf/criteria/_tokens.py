"""Losses of sequences that are sums of losses of their tokens."""

import numpy as np

from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure, single_tokens
from ..utils.real_numbers import real_numbers
from .log_loss import log_loss


def token_log_loss(
    structure: Structure, scores: np.ndarray, pull_scores: Pullback, y: np.ndarray
) -> tuple[np.ndarray, Pullback]:
    """Return sums of the log losses of tokens, as if each token were a sequence of its own.

    Parameters
    ----------
    structure : Structure
    scores : ndarray of shape (n_tokens, n_labels)
    pull_scores : callable
        The pullback of these scores.
    y : ndarray of shape (n_tokens,)

    Returns
    -------
    loss : ndarray of shape (n_sequences,)
    pullback : callable
    """
    n_tokens, n_labels = scores.shape
    unlinked = Scores.of(scores, np.zeros((n_labels, n_labels)))
    losses, pull_losses = log_loss(single_tokens(n_tokens), unlinked, y)

    def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        of_tokens = pull_losses(repeat_by_token(structure, weight))
        return pull_scores(of_tokens.state, out)

    return sum_by_sequence(structure, losses), pullback


def sum_by_sequence(structure: Structure, values: np.ndarray) -> np.ndarray:
    """Return sums over the tokens of each sequence; values of shape (n_tokens,)."""
    sums, filled = np.zeros(len(structure.offsets) - 1), np.diff(structure.offsets) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(values, structure.offsets[:-1][filled])
    return sums


def repeat_by_token(structure: Structure, weight: np.ndarray) -> np.ndarray:
    """Repeat the weight of each sequence for all its tokens: float64, (n_tokens,)."""
    return np.repeat(
        real_numbers(weight, "weight must hold a number for each unit"), np.diff(structure.offsets)
    )


def check_all_known(name: str, y: np.ndarray) -> None:
    """Raise ValueError for partial labels."""
    if y.ndim != 1:
        raise ValueError(f"{name} needs the label of every token, but some are not known")
