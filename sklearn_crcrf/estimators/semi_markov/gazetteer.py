"""SegmentGazetteer: spans that are, or resemble, phrases of lists."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from ...data.phrases import Phrases, following_tokens
from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...data.symbols import SymbolTable, symbolize
from ...feature_extraction.word_column import HasWordColumn
from ...utils.lines import lines_of
from ...utils.names import check_several
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Fact, Requirement, below
from ...utils.unpacking import read_text
from .segmented import SegmentedArray
from .similarity import SIMILARITIES, Function, Similarity, Text
from .span_table import Entries, SpanTransformer, segmented

# About the number of spans that are compared with a list at once.
BLOCK = 50_000


@dataclass(eq=False, repr=False)
class SegmentGazetteer(HasWordColumn, SpanTransformer):
    """Features of spans that are phrases of lists, or resemble them [1]_.

    A feature of tokens, such as a mark of :class:`Gazetteer`, cannot tell that a whole segment is
    in a list, and needs tokens that are equal. A span can be compared as a whole.

    Parameters
    ----------
    lists : dict from str to iterable of phrases, or to Path
        A phrase is a str whose tokens are separated by spaces, or a sequence of tokens. A
        ``pathlib.Path`` names a file in UTF-8 with a phrase in each line.
    similarity : {"exact", "jaccard", "tfidf"} or callable, default="exact"
        With "exact", a span must be a phrase. "jaccard" divides the number of tokens that a span
        and a phrase share by the number of tokens of both, and "tfidf" is the cosine of their
        tokens, in which tokens of many phrases count less. A callable takes two tuples of tokens,
        and returns a number from 0 to 1. The similarity to a list is the similarity to its nearest
        phrase.
    bins : sequence of float, default=(0.3, 0.5, 0.75)
        Increasing numbers between 0 and 1. A span that is no phrase has the feature of the
        last of these that its similarity reaches. Unused if the similarity is "exact".
    max_length : int, default=8
        The longest span that has features.
    max_phrases : int, default=60
        Tokens that more phrases of a list contain make no span similar to a phrase by themselves.
    scale : float, default=2.0
        The value of the features. The prior of their weights is the wider the larger it is: with 2,
        twice as wide as the ``segment_sigma`` of :class:`SemiMarkovCRF`, as the few features of a
        list occur with many segments.
    ignore_case : bool, default=True
        Whether upper and lower case are treated as equal.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words; if the choice is close, there is a warning.

    Attributes
    ----------
    column_ : str or None
        The column that holds the token; None if that is not known, as X was None or strings.
    phrases_ : list of Phrases
        The phrases of each list.

    References
    ----------
    .. [1] Sarawagi, Cohen, "Semi-Markov Conditional Random Fields for Information Extraction",
       NIPS 2004.

    Examples
    --------
    >>> from sklearn_crcrf.estimators.semi_markov import SegmentGazetteer
    >>> cities = {"city": ["New York", "Los Angeles"]}
    >>> gazetteer = SegmentGazetteer(cities, similarity="jaccard", bins=[0.3, 0.6])
    >>> X = gazetteer.fit_transform([["in", "New", "York", "City"]])
    >>> X.names.tolist()
    ['city', 'city, several tokens', 'city >= 0.3', 'city >= 0.6']
    >>> X.spans.last_tokens().tolist(), X.spans.length.tolist()
    ([1, 1, 2, 2, 2, 3, 3, 3], [1, 2, 1, 2, 3, 2, 3, 4])
    >>> X.spans.features.indices.tolist()
    [2, 2, 2, 0, 1, 3, 2, 3, 2]
    """

    lists: Mapping[str, Iterable[str | Sequence[str]]]
    similarity: str | Function = "exact"
    bins: Sequence[float] = (0.3, 0.5, 0.75)
    max_length: int = 8
    max_phrases: int = 60
    scale: float = 2.0
    ignore_case: bool = True
    column: str | None = None

    def fit(self, X: Any = None, y: Any = None) -> "SegmentGazetteer":
        """Read the phrases of all lists.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame, optional
            The tokens, by which the column is chosen.
        y : ignored

        Returns
        -------
        SegmentGazetteer
            Itself.

        Raises
        ------
        ValueError
            If a parameter is not valid.
        """
        self._read_lists()
        self.column_ = self.column
        if X is not None:
            X = as_sequences(X).X
            are_strings = isinstance(X.data, np.ndarray) and isinstance(next(iter(X.data), ""), str)
            # Strings have one column, and need not be counted.
            if self.column is None and not are_strings:
                self.column_ = self._choose_column(X.with_data(symbolize(X)))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> SegmentedArray:
        """Read the phrases of all lists, then find them in X, which is read only once.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        SegmentedArray
            The sequences of X, with the features of their spans.
        """
        self._read_lists()
        sequences = as_sequences(X).X
        table = symbolize(sequences)
        self.column_ = self._choose_column(sequences.with_data(table))
        return self._found(sequences, table)

    def transform(self, X: Any) -> SegmentedArray:
        """Find the spans that are in the lists, or resemble their phrases.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.

        Returns
        -------
        SegmentedArray
            The sequences of X, with the features of their spans.

        Raises
        ------
        ValueError
            If the column is missing.
        """
        check_fitted(self)
        sequences = as_sequences(X).X
        return self._found(sequences, symbolize(sequences))

    def _found(self, sequences: SequenceArray, table: SymbolTable) -> SegmentedArray:
        j = self._place_of_column(table, sequences.lengths)
        symbols = [self._folded(symbol) for symbol in table.categories[j]]
        distinct = list(dict.fromkeys(symbols))
        number = {symbol: i for i, symbol in enumerate(distinct)}
        words = np.array([number[symbol] for symbol in symbols], dtype=np.int64)
        following, entries = following_tokens(sequences.offsets), []
        n_columns = len(self._columns("", self._bins()))
        for k, phrases in enumerate(self.phrases_):
            ids = phrases.numbered(symbols, table.codes[:, j])
            start, length, _ = phrases.find(ids, following)
            short = length <= self.max_length
            start, length = start[short], length[short]
            first, several = k * n_columns, length > 1
            entries.append(Entries.of(start, length, first))
            entries.append(Entries.of(start[several], length[several], first + 1))
            if len(self._bins()) and phrases.n_runs:
                text = Text(ids, np.append(words, -1)[table.codes[:, j]], distinct, following)
                soft = self._similar(phrases, text, start, length)
                entries.append(soft._replace(column=soft.column + first + 2))
        scaled = [entry._replace(value=self.scale * entry.value) for entry in entries]
        return segmented(sequences, scaled, self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names of the features of spans.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
            For each list its name, for spans that are phrases, and for phrases of several tokens;
            and ``"name >= 0.5"`` for similar spans.
        """
        bins = self._bins()
        named = [name for of_list in self.lists for name in self._columns(of_list, bins)]
        return np.array(named, dtype=object)

    def _columns(self, name: str, bins: Sequence[float]) -> list[str]:
        return [name, f"{name}, several tokens", *(f"{name} >= {least:g}" for least in bins)]

    def _bins(self) -> Sequence[float]:
        return () if self.similarity == "exact" else self.bins

    def _read_lists(self) -> None:
        self._check_parameters()
        self.phrases_ = [
            Phrases(sorted({phrase for phrase in self._read(name, phrases) if phrase}))
            for name, phrases in self.lists.items()
        ]

    def _folded(self, token: str) -> str:
        return token.lower() if self.ignore_case else token

    def _read(self, name: str, phrases: Iterable[Any]) -> Iterator[tuple[str, ...]]:
        if isinstance(phrases, Path):
            phrases = filter(None, lines_of(read_text(phrases)))
        check_several(phrases, f"lists[{name!r}]")
        for phrase in phrases:
            tokens = phrase.split() if isinstance(phrase, str) else phrase
            if not (isinstance(tokens, Iterable) and all(isinstance(x, str) for x in tokens)):
                raise ValueError(f"lists[{name!r}]: {phrase!r} must be a str or a sequence of str")
            yield tuple(self._folded(token) for token in tokens)

    def _similar(
        self, phrases: Phrases, text: Text, start: np.ndarray, length: np.ndarray
    ) -> Entries:
        """Return the bins of the spans that are no phrases."""
        known = Similarity(phrases, self.max_phrases, self.similarity)
        longest, edges = self.max_length + 1, np.asarray(self.bins, dtype=float)
        exact = start * longest + length
        found = []
        for n in range(1, self.max_length + 1):
            at = np.flatnonzero(text.following >= n - 1)
            for block in np.array_split(at, -(-len(at) // BLOCK) or 1):
                where, value = known.nearest(text, block, n)
                bin_of = np.searchsorted(edges, value + 1e-9, side="right") - 1
                kept = (bin_of >= 0) & ~np.isin(where * longest + n, exact)
                found.append(Entries.of(where[kept], n, bin_of[kept]))
        return Entries(*map(np.concatenate, zip(*found, strict=True)))

    def _check_parameters(self) -> None:
        if not isinstance(self.lists, Mapping):
            raise ValueError(
                f"lists must be a dict from names to phrases, got a {type(self.lists).__name__}"
            )
        for name in self.lists:
            if not isinstance(name, str):
                raise ValueError(f"the names of lists must be str, got {name!r}")
        known = self.similarity in ("exact", *SIMILARITIES)
        if not (callable(self.similarity) or known):
            options = ", ".join(["exact", *SIMILARITIES])
            raise ValueError(f"similarity must be one of {options}, or a callable")
        check_scalar(self.max_length, "max_length", Integral, min_val=1)
        check_scalar(self.max_phrases, "max_phrases", Integral, min_val=1)
        check_scalar(self.scale, "scale", Real, min_val=0.0, include_boundaries="neither")
        if not np.isfinite(self.scale):
            raise ValueError(f"scale must be finite, got {self.scale}")
        is_flat = isinstance(self.bins, Iterable) and getattr(self.bins, "ndim", 1) == 1
        bins = [*self.bins] if is_flat else [None]
        edges = np.array(bins if all(isinstance(value, Real) for value in bins) else [0.0], float)
        if not ((edges > 0) & (edges <= 1)).all() or (np.diff(edges) <= 0).any():
            raise ValueError(f"bins must be increasing numbers in (0, 1], got {self.bins!r}")

    def _requirements(self) -> Iterator[Requirement]:
        self._check_parameters()
        n_lists, n_read = len(self.lists), len(self.phrases_)
        yield Fact("phrases_", n_lists == n_read, "must be as many as the lists")
        for i, phrases in enumerate(self.phrases_):
            yield Fact(f"phrases_[{i}]", isinstance(phrases, Phrases), "must be Phrases")
            yield from below(f"phrases_[{i}]", phrases.requirements())
