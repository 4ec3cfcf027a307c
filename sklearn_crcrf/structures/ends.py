"""Begin and end scores as a part of the state scores."""

import numpy as np

from .scores import ScoreGradient, Scores

__all__ = ["Ends", "add_with_ends", "ends", "with_ends"]

Ends = tuple[np.ndarray, np.ndarray]
"""The tokens that have begin scores, and the tokens that have end scores."""


def ends(offsets: np.ndarray) -> Ends:
    """The first and the last token of each sequence that has any."""
    filled = np.diff(offsets) > 0
    return offsets[:-1][filled], offsets[1:][filled] - 1


def with_ends(scores: Scores | ScoreGradient, ends: Ends) -> np.ndarray:
    """``state`` with ``begin`` and ``end`` added at their tokens; a new array."""
    state = np.array(scores.state, dtype=float)
    first, last = ends
    state[first] += scores.begin
    state[last] += scores.end
    return state


def add_with_ends(gradient: ScoreGradient, state: np.ndarray, ends: Ends) -> None:
    """Add the derivatives by what :func:`with_ends` returns to a score gradient."""
    first, last = ends
    gradient.state[:] += state
    gradient.begin[:] += state[first].sum(axis=0, dtype=float)
    gradient.end[:] += state[last].sum(axis=0, dtype=float)
