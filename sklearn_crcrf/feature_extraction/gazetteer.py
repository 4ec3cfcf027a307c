"""Phrases of lists, marked where they occur."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.phrases import Phrases, following_tokens
from ..data.ragged import SequenceArray, joined_ranges
from ..data.symbols import SymbolTable
from ..utils.names import check_several, shown
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Requirement, below
from ._base import SymbolTransformer
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
