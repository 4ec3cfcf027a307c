"""Features of spans, as the spans of a SegmentedArray, and the base of what makes them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from ...data.ragged import SequenceArray
from ...structures import Spans
from ...utils.soundness import Sound
from .segmented import SegmentedArray


class Entries(NamedTuple):
    """Features of spans, one for each entry.

    Parameters
    ----------
    start : ndarray of shape (n_entries,)
        The first token of the span.
    length : ndarray of shape (n_entries,)
        Its number of tokens.
    column : ndarray of shape (n_entries,)
        The number of the feature.
    value : ndarray of shape (n_entries,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.semi_markov.span_table import Entries
    >>> Entries.of(np.array([3]), 2, np.array([0])).value
    array([1.])
    """

    start: np.ndarray
    length: np.ndarray
    column: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, start: np.ndarray, length: Any, column: Any) -> "Entries":
        """Return entries of value 1; length and column may be common to all."""
        start, length, column = (
            part.astype(np.int64) for part in np.broadcast_arrays(start, length, column)
        )
        return cls(start, length, column, np.ones(len(start)))


def segmented(
    X: SequenceArray, entries: Sequence[Entries], names: Sequence[str] | np.ndarray
) -> SegmentedArray:
    """Sequences with the features of their spans.

    Parameters
    ----------
    X : SequenceArray
    entries : sequence of Entries
        Of an equal span and column, the values are added.
    names : sequence of str
        The name of each column.

    Returns
    -------
    SegmentedArray
    """
    nothing = np.empty(0, dtype=np.int64)
    empty = Entries.of(nothing, 0, nothing)
    start, length, column, value = map(np.concatenate, zip(empty, *entries, strict=True))
    longest = 1 + length.max(initial=0)
    keys, row = np.unique((start + length - 1) * longest + length, return_inverse=True)
    last, length = np.divmod(keys, longest)
    # Features of the same span and name are added.
    features = sp.csr_array((value, (row, column)), shape=(len(keys), len(names)))
    counts = np.bincount(last, minlength=int(X.offsets[-1]))
    spans = Spans(np.append(0, np.cumsum(counts)), length, features)
    return SegmentedArray(X.data, X.offsets, spans, names)


class SpanTransformer(Sound, TransformerMixin, BaseEstimator):
    """A transformer of sequences of strings or feature dicts."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.dict = True
        return tags
