"""SegmentFeatures: symbols of whole segments."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any, cast

import numpy as np
from sklearn.utils import check_scalar

from ...data.phrases import Phrases, following_tokens
from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...data.symbols import SymbolTable, symbolize
from ...feature_extraction.spelling import spelling_table
from ...feature_extraction.word_column import HasWordColumn
from ...labels.segments.roles import roles_of
from ...labels.segments.schemes import ONE_TO_ONE, check_option
from ...structures import SemiMarkovChain
from ...utils.names import check_several
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Fact, Requirement, below
from .segmented import SegmentedArray
from .span_table import Entries, SpanTransformer, segmented

#: The features that are made of the tokens rather than of a column by name.
OF_WORDS = ("string", "around", "shape")

# Stand for the token before the first and after the last token of a sequence.
BEFORE, AFTER = "^", "$"

SegmentFunction = Callable[[Any], Callable[[int, int], Any]]


@dataclass(eq=False, repr=False)
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
        most different words; if the choice is close, there is a warning.

    Attributes
    ----------
    column_ : str or None
        The column that holds the token; None if no feature needs it.
    symbols_ : list of Phrases
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

    features: Sequence[str | SegmentFunction] = ("string", "shape", "around")
    max_length: int = 8
    min_freq: int = 2
    scheme: str = "IOB2"
    column: str | None = None

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
            Phrases.frequent(source.runs(feature, start, length), self.min_freq)
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
        """Return names of the features of spans.

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
            yield Fact(f"symbols_[{i}]", isinstance(symbols, Phrases), "must be Phrases")
            yield from below(f"symbols_[{i}]", symbols.requirements())


def _segments(y: SequenceArray, scheme: str) -> tuple[np.ndarray, np.ndarray]:
    """First tokens and lengths of the segments of labels; other labels are of no segment."""
    labels = [label if isinstance(label, str) else None for label in y.data.tolist()]
    classes = list(dict.fromkeys(labels))
    number = {label: i for i, label in enumerate(classes)}
    ids = np.array([number[label] for label in labels], dtype=np.int64)
    start, stop, *_ = SemiMarkovChain(y.offsets, roles_of(classes, scheme), 1).segments(ids)
    return start, stop - start


class SpanSource:
    """Sequences, as what symbols of spans are made from.

    Parameters
    ----------
    X : SequenceArray
    table : SymbolTable
        Its symbols.
    column : str, optional
        The column of the token.
    """

    def __init__(self, X: SequenceArray, table: SymbolTable, column: str | None):
        self._X, self._table, self._column = X, table, column
        self._following = following_tokens(X.offsets)

    def runs(self, feature: Any, start: np.ndarray, length: np.ndarray) -> list[tuple[str, ...]]:
        """Return the symbols of some spans, in order; spans without one are left out."""
        stop = start + length
        if not isinstance(feature, str):
            return self._called_runs(feature, start, stop)
        symbols, codes = self._symbols(feature)
        tokens = [symbols[code] if code >= 0 else "" for code in codes.tolist()]
        spans = zip(start.tolist(), stop.tolist(), strict=True)
        if feature == "around":
            edges = self._edges()
            return [
                (BEFORE if edges[a] else tokens[a - 1], AFTER if edges[b] else tokens[b])
                for a, b in spans
            ]
        return [tuple(tokens[a:b]) for a, b in spans if feature != "string" or b - a > 1]

    def find(
        self, feature: Any, symbols: Phrases, max_length: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return start, length and number of the symbol of all spans that have one."""
        if not isinstance(feature, str):
            return self._find_called(feature, symbols, max_length)
        ids = symbols.numbered(*self._symbols(feature))
        if feature != "around":
            return symbols.find(ids, self._following)
        edges, known = self._edges(), symbols.vocabulary.lookup([BEFORE, AFTER])
        before = np.where(edges[:-1], known[0], np.roll(ids, 1))
        after = np.where(edges[1:], known[1], np.roll(ids, -1))
        found = []
        for length in range(1, max_length + 1):
            start = np.flatnonzero(self._following >= length - 1)
            run = symbols.of_pairs(before[start], after[start + length - 1])
            start, run = start[run >= 0], run[run >= 0]
            found.append((start, np.full(len(start), length), run))
        starts, lengths, runs = map(np.concatenate, zip(*found, strict=True))
        return starts, lengths, runs

    def _symbols(self, feature: str) -> tuple[Sequence[str], np.ndarray]:
        """Return symbols, and the number of the symbol of each token."""
        table, names = self._table, list(self._table.names)
        wanted, of_word = cast(str | None, feature), None
        if feature in OF_WORDS:
            wanted, of_word = self._column, "shape" if feature == "shape" else "lower"
        if wanted not in names:
            raise ValueError(f"X has no column {wanted!r}; its columns are {names}")
        j = names.index(wanted)
        codes = table.codes[:, j]
        if of_word is None:
            return list(table.categories[j]), codes
        spelled = spelling_table(table.categories[j], [of_word])
        return list(spelled.categories[0]), np.append(spelled.codes[:, 0], np.int32(-1))[codes]

    def _edges(self) -> np.ndarray:
        """Return whether a sequence ends or begins before each token, (n_tokens + 1,)."""
        edges = np.zeros(int(self._X.offsets[-1]) + 1, dtype=bool)
        edges[self._X.offsets] = True
        return edges

    def _called_runs(self, function: SegmentFunction, start: np.ndarray, stop: np.ndarray) -> list:
        @lru_cache(maxsize=1)
        def call(s: int) -> Callable[[int, int], Any]:
            return _function_of(function, self._X[s], s)

        sequence = np.searchsorted(self._X.offsets, start, side="right") - 1
        origin = self._X.offsets[sequence]
        spans = np.column_stack([sequence, start - origin, stop - origin]).tolist()
        return [(symbol,) for s, a, b in spans for symbol in _as_symbols(call(s)(a, b), s, a, b)]

    def _find_called(
        self, function: SegmentFunction, symbols: Phrases, max_length: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        number = {run[0]: i for i, run in enumerate(symbols.names())}
        found: list[tuple[int, int, int]] = []
        for s, sequence in enumerate(self._X):
            origin, n = int(self._X.offsets[s]), len(sequence)
            call = _function_of(function, sequence, s)
            for a in range(n):
                for b in range(a + 1, min(n, a + max_length) + 1):
                    value = call(a, b)
                    # Most spans have one symbol at most, which is not known.
                    if value is None or (type(value) is str and value not in number):
                        continue
                    runs = (number.get(symbol) for symbol in _as_symbols(value, s, a, b))
                    found += [(origin + a, b - a, run) for run in runs if run is not None]
        start, length, run = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return start, length, run


def _function_of(function: SegmentFunction, sequence: Any, s: int) -> Callable[[int, int], Any]:
    """Return the function of spans that a callable returned for a sequence."""
    call = function(sequence)
    if not callable(call):
        raise ValueError(
            f"features: a callable returned {call!r} for sequence {s}, but must return a function "
            "of start and end"
        )
    return call


def _as_symbols(value: Any, sequence: int, start: int, end: int) -> list[str]:
    """Return what a callable returned for a span, as a list of symbols."""
    several = isinstance(value, (list, tuple, set, frozenset))
    symbols = list(value) if several else [] if value is None else [value]
    for symbol in symbols:
        if not isinstance(symbol, str):
            raise ValueError(
                f"features: a callable returned {symbol!r} for the span from {start} to {end} of "
                f"sequence {sequence}, but symbols are strings"
            )
    return symbols
