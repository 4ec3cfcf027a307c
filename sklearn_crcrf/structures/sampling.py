"""Labellings drawn at random."""

from typing import TYPE_CHECKING

import numpy as np

from .._kernels.tree.messages import draw_labellings, draw_paths
from .messages import Messages

if TYPE_CHECKING:
    from .tree.messages import TreeMessages

__all__ = ["sample_paths", "sample_trees"]


def sample_paths(
    messages: Messages, n_samples: int, rng: np.random.Generator | np.random.RandomState
) -> np.ndarray:
    """Draw paths of all sequences; see :meth:`Capabilities.sample`."""
    uniform, y = _prepared(messages.log_z, "path of sequence", len(messages.state), n_samples, rng)
    transposed = np.ascontiguousarray(messages.transition.T)
    draw_paths(messages.arrays, transposed, uniform, y)
    return y


def sample_trees(
    messages: "TreeMessages", n_samples: int, rng: np.random.Generator | np.random.RandomState
) -> np.ndarray:
    """Draw labellings of all trees; see :meth:`Capabilities.sample`."""
    uniform, y = _prepared(messages.log_z, "labelling of unit", len(messages.state), n_samples, rng)
    draw_labellings(messages.arrays, uniform, y)
    return y


def _prepared(log_z, noun, n_tokens, n_samples, rng) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in [0, 1), and the array to fill."""
    impossible = np.flatnonzero(np.isneginf(log_z))
    if len(impossible):
        raise ValueError(f"no {noun} {impossible[0]} is possible")
    shape = n_samples, n_tokens
    return rng.random(shape), np.empty(shape, dtype=np.int32)
