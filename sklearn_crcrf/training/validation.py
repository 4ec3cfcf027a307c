"""Sequences held out of training for validation."""

import numpy as np

__all__ = ["hold_out"]


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
            f"validation_fraction={fraction} leaves nothing of {len(sequences)} sequences to train "
            f"on (n_samples={len(sequences)})"
        )
    order = rng.permutation(sequences)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
