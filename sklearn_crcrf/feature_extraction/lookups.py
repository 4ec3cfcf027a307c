"""Columns of what is known of words beforehand: phrases of lists, clusters and vectors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .._kernels.sparse.keys import number_keys
from ..data.phrases import Phrases, following_tokens
from ..data.ragged import SequenceArray, joined_ranges
from ..data.symbols import SymbolTable, table_of
from ..data.vocabulary import Vocabulary
from ..serving.columns import cluster_of
from ..utils.names import check_no_string, check_several, shown
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Array, Fact, Requirement, below
from ._base import SequenceTransformer, SymbolTransformer, as_symbols
from .word_column import HasWordColumn, column_number


def leftmost(lengths: np.ndarray) -> np.ndarray:
    """Say where matches begin if overlaps are resolved from left to right: the earlier match wins.

    Parameters
    ----------
    lengths : ndarray of shape (n_tokens,)
        The length of the match that begins at each token, 0 if none does.

    Returns
    -------
    ndarray of int64 of shape (n_taken,)
    """
    starts = np.flatnonzero(lengths)
    following = np.searchsorted(starts, starts + lengths[starts])
    jump = np.append(following, len(starts))
    taken = np.zeros(len(starts) + 1, dtype=bool)
    taken[0] = True
    # Each jump skips 1, 2, 4, ... matches.
    while True:
        taken[jump[taken]] = True
        if (jump == len(starts)).all():
            return starts[taken[:-1]]
        jump = jump[jump]


@dataclass(eq=False, repr=False)
class Gazetteer(HasWordColumn, SymbolTransformer):
    """Mark where the phrases of lists occur, such as names of places or of drugs.

    There is one column for each list. Its symbol is ``"B"`` where a phrase of the list begins and
    ``"I"`` inside one; other tokens have no symbol. Of phrases that begin at the same token only
    the longest is marked, and of overlapping phrases only the first; lists do not affect each
    other. The columns of X are not part of the output: ``make_union(TokenFeatures(),
    Gazetteer(...))`` has both.

    Parameters
    ----------
    lists : dict from str to iterable of phrases
        A phrase is a str whose tokens are separated by spaces, or a sequence of tokens.
    ignore_case : bool, default=False
        Whether upper and lower case are treated as equal.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words; if the choice is close, there is a warning.

    Attributes
    ----------
    phrases_ : dict from str to Phrases
        The phrases of each list.
    column_ : str
        The column that holds the token.
    feature_names_in_ : ndarray of str objects
        Names of the columns seen in fit; token strings are one column ``"token"``.

    See Also
    --------
    WordClusters : Columns of clusters of single words.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import Gazetteer
    >>> gazetteer = Gazetteer({"city": ["York", "New York"], "person": [("John", "York")]})
    >>> X = gazetteer.fit_transform([["John", "York", "left", "New", "York"]])
    >>> for name in X.data.names:
    ...     print(name, X.data.column(name).tolist())
    city [None, 'B', None, 'B', 'I']
    person ['B', 'I', None, None, None]
    """

    lists: Mapping[str, Iterable[str | Sequence[str]]]
    ignore_case: bool = False
    column: str | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = True
        return tags

    def _names_out(self, names: tuple[str, ...]) -> list[str]:
        column_number(self.column, names)
        if not isinstance(self.lists, Mapping):
            raise ValueError(
                f"lists must be a dict from names to phrases, got a {type(self.lists).__name__}"
            )
        return [str(name) for name in self.lists]

    def _fit(self, sequences: SequenceArray) -> None:
        super()._fit(sequences)
        self.phrases_ = {str(k): Phrases(self._read(k, v)) for k, v in self.lists.items()}

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        for name, phrases in self.phrases_.items():
            yield from below(f"phrases_[{name!r}]", phrases.requirements())

    def _read(self, name: str, phrases: Iterable[str | Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the phrases of a list, each as a list of tokens."""
        check_several(phrases, f"lists[{name!r}]")
        read = []
        for phrase in phrases:
            if not isinstance(phrase, str):
                check_several(phrase, f"lists[{name!r}]: a phrase")
            read.append(phrase.split() if isinstance(phrase, str) else [*phrase])
        for phrase in read:
            if not all(isinstance(token, str) for token in phrase):
                raise ValueError(f"lists[{name!r}]: the tokens of {shown(phrase)} must be str")
        return [tuple(self._folded(token) for token in phrase) for phrase in read if phrase]

    def _folded(self, token: str) -> str:
        return token.casefold() if self.ignore_case else token

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        check_fitted(self)
        j = self._place_of_column(table, lengths)
        symbols = [self._folded(symbol) for symbol in table.categories[j]]
        following = following_tokens(np.append(0, np.cumsum(lengths)))
        codes = np.full((len(table), len(self.phrases_)), -1, dtype=np.int32, order="F")
        for marked, phrases in zip(codes.T, self.phrases_.values(), strict=True):
            tokens = phrases.numbered(symbols, table.codes[:, j])
            start, length, _ = phrases.find(tokens, following)
            longest = np.zeros(len(tokens), dtype=np.int64)
            longest[start] = length  # as they are found in the order of their lengths
            starts = leftmost(longest)
            marked[joined_ranges(starts, longest[starts])] = 1
            marked[starts] = 0
        return SymbolTable(codes, [["B", "I"]] * len(self.phrases_), [*self.phrases_])


