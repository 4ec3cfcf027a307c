"""Fitted weights of segments, with the names that they have in another model."""

from typing import NamedTuple

import numpy as np

from ...linear import NamedWeights

__all__ = ["KnownWeights", "SegmentWeights"]


class SegmentWeights(NamedTuple):
    """Weights of segments.

    Parameters
    ----------
    types : ndarray of shape (n_types,)
    names : ndarray of shape (n_segment_features,)
    length : ndarray of shape (n_types, n_lengths)
        The last is of all longer lengths.
    features : ndarray of shape (n_segment_features, n_types)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.semi_markov.known_weights import SegmentWeights
    >>> weights = SegmentWeights(["X"], ["a"], np.array([[1.0, 2.0]]), np.array([[3.0]]))
    >>> length, features = weights.matching(["X", "Y"], ["b", "a"], 3)
    >>> length.tolist(), features.tolist()
    ([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]])
    """

    types: np.ndarray
    names: np.ndarray
    length: np.ndarray
    features: np.ndarray

    @classmethod
    def none(cls) -> "SegmentWeights":
        """No weights."""
        nothing = np.empty(0, dtype=object)
        return cls(nothing, nothing, np.zeros((0, 1)), np.zeros((0, 0)))

    def matching(
        self, types: np.ndarray, names: np.ndarray, n_lengths: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weights of lengths and of features for other types and features; zero for new ones.

        A length that was among the longer ones has their weight.
        """
        length, features = np.zeros((len(types), n_lengths)), np.zeros((len(names), len(types)))
        _, new, old = np.intersect1d(types, self.types, return_indices=True)
        lengths = np.minimum(np.arange(n_lengths), self.length.shape[1] - 1)
        length[new] = self.length[old][:, lengths]
        _, at, of = np.intersect1d(names, self.names, return_indices=True)
        features[np.ix_(at, new)] = self.features[np.ix_(of, old)]
        return length, features


class KnownWeights(NamedWeights):
    """Named weights of a chain, and the weights of segments."""

    segments: SegmentWeights

    @classmethod
    def of(cls, known: NamedWeights, segments: SegmentWeights) -> "KnownWeights":
        """From both parts."""
        weights = cls(*known)
        weights.segments = segments
        return weights
