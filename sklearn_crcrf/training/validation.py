"""Sequences that are held out of training, to validate on."""

import numpy as np

__all__ = ["hold_out"]


def hold_out(
    sequences: np.ndarray, fraction: float | None, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray | None]:
    """Divide sequences at random into those that are trained on and those that are held out.

    Parameters
    ----------
    sequences : ndarray of int
    fraction : float in (0, 1), or None
        How many are held out, at least one; None holds out nothing.
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
        raise ValueError(f"validation_fraction leaves nothing of {len(sequences)} sequences")
    order = rng.permutation(sequences)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