@dataclass(eq=False, repr=False)
class WordClusters(HasWordColumn, SymbolTransformer):
    """Make columns of the clusters that words belong to.

    Brown clusters [1]_ are the leaves of a tree, named by the path from the root, such as
    ``"0010"``. Prefixes of a path are broader clusters. The columns of X are not part of the
    output: ``make_union(TokenFeatures(), WordClusters(...))`` has both.

    Parameters
    ----------
    clusters : mapping from str to str
        The cluster of each word. Words without a cluster have no symbols.
    prefixes : sequence of int, default=(4, 6, 10, 20)
        Lengths of prefixes of cluster names; each makes one column. With None there is one column
        of whole names.
    ignore_case : bool, default=False
        Whether a word that is not found is looked up again in lower case.
    name : str, default="cluster"
        Name of the column; with prefixes, the columns are ``"cluster:4"``, ``"cluster:6"``, ...
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words; if the choice is close, there is a warning.

    Attributes
    ----------
    column_ : str
        The column that holds the token.
    feature_names_in_ : ndarray of str objects
        Names of the columns seen in fit; token strings are one column ``"token"``.

    See Also
    --------
    WordVectors : Columns of numbers.

    References
    ----------
    .. [1] Brown et al., "Class-Based n-gram Models of Natural Language", Computational Linguistics
       18, 1992.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import WordClusters
    >>> clusters = WordClusters({"monday": "0010", "friday": "0011"}, (3, 4), ignore_case=True)
    >>> X = clusters.transform([["Monday", "rains"]])
    >>> for name in X.data.names:
    ...     print(name, X.data.column(name).tolist())
    cluster:3 ['001', None]
    cluster:4 ['0010', None]
    """

    clusters: Mapping[str, str]
    prefixes: Sequence[int] | None = (4, 6, 10, 20)
    ignore_case: bool = False
    name: str = "cluster"
    column: str | None = None

    def _names_out(self, names: tuple[str, ...]) -> list[str]:
        column_number(self.column, names)
        if not isinstance(self.clusters, Mapping):
            raise ValueError(
                "clusters must be a mapping from words to clusters, "
                f"got a {type(self.clusters).__name__}"
            )
        if self.prefixes is None:
            return [self.name]
        check_several(self.prefixes, "prefixes")
        for length in self.prefixes:
            if not isinstance(length, (int, np.integer)) or length < 1:
                raise ValueError(f"prefixes must be positive integers, got {length!r}")
        return [f"{self.name}:{length}" for length in self.prefixes]

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        names = self._names_out(table.names)
        j = self._place_of_column(table, lengths)
        found = [cluster_of(s, self.clusters, self.ignore_case) for s in table.categories[j]]
        paths = [None if cluster is None else _path(cluster) for cluster in found]
        known = np.array([path is not None for path in paths], dtype=bool)
        columns = []
        for length in [None] if self.prefixes is None else self.prefixes:
            vocabulary = Vocabulary()
            ids = np.full(len(paths) + 1, -1, dtype=np.int32)  # the last is for code -1
            ids[:-1][known] = vocabulary.add([p[:length] for p in paths if p is not None])
            columns.append((ids[table.codes[:, j]], vocabulary.symbols))
        return table_of(columns, len(table), names)

    def tagger_step(self, names: tuple[str, ...]) -> list:
        """As in :class:`SymbolTransformer`."""
        lengths = [None] if self.prefixes is None else [int(n) for n in self.prefixes]
        made = dict(zip(self._names_out(names), lengths, strict=True))
        known = {word: it for word, it in self.clusters.items() if it is not None}
        clusters = {word: _path(cluster) for word, cluster in known.items()}
        column = names[column_number(self._known_column(names), names)]
        return ["clusters", column, clusters, made, self.ignore_case]


def _path(cluster: Any) -> str:
    if not isinstance(cluster, (str, int, np.integer)):
        raise ValueError(f"clusters: a cluster must be a str or an int, but is {shown(cluster)}")
    return str(cluster)


