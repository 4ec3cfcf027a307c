"""Sequences whose labellings spell segmentations."""

from typing import Self

import numpy as np

from ...labels.segments.roles import Roles
from ..base import Structure
from ..chain.chain import Chain
from .spans import SegmentLayout, Spans

__all__ = ["SegmentStructure"]


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
        """The same sequences, with scores of other spans."""
        return type(self)(self.offsets, self.roles, self.max_length, spans)

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self.chain.links()

    def cuts(self, y: np.ndarray) -> np.ndarray:
        """Whether a segment, or a token between segments, ends before each token.

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
        """Whether the label of each token fits its place in the labelling of a sequence."""
        cuts = self.cuts(y)
        begins, ends = self.roles.begins()[y], self.roles.ends()[y]
        return (begins | ~cuts[:-1]) & (ends | ~cuts[1:])

    def segments(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The segments of labellings.

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
