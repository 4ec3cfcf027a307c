"""Sequences whose labellings spell segmentations, and the scores of their segments."""

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from ...data.ragged import joined_ranges
from ...labels.segments.roles import Roles
from ...utils.searching import places_in
from ..base import Structure
from ..chain.chain import Chain


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
        """Return no spans."""
        nothing = np.zeros(n_tokens + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
        return cls(*nothing, sp.csr_array((0, 0)))

    @classmethod
    def all(cls, offsets: np.ndarray, max_length: int) -> "Spans":
        """Return all runs of at most ``max_length`` tokens of each sequence.

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
        """Return the last token of each span."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def take(self, start: np.ndarray, n_tokens: np.ndarray) -> "Spans":
        """Return the spans of runs of tokens from ``start`` on; each lies within one run."""
        tokens = joined_ranges(start, n_tokens)
        counts = np.diff(self.indptr)[tokens]
        spans = joined_ranges(self.indptr[tokens], counts)
        features = None if self.features is None else self.features[spans]
        return Spans(np.append(0, np.cumsum(counts)), self.length[spans], features)

    def between(self, start: int, stop: int) -> "Spans":
        """Return the spans of the tokens from ``start`` to ``stop - 1``."""
        first, last = self.indptr[start], self.indptr[stop]
        features = None if self.features is None else self.features[first:last]
        return Spans(self.indptr[start : stop + 1] - first, self.length[first:last], features)

    def with_spans(self, start: np.ndarray, stop: np.ndarray) -> "Spans":
        """Return these spans and those of the given tokens, without features."""
        n_tokens, last = len(self.indptr) - 1, np.append(self.last_tokens(), stop - 1)
        length = np.append(self.length, stop - start)
        last, length = np.unique(np.stack([last, length]), axis=1)
        indptr = np.append(0, np.cumsum(np.bincount(last, minlength=n_tokens)))
        return Spans(indptr, length.astype(np.int32))

    def find(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Return the numbers of the spans with these tokens, -1 where there is no span."""
        longest = int(self.length.max(initial=0)) + 1
        keys = self.last_tokens() * longest + self.length
        wanted = (stop - 1) * longest + (stop - start)
        return np.where(stop - start < longest, places_in(keys, wanted), -1)


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
        """Return the scores by type and length, and by span and type; views of ``own``.

        ``own`` may be empty, which means that all are zero.
        """
        n = self.n_types * self.n_lengths
        if own.size == 0:
            own = np.zeros(n + self.n_spans * self.n_types)
        by_length = own[:n].reshape(self.n_types, self.n_lengths)
        return by_length, own[n:].reshape(self.n_spans, self.n_types)

    @staticmethod
    def join(by_length: np.ndarray, by_span: np.ndarray) -> np.ndarray:
        """Return the inverse of :meth:`split`."""
        return np.concatenate([by_length.ravel(), by_span.ravel()])


class SegmentStructure(Structure):
    """Which labels spell which segments, and where their scores are; see :class:`SemiMarkovChain`.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    roles : Roles
    max_length : int
    spans : Spans, optional

    Attributes
    ----------
    chain : Chain
        The same sequences.
    """

    own_scores = True

    def __init__(
        self, offsets: np.ndarray, roles: Roles, max_length: int, spans: Spans | None = None
    ):
        super().__init__(offsets)
        self.roles, self.max_length = roles, max_length
        self.spans = Spans.none(self.n_tokens) if spans is None else spans
        self.chain = Chain(self.offsets)

    @property
    def layout(self) -> SegmentLayout:
        """Where the scores of segments are in ``Scores.own``."""
        return SegmentLayout(len(self.roles.types), self.max_length + 1, len(self.spans.length))

    def take(self, units: slice | np.ndarray) -> Self:
        offsets = self.chain.take(units).offsets
        if isinstance(units, slice):
            start, stop, _ = units.indices(self.n_units)
            spans = self.spans.between(self.offsets[start], self.offsets[stop])
        else:
            starts = self.offsets[units]
            spans = self.spans.take(starts, self.offsets[units + 1] - starts)
        return type(self)(offsets, self.roles, self.max_length, spans)

    def with_spans(self, spans: Spans) -> Self:
        """Return the same sequences, with scores of other spans."""
        return type(self)(self.offsets, self.roles, self.max_length, spans)

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self.chain.links()

    def cuts(self, y: np.ndarray) -> np.ndarray:
        """Return whether a segment, or a token between segments, ends before each token.

        Parameters
        ----------
        y : ndarray of shape (n_tokens,)
            Label ids.

        Returns
        -------
        bool ndarray of shape (n_tokens + 1,)
        """
        cuts = np.ones(len(y) + 1, dtype=bool)
        cuts[1:-1] = ~self.roles.continues()[y[:-1], y[1:]]
        cuts[self.offsets] = True
        return cuts

    def is_segmentation(self, y: np.ndarray) -> np.ndarray:
        """Return whether the label of each token fits its place in the labelling of a sequence."""
        cuts = self.cuts(y)
        begins, ends = self.roles.begins()[y], self.roles.ends()[y]
        return (begins | ~cuts[:-1]) & (ends | ~cuts[1:])

    def segments(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the segments of labellings.

        Parameters
        ----------
        y : ndarray of shape (n_tokens,)
            Label ids.

        Returns
        -------
        start, stop, kind, span : ndarray of shape (n_segments,)
            Each segment has the tokens from ``start`` to ``stop - 1`` and the type number
            ``kind``; ``span`` is its number among the spans, -1 for none.
        """
        cuts = np.flatnonzero(self.cuts(y))
        start, stop = cuts[:-1], cuts[1:]
        kind = self.roles.kind[y[start]]
        start, stop, kind = start[kind >= 0], stop[kind >= 0], kind[kind >= 0]
        return start, stop, kind, self.spans.find(start, stop)
