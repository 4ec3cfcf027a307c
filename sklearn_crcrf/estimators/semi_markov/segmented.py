"""SegmentedArray: sequences, with features of runs of their tokens."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data.ragged import SequenceArray
from ...structures import Spans


class SegmentedArray(SequenceArray):
    """Sequences that also hold features of spans: runs of tokens that may be segments.

    What selects sequences, such as the splits of a cross-validation, selects their spans too.

    Parameters
    ----------
    data, offsets
        As in :class:`SequenceArray`.
    spans : Spans
        Runs of tokens of one sequence each, with ``features``, a CSR matrix that has a row for each
        span.
    names : ndarray of shape (n_segment_features,), dtype object
        Names of the columns of the features.

    Raises
    ------
    ValueError
        If a span reaches beyond its sequence, spans are not in order, or arrays contradict each
        other.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.estimators.semi_markov import SegmentedArray
    >>> from sklearn_crcrf.structures import Spans
    >>> spans = Spans(np.array([0, 0, 1, 1]), np.array([2]), sp.csr_array([[1.0]]))
    >>> words = np.array(["New", "York", "is"], dtype=object)
    >>> X = SegmentedArray(words, [0, 3], spans, ["city"])
    >>> X[:1].spans.length
    array([2], dtype=int32)
    """

    __slots__ = ("names", "spans")

    def __init__(self, data: Any, offsets: Any, spans: Spans, names: Any):
        super().__init__(data, offsets)
        self.spans, self.names = _checked(spans, self.offsets, names)

    def __getitem__(self, key: Any) -> Any:
        chosen = super().__getitem__(key)
        if not isinstance(chosen, SequenceArray):
            return chosen
        if isinstance(key, tuple):
            key = key[0]
        start = self.offsets[:-1][key]
        spans = self.spans.take(start, chosen.lengths)
        return SegmentedArray(chosen.data, chosen.offsets, spans, self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SegmentedArray):
            return NotImplemented
        return (
            bool(super().__eq__(other))
            and np.array_equal(self.names, other.names)
            and np.array_equal(self.spans.indptr, other.spans.indptr)
            and np.array_equal(self.spans.length, other.spans.length)
            and (self.spans.features != other.spans.features).nnz == 0
        )

    __hash__ = None  # mutable objects have no hash

    def __repr__(self) -> str:
        return (
            f"<SegmentedArray of {len(self)} sequences, {self.data.shape[0]} tokens, "
            f"{len(self.spans.length)} spans>"
        )

    def __reduce__(self):
        return SegmentedArray, (self.data, self.offsets, self.spans, self.names)

    def copy(self) -> "SegmentedArray":
        """Return a copy that shares no memory with the original."""
        spans = Spans(*(part.copy() for part in self.spans))
        return SegmentedArray(self.data.copy(), self.offsets.copy(), spans, self.names.copy())

    def with_data(self, data: Any) -> "SegmentedArray":
        """Return the same sequences and spans with other data."""
        return SegmentedArray(data, self.offsets, self.spans, self.names)

    def checked(self, name: str) -> "SegmentedArray":
        """Return the array, checked again with its spans; see :meth:`SequenceArray.checked`."""
        tokens = SequenceArray(self.data, self.offsets).checked(name)
        return SegmentedArray(tokens.data, tokens.offsets, self.spans, self.names)

    @staticmethod
    def _concatenated(parts: list, axis: int) -> SequenceArray:
        joined = SequenceArray._concatenated(parts, axis)
        first = parts[0]
        if axis == 1:
            return SegmentedArray(joined.data, joined.offsets, first.spans, first.names)
        if not all(
            isinstance(part, SegmentedArray) and np.array_equal(part.names, first.names)
            for part in parts
        ):
            raise ValueError("segmented sequences can be joined only if their features are equal")
        n_spans = np.concatenate([np.diff(part.spans.indptr) for part in parts])
        spans = Spans(
            np.append(0, np.cumsum(n_spans)),
            np.concatenate([part.spans.length for part in parts]),
            sp.csr_array(sp.vstack([part.spans.features for part in parts], format="csr")),
        )
        return SegmentedArray(joined.data, joined.offsets, spans, first.names)


def _checked(spans: Spans, offsets: np.ndarray, names: Any) -> tuple[Spans, np.ndarray]:
    """Return spans of the right types, and the names, after checks that they fit."""
    if not isinstance(spans, Spans):
        raise ValueError(f"spans must be Spans, got a {type(spans).__name__}")
    named = np.empty(len(names), dtype=object)
    named[:] = list(names)
    indptr, length = (np.ascontiguousarray(part) for part in spans[:2])
    for name, part in (("indptr", indptr), ("length", length)):
        if part.ndim != 1 or part.dtype.kind not in "iu":
            raise ValueError(f"spans.{name} must be a 1-D array of integers")
    n_tokens, n_spans = int(offsets[-1]), len(length)
    if len(indptr) != n_tokens + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError(f"spans.indptr must increase from 0 and have {n_tokens + 1} numbers")
    if indptr[-1] != n_spans:
        raise ValueError(f"spans.indptr ends at {indptr[-1]}, but there are {n_spans} spans")
    features = spans.features if sp.issparse(spans.features) else np.asarray(spans.features)
    if features.ndim != 2 or features.dtype.kind not in "biuf":
        raise ValueError("spans.features must be a matrix of numbers, with a row for each span")
    spans = Spans(indptr.astype(np.int64), length.astype(np.int32), sp.csr_array(features))
    last = spans.last_tokens()
    sequence = np.searchsorted(offsets, last, side="right") - 1
    wrong = (spans.length < 1) | (last - spans.length + 1 < offsets[sequence])
    wrong[1:] |= (last[1:] == last[:-1]) & (spans.length[1:] <= spans.length[:-1])
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"spans: the span of {spans.length[i]} tokens that ends at position "
            f"{last[i] - offsets[sequence[i]]} of sequence {sequence[i]} leaves the sequence or "
            "is not longer than the span before it that ends there"
        )
    if spans.features.shape != (n_spans, len(named)):
        raise ValueError(
            f"spans.features has the shape {spans.features.shape}, but there are {n_spans} spans "
            f"and {len(named)} names"
        )
    if not np.isfinite(spans.features.data).all():
        raise ValueError("spans.features must be finite")
    return spans, named
