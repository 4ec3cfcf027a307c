"""Paths drawn at random."""

import numpy as np

from .._kernels._sampling import draw_paths
from .messages import Messages
from .scores import Scores

__all__ = ["sample"]


def sample(
    offsets: np.ndarray,
    scores: Scores,
    n_samples: int,
    rng: np.random.Generator | np.random.RandomState,
) -> np.ndarray:
    """Draw paths of all sequences; see :meth:`Capabilities.sample`."""
    messages = Messages(offsets, scores)
    impossible = np.flatnonzero(np.isneginf(messages.log_z))
    if len(impossible):
        raise ValueError(f"no path of sequence {impossible[0]} is possible")
    shape = n_samples, len(messages.state)
    y = np.empty(shape, dtype=np.int32)
    transposed = np.ascontiguousarray(messages.transition.T)
    draw_paths(
        offsets, transposed, *messages.token_transitions, messages.forward, rng.random(shape), y
    )
    return y
