"""Observations as columns of integers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.keys import number_keys
from ..data.symbols import Bag, SymbolTable
from ..data.vocabulary import Vocabulary
from ..structures import Structure
from ..utils.soundness import setting_state
from .counting import ColumnWindow
from .counts import Template
from .lexicon import Lexicon, mark_unknown
from .links import EDGE_TYPE, Links

__all__ = ["BAG", "Encoder", "Observations"]

BAG = ""
"""Stands for the attributes of a sparse X or of a bag, in place of a column."""


class Columns(Mapping):
    """Columns of ids by name; columns of spelling features are made on access.

    Parameters
    ----------
    symbols : dict of ndarray of shape (n_tokens,), int32
        The columns that are stored.
    word : ndarray of shape (n_tokens,)
    spelling : ndarray of shape (n_words, n_features)
    features : sequence of str
        Names of the columns of spelling features.
    """

    def __init__(self, symbols: dict, word: np.ndarray, spelling: np.ndarray, features: Sequence):
        self._symbols, self._word, self._spelling = symbols, word, spelling
        self._features = list(features)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._symbols:
            return self._symbols[name]
        if name not in self._features:
            raise KeyError(name)
        return self._spelling[:, self._features.index(name)][self._word]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._symbols, *self._features])

    def __len__(self) -> int:
        return len(self._symbols) + len(self._features)

    def take(self, tokens: np.ndarray) -> "Columns":
        """The columns of some of the tokens, chosen by a mask."""
        symbols = {name: ids[tokens] for name, ids in self._symbols.items()}
        return Columns(symbols, self._word[tokens], self._spelling, self._features)


class Observations(NamedTuple):
    """Encoded tokens.

    Parameters
    ----------
    columns : Columns
        Ids of the symbols of every column, and of the spelling of the words.
    word : ndarray of shape (n_tokens,)
        Index of each token's word among the unique words.
    ids : ndarray of shape (n_words,)
        Ids of the unique words in the lexicon.
    spelling : ndarray of shape (n_words, n_features)
        Ids of the spelling features of the unique words.
    attributes : CSR of shape (n_tokens, n_attributes) or None
        The rows of a sparse X.
    edge_types : ndarray of shape (n_links,) or None
        Ids of the types of links.
    """

    columns: Columns
    word: np.ndarray
    ids: np.ndarray
    spelling: np.ndarray
    attributes: Any = None
    edge_types: np.ndarray | None = None

    def take(self, tokens: np.ndarray, links: np.ndarray) -> "Observations":
        """Some of the tokens and links, each chosen by a mask."""
        return self._replace(
            columns=self.columns.take(tokens),
            word=self.word[tokens],
            attributes=None if self.attributes is None else self.attributes[tokens],
            edge_types=None if self.edge_types is None else self.edge_types[links],
        )

    def links(self, structure: Structure) -> Links | None:
        """The links of these tokens; None if they are from each token to the next one."""
        symbols = {} if self.edge_types is None else {EDGE_TYPE: self.edge_types}
        if structure.is_sequential() and not symbols:
            return None
        return Links(*structure.links(), structure.n_tokens, symbols)

    def window(self, structure: Structure, labels: np.ndarray | None = None) -> ColumnWindow:
        """The symbols around these tokens."""
        return ColumnWindow(self.columns, labels, structure.offsets, self.links(structure))


class Encoder:
    """Turns tables of symbols into integers; :meth:`learn` gives ids to new symbols.

    Parameters
    ----------
    names : sequence of str
        Columns of the tables; the first one holds the words.
    features : sequence of str
        Spelling features of the words, which become columns ``"word:feature"``.
    symbols : mapping from feature to list of str
        Symbols of a feature that are numbered first.
    n_attributes : int or None
        Number of columns of a sparse X.
    links : {"next", "children", "any"}
        How tokens are linked: each to the next one, each to any others that have no other link
        into them, or in any way.
    has_types : bool
        Whether links have types.
    has_bag : bool
        Whether tokens have a bag of attributes.
    """

    def __init__(
        self,
        names: Sequence[str],
        features: Sequence[str],
        symbols: Mapping,
        n_attributes: int | None,
        links: str = "next",
        has_types: bool = False,
        has_bag: bool = False,
    ):
        self.names = tuple(names)
        self.n_attributes: Any = n_attributes
        self.bag = Vocabulary() if has_bag else None
        self.links = links
        self.edge_types = Vocabulary() if has_types else None
        self.lexicon = Lexicon(features, symbols)
        self._vocabularies = {name: Vocabulary() for name in self.names[1:]}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_vocabularies": list(self._vocabularies.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with setting_state(type(self).__name__):
            vars(self).update(state)
            self._vocabularies = dict(zip(self.names[1:], state["_vocabularies"], strict=True))

    def __sizeof__(self) -> int:
        """Bytes of all vocabularies and of the spelling of the words."""
        vocabularies = [*self.lexicon.vocabularies, *self._vocabularies.values()]
        others = [known for known in (self.edge_types, self.bag) if known is not None]
        sizes = sum(map(getsizeof, [*vocabularies, *others]))
        return object.__sizeof__(self) + sizes + self.lexicon.spelling.nbytes

    @property
    def attribute_names(self) -> list[str]:
        """The names of the columns of a sparse X, or of the attributes in a bag."""
        if self.bag is not None:
            return self.bag.symbols
        return [f"x{j}" for j in range(self.n_attributes or 0)]

    @property
    def n_weighted(self) -> int:
        """The number of columns of a sparse X, or of attributes in a bag."""
        return int(self.n_attributes or 0) if self.bag is None else len(self.bag)

    def learn(
        self,
        table: SymbolTable,
        attributes: sp.csr_array | Bag | None,
        edge_types: Sequence[str] | None = None,
    ) -> Observations:
        """Encode tokens and links, and give ids to new symbols; new columns are an error."""
        new = [name for name in table.names if not self._has(name)]
        if new:
            raise ValueError(f"X has columns {new}, but the first data had {self.names}")
        observations = self._encode(table, attributes, _learn_words, Vocabulary.add, _in_order)
        return self._with_types(observations, edge_types, Vocabulary.add)

    def encode(
        self,
        table: SymbolTable,
        attributes: sp.csr_array | Bag | None,
        edge_types: Sequence[str] | None = None,
    ) -> Observations:
        """Encode tokens and links; unknown symbols have the id UNKNOWN."""
        observations = self._encode(table, attributes, Lexicon.lookup, _lookup, _with_absent)
        return self._with_types(observations, edge_types, _lookup)

    def encode_types(self, edge_types: Sequence[str] | None) -> np.ndarray | None:
        """Encode the types of links alone, as :meth:`encode` does."""
        if edge_types is None or self.edge_types is None:
            return None
        return _lookup(self.edge_types, list(edge_types))

    def copy(self) -> "Encoder":
        """The same ids; either copy can then learn more without the other."""
        twin = copy(self)
        twin.lexicon = self.lexicon.copy()
        twin._vocabularies = {name: known.copy() for name, known in self._vocabularies.items()}
        twin.edge_types = None if self.edge_types is None else self.edge_types.copy()
        twin.bag = None if self.bag is None else self.bag.copy()
        return twin

    def needed_for(self, templates: Iterable[Template]) -> "Encoder":
        """The same ids, without spelling features that no template has."""
        columns = {name for template in templates for name, _ in template.symbols}
        words = self.names[0]
        features = [f for f in self.lexicon.features if f"{words}:{f}" in columns]
        twin = self.copy()
        twin.lexicon = self.lexicon.narrowed(features)
        return twin

    def learn_symbols(self, other: "Encoder") -> None:
        """Give ids to all symbols of another encoder, which may have fewer spelling features.

        If there were none, they are the ids that the other gives.
        """
        self.lexicon.add_spelled(other.lexicon)
        for name, vocabulary in self._vocabularies.items():
            vocabulary.add(other._vocabularies[name].symbols)
        if self.edge_types is not None and other.edge_types is not None:
            self.edge_types.add(other.edge_types.symbols)
        if self.bag is not None and other.bag is not None:
            self.bag.add(other.bag.symbols)

    def add_all(self, other: "Encoder") -> dict[str, np.ndarray]:
        """Give the next ids to new symbols of another encoder of the same columns.

        Returns
        -------
        dict of ndarray of int32
            For each column the new id of each id in the other encoder.
        """
        word = self.names[0]
        ids, spellings = self.lexicon.add_all(other.lexicon)
        renumbered = {word: ids}
        for feature, of_feature in zip(self.lexicon.features, spellings, strict=True):
            renumbered[f"{word}:{feature}"] = of_feature
        for name, vocabulary in self._vocabularies.items():
            renumbered[name] = vocabulary.add(other._vocabularies[name].symbols)
        if self.edge_types is not None and other.edge_types is not None:
            renumbered[EDGE_TYPE] = self.edge_types.add(other.edge_types.symbols)
        if self.bag is not None and other.bag is not None:
            renumbered[BAG] = self.bag.add(other.bag.symbols)
        return renumbered

    def symbols(self, column: str) -> list[str]:
        """The symbols of a column, in the order of their ids."""
        word = self.names[0]
        if column == word:
            return self.lexicon.words.symbols
        if column in self._vocabularies:
            return self._vocabularies[column].symbols
        if column == EDGE_TYPE and self.edge_types is not None:
            return self.edge_types.symbols
        return self.lexicon.symbols(column.removeprefix(f"{word}:"))

    def _has(self, column: str) -> bool:
        return column == self.names[0] or column in self._vocabularies

    def _encode(self, table, attributes, encode_words, encode_symbols, read) -> Observations:
        if self.names[0] not in table:
            raise ValueError(
                f"X has no column {self.names[0]!r}, which holds the words, but {list(table.names)}"
            )
        word, words = read(table, self.names[0])
        ids, spelling = encode_words(self.lexicon, words)
        stored = {self.names[0]: ids[word]}
        for name, vocabulary in self._vocabularies.items():
            codes, symbols = read(table, name)
            stored[name] = encode_symbols(vocabulary, symbols)[codes]
        features = [f"{self.names[0]}:{feature}" for feature in self.lexicon.features]
        columns = Columns(stored, word, spelling, features)
        if self.bag is not None:
            attributes = _numbered(attributes, encode_symbols(self.bag, attributes.names), self.bag)
        return Observations(columns, word, ids, spelling, attributes)

    def _with_types(self, observations, edge_types, encode_symbols) -> Observations:
        if (edge_types is None) != (self.edge_types is None):
            has, had = ("types", "none") if self.edge_types is None else ("no types", "types")
            raise ValueError(f"X: the edges have {has}, but the edges of the first data had {had}")
        if edge_types is None:
            return observations
        return observations._replace(edge_types=encode_symbols(self.edge_types, edge_types))


def _learn_words(lexicon: Lexicon, words: list) -> tuple[np.ndarray, np.ndarray]:
    ids = lexicon.add(words)
    return ids, lexicon.spelling[ids]


def _lookup(vocabulary: Vocabulary, symbols: list) -> np.ndarray:
    return mark_unknown(vocabulary.lookup(symbols))


def _numbered(given: Bag, ids: np.ndarray, known: Vocabulary) -> sp.csr_array:
    """The attributes of a bag under the ids of a vocabulary, without unknown ones."""
    columns, starts = ids[given.matrix.indices], given.matrix.indptr
    kept = columns >= 0
    ends = np.append(0, np.cumsum(kept))[starts]
    shape = len(starts) - 1, len(known)
    return sp.csr_array((given.matrix.data[kept], columns[kept], ends), shape=shape)


def _in_order(table: SymbolTable, name: str) -> tuple[np.ndarray, list]:
    """Codes and symbols of a column, in the order of their first occurrence.

    So the ids that are given to new symbols do not depend on how data is cut into parts.
    """
    codes, symbols = _with_absent(table, name)
    if _are_in_order(codes, len(symbols)):
        return np.ascontiguousarray(codes), symbols
    ids, first = number_keys(codes.astype(np.int64))
    return ids, [symbols[code] for code in codes[first].tolist()]


def _are_in_order(codes: np.ndarray, n_symbols: int) -> bool:
    """Whether all codes from 0 occur, each for the first time after all lower ones."""
    largest = np.maximum.accumulate(np.concatenate([[-1], codes]))
    return bool(largest[-1] == n_symbols - 1 and (np.diff(largest) <= 1).all())


def _with_absent(table: SymbolTable, name: str) -> tuple[np.ndarray, list]:
    """Codes and symbols of a column, where a missing symbol is the empty string."""
    if name not in table:
        return np.zeros(len(table), dtype=np.int32), [""]
    j = table.place(name)
    codes, symbols = table.codes[:, j], table.categories[j].tolist()
    if len(codes) and codes.min() < 0:
        symbols = symbols if "" in symbols else [*symbols, ""]
        codes = np.where(codes < 0, symbols.index(""), codes)
    return codes, symbols
