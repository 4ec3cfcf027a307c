"""Terms of the scores of segments: the weights of their lengths, and of features of their spans."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from ...base.weights import Weights
from ...linear.terms import Term
from ...structures import ScoreGradient, Scores, SegmentLayout


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
    >>> from sklearn_crcrf.estimators.semi_markov.terms import SegmentWeights
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
        """Return the weights of lengths and features for other types; zero for new ones.

        A length that was among the longer ones has their weight.
        """
        length, features = np.zeros((len(types), n_lengths)), np.zeros((len(names), len(types)))
        _, new, old = np.intersect1d(types, self.types, return_indices=True)
        lengths = np.minimum(np.arange(n_lengths), self.length.shape[1] - 1)
        length[new] = self.length[old][:, lengths]
        _, at, of = np.intersect1d(names, self.names, return_indices=True)
        features[np.ix_(at, new)] = self.features[np.ix_(of, old)]
        return length, features


class _OfSegments(Term):
    """Weights that are not among the named weights of a chain.

    Parameters
    ----------
    start : ndarray
        The weights at which training starts.
    scale : float
        The standard deviation of their prior, divided by the one of all other weights. The arrays
        are weights divided by the scale, so that all have the same prior.
    """

    def __init__(self, start: np.ndarray, scale: float):
        super().__init__(start.shape)
        self._start, self._scale = start, scale

    @abstractmethod
    def _moved(self, array: np.ndarray, chunk: Any, own: np.ndarray) -> np.ndarray:
        """Return the scores of segments, with the scores of this term."""

    def weights(self, array: np.ndarray) -> np.ndarray:
        """Return the weights of an array."""
        return self._scale * array

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        return scores._replace(own=self._moved(array, chunk, scores.own))

    def select(self, weights: Weights) -> np.ndarray:
        return self._start / self._scale

    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        return weights


class Length(_OfSegments):
    """A weight for each type and length of segments, and for each type of longer segments.

    Parameters
    ----------
    start : ndarray of shape (n_types, max_length + 1)
    scale : float
    """

    def _moved(self, array: np.ndarray, chunk: Any, own: np.ndarray) -> np.ndarray:
        by_length, by_span = chunk.structure.layout.split(own)
        return SegmentLayout.join(by_length + self.weights(array), by_span)

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        out += self._scale * chunk.structure.layout.split(gradient.own)[0]
        return gradient


class SpanFeature(_OfSegments):
    """A weight for each feature of a span and type of segment.

    Parameters
    ----------
    start : ndarray of shape (n_segment_features, n_types)
    scale : float
    """

    def _moved(self, array: np.ndarray, chunk: Any, own: np.ndarray) -> np.ndarray:
        by_length, by_span = chunk.structure.layout.split(own)
        more = chunk.structure.spans.features @ self.weights(array)
        return SegmentLayout.join(by_length, by_span + more)

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        of_spans = chunk.structure.layout.split(gradient.own)[1]
        out += self._scale * (chunk.structure.spans.features.T @ of_spans)
        return gradient