@dataclass(eq=False, repr=False)
class WordVectors(HasWordColumn, SequenceTransformer):
    """Make columns of numbers from the vectors, or embeddings, of words.

    Parameters
    ----------
    vectors : mapping from str to array of shape (n_dimensions,), or (words, matrix)
        The vector of each word; or a list of words, and a matrix with one row for each. If a word
        occurs more than once, its first row counts.
    unknown : array-like of shape (n_dimensions,), optional
        The vector of all other words. Default: zeros.
    ignore_case : bool, default=False
        Whether a word that is not found is looked up again in lower case.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words; if the choice is close, there is a warning.

    Attributes
    ----------
    column_ : str
        The column that holds the token.
    vocabulary_ : Vocabulary
        The words, by number.
    vectors_ : ndarray of shape (n_words, n_dimensions)
        The vectors; float32 or float64, as given.
    unknown_ : ndarray of shape (n_dimensions,)
        The vector of all other words.

    See Also
    --------
    WordClusters : Columns of symbols.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import WordVectors
    >>> vectors = WordVectors({"dog": [0.5, 1.0], "cat": [0.4, 0.9]})
    >>> vectors.fit_transform([["a", "dog"], ["cat"]]).data
    array([[0. , 0. ],
           [0.5, 1. ],
           [0.4, 0.9]])
    """

    vectors: Mapping[str, Any] | tuple[Sequence[str], Any]
    unknown: Any = None
    ignore_case: bool = False
    column: str | None = None

    def fit(self, X: Any, y: Any = None) -> "WordVectors":
        """Check the vectors, and number the words.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the vectors are not finite or differ in length, or X lacks the column.
        """
        column = self._choose_column(as_symbols(X))
        words, rows = _read(self.vectors)
        rows = check_array(rows, dtype=[np.float64, np.float32], input_name="vectors")
        if len(words) != len(rows):
            raise ValueError(f"vectors has {len(words)} words, but {len(rows)} rows")
        unknown = np.zeros(rows.shape[1]) if self.unknown is None else self.unknown
        unknown = check_array([unknown], dtype=rows.dtype, input_name="unknown")[0]
        if len(unknown) != rows.shape[1]:
            raise ValueError(
                f"unknown has {len(unknown)} dimensions, but vectors have {rows.shape[1]}"
            )
        vocabulary = Vocabulary()
        _, first = number_keys(vocabulary.add(words).astype(np.int64))
        self.column_, self.vocabulary_ = column, vocabulary
        self.vectors_ = rows if len(first) == len(rows) else rows[first]
        self.unknown_ = unknown
        return self

    def transform(self, X: Any) -> SequenceArray:
        """Look up the vector of every token.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.

        Returns
        -------
        SequenceArray of ndarray of shape (n_tokens, n_dimensions)
        """
        check_fitted(self)
        sequences = as_symbols(X)
        table = sequences.data
        j = self._place_of_column(table, sequences.lengths)
        ids = self._look_up(table.categories[j].tolist())
        known = np.flatnonzero(ids >= 0)
        # The last row is for tokens without a symbol, whose code is -1.
        rows = np.tile(self.unknown_, (len(ids) + 1, 1))
        rows[known] = self.vectors_[ids[known]]
        return self._output(sequences.with_data(rows[table.codes[:, j]]), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns: ``"vector0"``, ``"vector1"``, ...

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects of shape (n_dimensions,)
        """
        check_fitted(self)
        return np.array([f"vector{k}" for k in range(len(self.unknown_))], dtype=object)

    def _requirements(self) -> Iterator[Requirement]:
        is_vocabulary = isinstance(self.vocabulary_, Vocabulary)
        yield Fact("vocabulary_", is_vocabulary, "must be a Vocabulary")
        n_dimensions = len(self.unknown_)
        yield Array("unknown_", self.unknown_, (n_dimensions,))
        yield Array("vectors_", self.vectors_, (len(self.vocabulary_), n_dimensions))

    def _look_up(self, words: list[str]) -> np.ndarray:
        """Return the numbers of words, -1 for unknown words."""
        ids = self.vocabulary_.lookup(words)
        if self.ignore_case:
            missing = np.flatnonzero(ids < 0)
            ids[missing] = self.vocabulary_.lookup([words[i].lower() for i in missing])
        return ids


def _read(vectors: Any) -> tuple[list[str], Any]:
    """Words and a matrix of their vectors."""
    if isinstance(vectors, Mapping):
        rows = [np.asarray(row) for row in vectors.values()]
        shapes = {row.shape for row in rows}
        if len(shapes) != 1 or len(*shapes) != 1:
            raise ValueError(
                "vectors must have one vector of numbers for each word, all of the same length"
            )
        return [*vectors], np.array(rows)
    is_pair = isinstance(vectors, (tuple, list)) and len(vectors) == 2
    if is_pair and isinstance(vectors[0], Iterable):
        check_no_string(vectors[0], "the list of words in vectors")
        return [*vectors[0]], vectors[1]
    raise ValueError(
        "vectors must be a mapping from words to vectors, or words and a matrix, "
        f"got a {type(vectors).__name__}"
    )
