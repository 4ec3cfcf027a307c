"""Begin and end scores as a part of the state scores."""

import numpy as np

from .scores import ScoreGradient, Scores

__all__ = ["Ends", "add_with_ends", "ends", "with_ends"]

Ends = tuple[np.ndarray, np.ndarray]
"""The tokens that have begin scores, and the tokens that have end scores."""


def ends(offsets: np.ndarray) -> Ends:
    """The first and the last token of each sequence that has any."""
    filled = offsets[1:] > offsets[:-1]
    if filled.all():
        return offsets[:-1], offsets[1:] - 1
    return offsets[:-1][filled], offsets[1:][filled] - 1


def with_ends(scores: Scores | ScoreGradient, ends: Ends) -> np.ndarray:
    """``state`` with ``begin`` and ``end`` added at their tokens; a new array."""
    state = np.array(scores.state, dtype=float)
    for tokens, of_ends in zip(ends, (scores.begin, scores.end), strict=True):
        if of_ends.any():
            state[tokens] += of_ends
    return state


def add_with_ends(gradient: ScoreGradient, state: np.ndarray, ends: Ends) -> None:
    """Add the derivatives by what :func:`with_ends` returns to a score gradient."""
    first, last = ends
    gradient.state[:] += state
    gradient.begin[:] += state[first].sum(axis=0, dtype=float)
    gradient.end[:] += state[last].sum(axis=0, dtype=float)
