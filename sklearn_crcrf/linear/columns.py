"""Where the weights of a part of the training data stand in the vector of all weights."""

from typing import NamedTuple

import numpy as np

__all__ = ["OwnColumns"]


class OwnColumns(NamedTuple):
    """Where the weights of one shard stand in the vector of all weights.

    Parameters
    ----------
    node : ndarray of int
        The rows of its attributes, if each attribute has a weight for each label; else the single
        weights.
    width : int
        The number of weights in a row.
    n_node_weights : int
        The number of weights of attributes and labels in the vector of all weights.
    shared : ndarray of int
        The other weights.
    """

    node: np.ndarray
    width: int
    n_node_weights: int
    shared: np.ndarray

    @property
    def n_own_node(self) -> int:
        """How many of the weights of the shard are weights of attributes and labels."""
        return len(self.node) * self.width

    @property
    def numbers(self) -> np.ndarray:
        """The place of each weight of the shard in the vector of all weights."""
        rows = np.add.outer(self.node * self.width, np.arange(self.width))
        return np.concatenate([rows.reshape(-1), self.shared])

    def take(self, vector: np.ndarray) -> np.ndarray:
        """The weights of the shard."""
        rows = vector[: self.n_node_weights].reshape(-1, self.width)
        return np.concatenate([rows[self.node].reshape(-1), vector[self.shared]])

    def put(self, own: np.ndarray, vector: np.ndarray) -> None:
        """Write the weights of the shard to their places."""
        for places, values, of_own in self._parts(own, vector):
            values[places] = of_own

    def add(self, own: np.ndarray, vector: np.ndarray) -> None:
        """Add to the vector of all weights what belongs to the weights of the shard."""
        for places, values, of_own in self._parts(own, vector):
            values[places] += of_own

    def _parts(self, own: np.ndarray, vector: np.ndarray) -> list[tuple]:
        """Places, where they are, and the weights of the shard that belong there."""
        n_node = self.n_own_node
        rows = vector[: self.n_node_weights].reshape(-1, self.width)
        of_rows = own[:n_node].reshape(-1, self.width)
        return [(self.node, rows, of_rows), (self.shared, vector, own[n_node:])]
