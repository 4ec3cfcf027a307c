"""Phrases of lists, marked where they occur."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from ..data.ragged import SequenceArray, joined_ranges
from ..data.symbols import SymbolTable
from ..data.vocabulary import Vocabulary
from ..utils.names import check_several, shown
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Array, Fact, Requirement, below, indices
from ._base import SymbolTransformer
from .word_column import HasWordColumn, column_number


class Phrases:
    """A set of phrases, as a tree of their tokens.

    Parameters
    ----------
    phrases : list of sequences of str
    """

    def __init__(self, phrases: list[Sequence[str]]):
        self.vocabulary = Vocabulary()
        tokens = self.vocabulary.add([*chain.from_iterable(phrases)]).astype(np.int64)
        lengths = np.fromiter(map(len, phrases), np.int64, len(phrases))
        place = np.cumsum(lengths) - lengths
        node = np.zeros(len(phrases), dtype=np.int64)
        # Every level has a key for each pair of a node of the previous level and the next token,
        # and whether a phrase ends there.
        self.levels: list[tuple[np.ndarray, np.ndarray]] = []
        while len(lengths) and lengths.max() > len(self.levels):
            going_on = lengths > len(self.levels)
            lengths, place, node = lengths[going_on], place[going_on], node[going_on]
            keys, node = np.unique(self._keys(node, tokens[place]), return_inverse=True)
            is_end = np.zeros(len(keys), dtype=bool)
            is_end[node[lengths == len(self.levels) + 1]] = True
            self.levels.append((keys, is_end))
            place = place + 1

    def requirements(self) -> Iterator[Requirement]:
        """Requirements of a set of phrases."""
        yield Fact("vocabulary", isinstance(self.vocabulary, Vocabulary), "must be a Vocabulary")
        n_nodes = 1
        for depth, (keys, is_end) in enumerate(self.levels):
            yield indices(f"levels[{depth}]", keys, (len(keys),), n_nodes * len(self.vocabulary))
            yield Fact(f"levels[{depth}]", len(keys) > 0, "must not be empty")
            yield Array(f"levels[{depth}]", is_end, (len(keys),), kind="b")
            n_nodes = len(keys)

    def longest(self, tokens: np.ndarray, following: np.ndarray) -> np.ndarray:
        """The length of the longest phrase that begins at each token, 0 if none does.

        Parameters
        ----------
        tokens : ndarray of shape (n_tokens,)
            Ids of the tokens in ``vocabulary``, -1 for unknown ones.
        following : ndarray of shape (n_tokens,)
            Number of tokens that follow each token in its sequence.

        Returns
        -------
        ndarray of int64 of shape (n_tokens,)
        """
        longest = np.zeros(len(tokens), dtype=np.int64)
        start = np.flatnonzero(tokens >= 0)
        node = np.zeros(len(start), dtype=np.int64)
        for depth, (keys, is_end) in enumerate(self.levels):
            token = tokens[start + depth]
            wanted = self._keys(node, token)
            node = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = (keys[node] == wanted) & (token >= 0)
            start, node = start[found], node[found]
            longest[start[is_end[node]]] = depth + 1
            inside = following[start] > depth
            start, node = start[inside], node[inside]
        return longest

    def _keys(self, node: np.ndarray, token: np.ndarray) -> np.ndarray:
        return node * len(self.vocabulary) + token


def leftmost(lengths: np.ndarray) -> np.ndarray:
    """Where matches begin if overlaps are resolved from left to right: the earlier match wins.

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


class Gazetteer(HasWordColumn, SymbolTransformer):
    """Mark where the phrases of lists occur, such as names of places or of drugs.

    There is one column for each list. Its symbol is ``"B"`` where a phrase of the list begins and
    ``"I"`` inside one; other tokens have no symbol. Of phrases that begin at the same token only
    the longest is marked, and of overlapping phrases only the first. Lists do not affect each
    other. The columns of X are not part of the output: join them with it by
    ``make_union(TokenFeatures(), Gazetteer(...))``.

    Parameters
    ----------
    lists : dict from str to iterable of phrases
        A phrase is a str whose tokens are separated by spaces, or a sequence of tokens.
    ignore_case : bool, default=False
        Whether upper and lower case are treated as equal.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words, whatever the order; if the choice is close, there is a warning.

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

    def __init__(
        self,
        lists: Mapping[str, Iterable[str | Sequence[str]]],
        ignore_case: bool = False,
        column: str | None = None,
    ):
        self.lists = lists
        self.ignore_case = ignore_case
        self.column = column

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

    def _read(self, name: str, phrases: Iterable[str | Sequence[str]]) -> list[Sequence[str]]:
        """The phrases of a list, each as a list of tokens."""
        check_several(phrases, f"lists[{name!r}]")
        read = []
        for phrase in phrases:
            if not isinstance(phrase, str):
                check_several(phrase, f"lists[{name!r}]: a phrase")
            read.append(phrase.split() if isinstance(phrase, str) else [*phrase])
        for phrase in read:
            if not all(isinstance(token, str) for token in phrase):
                raise ValueError(f"lists[{name!r}]: the tokens of {shown(phrase)} must be str")
        return [[self._folded(token) for token in phrase] for phrase in read]

    def _folded(self, token: str) -> str:
        return token.casefold() if self.ignore_case else token

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        check_fitted(self)
        j = self._place_of_column(table, lengths)
        symbols = [self._folded(symbol) for symbol in table.categories[j]]
        ends = np.repeat(np.cumsum(lengths), lengths)
        following = ends - 1 - np.arange(len(ends))
        codes = np.full((len(table), len(self.phrases_)), -1, dtype=np.int32, order="F")
        for marked, phrases in zip(codes.T, self.phrases_.values(), strict=True):
            numbers = np.append(phrases.vocabulary.lookup(symbols), np.int32(-1))
            longest = phrases.longest(numbers[table.codes[:, j]], following)
            starts = leftmost(longest)
            marked[joined_ranges(starts, longest[starts])] = 1
            marked[starts] = 0
        return SymbolTable(codes, [["B", "I"]] * len(self.phrases_), [*self.phrases_])
