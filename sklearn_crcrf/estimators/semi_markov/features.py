"""SegmentFeatures: symbols of whole segments."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...data.symbols import symbolize
from ...feature_extraction.word_column import HasWordColumn
from ...labels.segments.roles import roles_of
from ...labels.segments.schemes import ONE_TO_ONE, check_option
from ...structures import SemiMarkovChain
from ...utils.names import check_several
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Fact, Requirement, below
from ._base import SpanTransformer
from .segmented import SegmentedArray
from .span_source import OF_WORDS, SegmentFunction, SpanSource
from .span_symbols import SpanSymbols
from .span_table import Entries, segmented

__all__ = ["SegmentFeatures"]


class SegmentFeatures(HasWordColumn, SpanTransformer):
    """Symbols of whole spans, such as the string of all their tokens.

    Only symbols of segments of the training labels become features, and a symbol should occur in
    at least two segments: a symbol that occurs once tells everything about the segment it was
    seen in, and nothing about other segments.

    Parameters
    ----------
    features : sequence of str and callables, default=("string", "shape", "around")
        "string" is the lower-case tokens of a span of two tokens or more, "shape" their shapes,
        and "around" the lower-case tokens before and after the span. The name of a column of X,
        such as "pos", stands for the symbols of the tokens in this column. A callable takes a
        sequence, and returns a function of ``start`` and ``end`` that returns the symbol of the
        tokens from ``start`` to ``end - 1``, a list of symbols, or None.
    max_length : int, default=8
        The longest span that has features.
    min_freq : int, default=2
        The least number of segments that have a symbol.
    scheme : {"IOB2", "IOBES", "BIOES", "BILOU", "BMES"}, default="IOB2"
        How labels spell segments.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words, whatever the order; if the choice is close, there is a warning.

    Attributes
    ----------
    column_ : str or None
        The column that holds the token; None if no feature needs it.
    symbols_ : list of SpanSymbols
        The symbols of each of the features.

    See Also
    --------
    SegmentGazetteer : Features of spans that occur in lists.
    WithSegments : Features of tokens and of spans side by side.

    Examples
    --------
    >>> from sklearn_crcrf.estimators.semi_markov import SegmentFeatures
    >>> X = [["in", "New", "York"], ["to", "New", "York"]]
    >>> y = [["O", "B-LOC", "I-LOC"], ["O", "B-LOC", "I-LOC"]]
    >>> features = SegmentFeatures(["string", lambda s: lambda start, end: str(end - start)])
    >>> segmented = features.fit_transform(X, y)
    >>> segmented
    <SegmentedArray of 2 sequences, 6 tokens, 4 spans>
    >>> segmented.names.tolist()
    ['string=new york', 'feature1=2']
    """

    def __init__(
        self,
        features: Sequence[str | SegmentFunction] = ("string", "shape", "around"),
        max_length: int = 8,
        min_freq: int = 2,
        scheme: str = "IOB2",
        column: str | None = None,
    ):
        self.features = features
        self.max_length = max_length
        self.min_freq = min_freq
        self.scheme = scheme
        self.column = column

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> "SegmentFeatures":
        """Collect the symbols of the segments of the labels.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : list of label lists, SequenceArray or 1-D array

        Returns
        -------
        SegmentFeatures
            Itself.

        Raises
        ------
        ValueError
            If a parameter or a label is not valid, or a column is missing.
        """
        self._check_parameters()
        if y is None:
            raise ValueError("y is None, but the symbols are taken from labelled segments")
        sequences = as_sequences(X, y)
        start, length = _segments(sequences.y, self.scheme)
        short = length <= self.max_length
        start, length = start[short], length[short]
        table, self.column_ = symbolize(sequences.X), self.column
        if self._has_words():
            self.column_ = self._choose_column(sequences.X.with_data(table))
        source = SpanSource(sequences.X, table, self.column_)
        self.symbols_ = [
            SpanSymbols.frequent(source.runs(feature, start, length), self.min_freq)
            for feature in self.features
        ]
        return self

    def transform(self, X: Any) -> SegmentedArray:
        """Find the symbols at all spans.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        SegmentedArray
            The sequences of X, with the features of their spans.

        Raises
        ------
        ValueError
            If a column is missing, or a callable does not return symbols.
        """
        check_fitted(self)
        sequences = as_sequences(X).X
        table, token = symbolize(sequences), None
        if self._has_words():
            token = table.names[self._place_of_column(table, sequences.lengths)]
        source = SpanSource(sequences, table, token)
        entries, n_before = [], 0
        for feature, symbols in zip(self.features, self.symbols_, strict=True):
            start, length, column = source.find(feature, symbols, self.max_length)
            entries.append(Entries.of(start, length, n_before + column))
            n_before += symbols.n_runs
        return segmented(sequences, entries, self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features of spans.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
            Such as ``"string=new york"``; callables are ``"feature0"``, ``"feature1"``, ... by
            their place.
        """
        check_fitted(self)
        names = [
            f"{feature if isinstance(feature, str) else f'feature{i}'}={' '.join(run)}"
            for i, (feature, symbols) in enumerate(zip(self.features, self.symbols_, strict=True))
            for run in symbols.names()
        ]
        return np.array(names, dtype=object)

    def _has_words(self) -> bool:
        return any(f in OF_WORDS for f in self.features if isinstance(f, str))

    def _check_parameters(self) -> None:
        check_several(self.features, "features")
        for feature in self.features:
            if not (isinstance(feature, str) or callable(feature)):
                raise ValueError(f"features must be names or callables, got {feature!r}")
        check_scalar(self.max_length, "max_length", Integral, min_val=1)
        check_scalar(self.min_freq, "min_freq", Integral, min_val=1)
        check_option("scheme", self.scheme, ONE_TO_ONE)

    def _requirements(self) -> Iterator[Requirement]:
        self._check_parameters()
        n_features, n_symbols = len(self.features), len(self.symbols_)
        yield Fact("symbols_", n_features == n_symbols, "must be as many as the features")
        for i, symbols in enumerate(self.symbols_):
            yield Fact(f"symbols_[{i}]", isinstance(symbols, SpanSymbols), "must be SpanSymbols")
            yield from below(f"symbols_[{i}]", symbols.requirements())


def _segments(y: SequenceArray, scheme: str) -> tuple[np.ndarray, np.ndarray]:
    """First tokens and lengths of the segments of labels; other labels are of no segment."""
    labels = [label if isinstance(label, str) else None for label in y.data.tolist()]
    classes = list(dict.fromkeys(labels))
    number = {label: i for i, label in enumerate(classes)}
    ids = np.array([number[label] for label in labels], dtype=np.int64)
    start, stop, *_ = SemiMarkovChain(y.offsets, roles_of(classes, scheme), 1).segments(ids)
    return start, stop - start
