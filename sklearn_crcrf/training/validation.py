"""Sequences held out of training for validation."""

from typing import Any

import numpy as np

__all__ = ["hold_out", "hold_out_of"]


def hold_out(
    sequences: np.ndarray, fraction: float | None, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray | None]:
    """Split sequences at random into training and held-out sequences.

    Parameters
    ----------
    sequences : ndarray of int
    fraction : float in (0, 1), or None
        Fraction to hold out, at least one sequence; None holds out nothing.
    rng : RandomState

    Returns
    -------
    trained : ndarray of int
        In the order of ``sequences``, which is increasing.
    held_out : ndarray of int, or None

    Raises
    ------
    ValueError
        If there is nothing to train on.
    """
    if len(sequences) == 0:
        raise ValueError("sample_weight and class_weight leave no sequence with any weight")
    if fraction is None:
        return sequences, None
    n_held_out = max(1, round(fraction * len(sequences)))
    if n_held_out >= len(sequences):
        raise ValueError(
            f"validation_fraction leaves nothing of {len(sequences)} sequences to train on: it is "
            f"{fraction}, and n_samples={len(sequences)}"
        )
    order = rng.permutation(sequences)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def hold_out_of(corpus: Any, fraction: float | None, rng: np.random.RandomState) -> tuple[Any, Any]:
    """What is trained on, and what is held out, of sequences that all have a weight.

    Parameters
    ----------
    corpus : object with ``weight`` and ``take``, such as :class:`~sklearn_crcrf.linear.Corpus`
    fraction, rng : as in :func:`hold_out`

    Returns
    -------
    trained : as corpus
    held_out : as corpus, or None

    Raises
    ------
    ValueError
        If there is nothing to train on.
    """
    trained, held_out = hold_out(np.arange(len(corpus.weight)), fraction, rng)
    return (corpus, None) if held_out is None else (corpus.take(trained), corpus.take(held_out))
