"""Scores of whole segments: of their lengths, and of the spans that have some."""

from typing import Any, NamedTuple

import numpy as np

from ...data.ragged import joined_ranges

__all__ = ["SegmentLayout", "Spans"]


class Spans(NamedTuple):
    """Runs of tokens that have scores of their own, in the order of their last token.

    Parameters
    ----------
    indptr : ndarray of shape (n_tokens + 1,), int64
        Spans ``indptr[t]`` to ``indptr[t + 1] - 1`` end with token t.
    length : ndarray of shape (n_spans,), int32
        Numbers of tokens; the lengths of spans that end at the same token increase.
    features : CSR of shape (n_spans, n_features), optional
        What scores are computed from.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Spans
    >>> spans = Spans(np.array([0, 1, 1, 3]), np.array([1, 1, 2], dtype=np.int32))
    >>> spans.last_tokens()
    array([0, 2, 2])
    >>> spans.take(np.array([2]), np.array([1])).length
    array([1, 2], dtype=int32)
    """

    indptr: np.ndarray
    length: np.ndarray
    features: Any = None

    @classmethod
    def none(cls, n_tokens: int) -> "Spans":
        """No span has scores."""
        return cls(np.zeros(n_tokens + 1, dtype=np.int64), np.empty(0, dtype=np.int32))

    @classmethod
    def all(cls, offsets: np.ndarray, max_length: int) -> "Spans":
        """All runs of at most ``max_length`` tokens of each sequence.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_crcrf.structures import Spans
        >>> Spans.all(np.array([0, 1, 4]), 2)
        Spans(indptr=array([0, 1, 2, 4, 6]), length=array([1, 1, 1, 2, 1, 2], dtype=int32), \
features=None)
        """
        starts = np.repeat(offsets[:-1], np.diff(offsets))
        counts = np.minimum(np.arange(offsets[-1]) - starts + 1, max_length)
        indptr = np.append(0, np.cumsum(counts))
        length = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts) + 1
        return cls(indptr, length.astype(np.int32))

    def last_tokens(self) -> np.ndarray:
        """The last token of each span."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def take(self, start: np.ndarray, n_tokens: np.ndarray) -> "Spans":
        """The spans of runs of tokens, which begin at ``start``; all of a span is in one run."""
        tokens = joined_ranges(start, n_tokens)
        counts = np.diff(self.indptr)[tokens]
        spans = joined_ranges(self.indptr[tokens], counts)
        features = None if self.features is None else self.features[spans]
        return Spans(np.append(0, np.cumsum(counts)), self.length[spans], features)

    def between(self, start: int, stop: int) -> "Spans":
        """The spans of the tokens from ``start`` to ``stop - 1``."""
        first, last = self.indptr[start], self.indptr[stop]
        features = None if self.features is None else self.features[first:last]
        return Spans(self.indptr[start : stop + 1] - first, self.length[first:last], features)

    def find(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """The numbers of the spans with these tokens, -1 for runs of tokens that are no spans."""
        if len(self.length) == 0:
            return np.full(len(start), -1)
        longest = int(self.length.max()) + 1
        keys = self.last_tokens() * longest + self.length
        wanted = (stop - 1) * longest + (stop - start)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((keys[at] == wanted) & (stop - start < longest), at, -1)


class SegmentLayout(NamedTuple):
    """Where scores of segments are in ``Scores.own``: first of lengths, then of spans.

    Parameters
    ----------
    n_types, n_lengths, n_spans : int
        ``n_lengths`` is the longest length that has a score of its own, plus one for all longer
        segments.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import SegmentLayout
    >>> by_length, by_span = SegmentLayout(2, 2, 1).split(np.arange(6.0))
    >>> by_length, by_span
    (array([[0., 1.],
           [2., 3.]]), array([[4., 5.]]))
    """

    n_types: int
    n_lengths: int
    n_spans: int

    def split(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The scores by type and length, and by span and type; views of ``own``.

        ``own`` may be empty, which means that all are zero.
        """
        n = self.n_types * self.n_lengths
        if own.size == 0:
            own = np.zeros(n + self.n_spans * self.n_types)
        by_length = own[:n].reshape(self.n_types, self.n_lengths)
        return by_length, own[n:].reshape(self.n_spans, self.n_types)

    @staticmethod
    def join(by_length: np.ndarray, by_span: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`split`."""
        return np.concatenate([by_length.ravel(), by_span.ravel()])
