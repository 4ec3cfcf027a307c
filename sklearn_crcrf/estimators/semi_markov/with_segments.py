"""WithSegments: features of tokens and of whole segments side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Fact, Requirement
from .segmented import SegmentedArray
from .span_table import Entries, SpanTransformer, segmented


@dataclass(eq=False, repr=False)
class WithSegments(SpanTransformer):
    """Make features of tokens and features of whole segments from the same sequences.

    Parameters
    ----------
    tokens : transformer, optional
        Makes the features of tokens, such as :class:`Window` or a pipeline. By default tokens stay
        as they are.
    segments : transformer or list of transformers, default=()
        Each returns a :class:`SegmentedArray`, such as :class:`SegmentFeatures` and
        :class:`SegmentGazetteer`.

    Attributes
    ----------
    tokens_ : transformer or None
    segments_ : list of transformers
        The fitted transformers.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_crcrf import SemiMarkovCRF
    >>> from sklearn_crcrf.feature_extraction import TokenFeatures
    >>> from sklearn_crcrf.estimators.semi_markov import SegmentGazetteer, WithSegments
    >>> X = [["in", "New", "York"], ["to", "Los", "Angeles"], ["to", "Rome"]]
    >>> y = [["O", "B-LOC", "I-LOC"], ["O", "B-LOC", "I-LOC"], ["O", "B-LOC"]]
    >>> cities = SegmentGazetteer({"city": ["New York", "Los Angeles", "Rome", "San Jose"]})
    >>> features = WithSegments(TokenFeatures(["shape"]), cities)
    >>> names = make_pipeline(features, SemiMarkovCRF(max_length=3)).fit(X, y)
    >>> names.predict([["near", "San", "Jose"]]).tolist()
    [['O', 'B-LOC', 'I-LOC']]
    """

    tokens: Any = None
    segments: Any = ()

    def fit(self, X: Any, y: Any = None) -> "WithSegments":
        """Fit all transformers.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : list of label lists, SequenceArray or 1-D array

        Returns
        -------
        WithSegments
            Itself.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> SegmentedArray:
        """Fit all transformers, and transform X.

        Parameters
        ----------
        X, y : as in :meth:`fit`

        Returns
        -------
        SegmentedArray
        """
        transformers = self._transformers()
        tokens = None if self.tokens is None else clone(self.tokens)
        segments = [clone(transformer) for transformer in transformers]
        made = X if tokens is None else tokens.fit_transform(X, y)
        parts = [transformer.fit_transform(X, y) for transformer in segments]
        self.tokens_, self.segments_ = tokens, segments
        return _joined(made, parts)

    def transform(self, X: Any) -> SegmentedArray:
        """Make the features of tokens and of segments.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        SegmentedArray

        Raises
        ------
        ValueError
            If a transformer changed the number of tokens of a sequence, or one of ``segments``
            returned no SegmentedArray.
        """
        check_fitted(self)
        made = X if self.tokens_ is None else self.tokens_.transform(X)
        return _joined(made, [transformer.transform(X) for transformer in self.segments_])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names of the features of segments.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
        """
        check_fitted(self)
        names = [transformer.get_feature_names_out() for transformer in self.segments_]
        return np.concatenate([np.empty(0, dtype=object), *names])

    def _transformers(self) -> Sequence[Any]:
        several = isinstance(self.segments, (list, tuple))
        return self.segments if several else [self.segments]

    def _requirements(self) -> Iterator[Requirement]:
        yield Fact("segments_", isinstance(self.segments_, list), "must be a list")


def _joined(tokens: Any, parts: Sequence[Any]) -> SegmentedArray:
    """Return sequences with the features of the spans of several arrays of the same sequences."""
    X: SequenceArray = as_sequences(tokens).X
    entries: list[Entries] = []
    names: list[str] = []
    for i, part in enumerate(parts):
        if not isinstance(part, SegmentedArray):
            raise ValueError(f"segments[{i}] must return a SegmentedArray, got {type(part)}")
        if not np.array_equal(part.offsets, X.offsets):
            raise ValueError("tokens and segments must keep the number of tokens of each sequence")
        spans = part.spans
        span = np.repeat(np.arange(len(spans.length)), np.diff(spans.features.indptr))
        length = spans.length[span].astype(np.int64)
        start = spans.last_tokens()[span] - length + 1
        column = spans.features.indices + len(names)
        entries.append(Entries(start, length, column, spans.features.data))
        names += part.names.tolist()
    return segmented(X, entries, names)
