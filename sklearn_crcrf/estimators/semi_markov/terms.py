"""Terms of the scores of segments: the weights of their lengths, and of features of their spans."""

from abc import abstractmethod
from typing import Any

import numpy as np

from ...linear import Term, Weights
from ...structures import ScoreGradient, Scores, SegmentLayout

__all__ = ["Length", "SpanFeature", "segment_scores"]


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
        """The scores of segments, with the scores of this term."""

    def weights(self, array: np.ndarray) -> np.ndarray:
        """The weights of an array."""
        return self._scale * array

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        return scores._replace(own=self._moved(array, chunk, scores.own))

    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        return direction._replace(own=self._moved(array, chunk, direction.own))

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


def segment_scores(structure: Any, length: np.ndarray, features: np.ndarray) -> np.ndarray:
    """The scores of segments, as ``Scores.own``.

    Parameters
    ----------
    structure : SemiMarkovChain
    length : ndarray of shape (n_types, max_length + 1)
    features : ndarray of shape (n_segment_features, n_types)

    Returns
    -------
    ndarray of shape (n_own,)
    """
    spans = structure.spans
    by_span = np.zeros((len(spans.length), len(length)))
    if spans.features is not None:
        by_span += spans.features @ features
    return SegmentLayout.join(length, by_span)
