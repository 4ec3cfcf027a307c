"""Observations as columns of integers."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from numbers import Integral
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.keys import number_keys
from ..data.ragged import joined_ranges
from ..data.symbols import Bag, SymbolTable
from ..data.vocabulary import Vocabulary
from ..structures import Structure
from ..utils.soundness import Fact, Requirement, below, setting_state
from .counting import ColumnWindow
from .counts import Template
from .lexicon import Lexicon, mark_unknown
from .links import EDGE_TYPE, KINDS_OF_LINKS, Links
from .rows import KeyIndex
from .tabulator import Tabulator
from .triangles import TRIANGLES

BAG = "\0bag"
"""Stands for the attributes of a sparse X or of a bag, in place of a column."""

ATTRIBUTES = Template(((BAG, 0),))
"""The template of these attributes, which are counted with the labels of tokens."""


class Columns(dict):
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
        super().__init__(symbols)
        self._word, self._spelling, self._features = word, spelling, features

    def __missing__(self, name: str) -> np.ndarray:
        return self._spelling[:, self._features.index(name)][self._word]

    def take(self, tokens: np.ndarray) -> "Columns":
        """Return the columns of some of the tokens, by their numbers."""
        symbols = {name: ids[tokens] for name, ids in self.items()}
        return Columns(symbols, self._word[tokens], self._spelling, self._features)


class Tokens(NamedTuple):
    """Tokens that were read, but have no ids yet.

    Parameters
    ----------
    table : SymbolTable
    attributes : CSR of shape (n_tokens, n_attributes), Bag or None
        The rows of a sparse X, or attributes that are no columns.
    edge_types : list of str or None
    structure : Structure
    """

    table: SymbolTable
    attributes: Any
    edge_types: list[str] | None
    structure: Structure


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
    structure : Structure
    """

    columns: Columns
    word: np.ndarray
    ids: np.ndarray
    spelling: np.ndarray
    attributes: Any
    edge_types: np.ndarray | None
    structure: Structure

    def take(self, units: np.ndarray) -> "Observations":
        """Take some of the units, by their numbers, in rising order."""
        offsets = self.structure.offsets
        tokens, types = joined_ranges(offsets[units], np.diff(offsets)[units]), self.edge_types
        if types is not None:
            is_taken = np.zeros(self.structure.n_tokens, dtype=bool)
            is_taken[tokens] = True
            types = types[is_taken[self.structure.links()[1]]]
        return self._replace(
            columns=self.columns.take(tokens),
            word=self.word[tokens],
            attributes=None if self.attributes is None else self.attributes[tokens],
            edge_types=types,
            structure=self.structure.take(units),
        )

    def links(self) -> Links | None:
        """Return the links of these tokens; None if they are from each token to the next one."""
        symbols = {} if self.edge_types is None else {EDGE_TYPE: self.edge_types}
        if self.structure.is_sequential() and not symbols:
            return None
        return Links(*self.structure.links(), self.structure.n_tokens, symbols)

    def window(self) -> ColumnWindow:
        """Return the symbols around these tokens."""
        return ColumnWindow(self.columns, None, self.structure.offsets, self.links())


class Plan(NamedTuple):
    """How data is counted; the same for all parts of a corpus.

    Parameters
    ----------
    tabulator : Tabulator
        With the bins of numeric columns.
    names : tuple of str
        The columns; the first one holds the words.
    n_attributes : int or None
        Number of columns of a sparse X.
    links : {"next", "children", "any"}
        How tokens are linked.
    has_types : bool
        Whether links have types.
    inputs : dict
        ``n_features_in_`` and ``feature_names_in_``, if X has them.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.counts import count
    >>> plan = count(HMM(), [["the", "dog"]], [["D", "N"]]).plan
    >>> plan.names, plan.links
    (('token',), 'next')
    """

    tabulator: Tabulator
    names: tuple[str, ...]
    n_attributes: int | None
    links: str
    has_types: bool
    inputs: dict[str, Any]

    def difference(self, other: "Plan") -> str | None:
        """What differs in another plan, for an error message; None if nothing does."""
        fields = ("names", "n_attributes", "links", "has_types")
        pairs = {field: (getattr(self, field), getattr(other, field)) for field in fields}
        for name in sorted(self.inputs.keys() | other.inputs.keys()):
            pairs[name] = self._plain(name), other._plain(name)
        for field, (mine, theirs) in pairs.items():
            if mine != theirs:
                return f"{field}, {mine} and {theirs}"
        if self.tabulator is other.tabulator or self.tabulator.agrees(other.tabulator):
            return None
        return "the bins of numeric columns"

    def without(self, columns: Collection[str]) -> "Plan":
        """Leave out some of the columns other than the words, and what only the first data had."""
        names = tuple(name for name in self.names if name not in columns)
        return self._replace(tabulator=self.tabulator.without(columns), names=names)

    def _plain(self, name: str) -> Any:
        """Return one of the inputs, arrays as lists."""
        value: Any = self.inputs.get(name)
        return value.tolist() if hasattr(value, "tolist") else value


class Encoder:
    """Turns tables of symbols into integers; :meth:`learn` gives ids to new symbols.

    Parameters
    ----------
    plan : Plan
    features : sequence of str
        Spelling features of the words, which become columns ``"word:feature"``.
    symbols : mapping from feature to list of str
        Symbols of a feature that are numbered first.
    """

    def __init__(self, plan: Plan, features: Sequence[str], symbols: Mapping[str, Sequence[str]]):
        self.names = plan.names
        self.n_attributes: Any = plan.n_attributes
        self.links = plan.links
        self.lexicon = Lexicon(features, symbols)
        # Of all but the words; types of links and a bag are columns too.
        others = [EDGE_TYPE] * plan.has_types + [BAG] * plan.tabulator.has_bag
        self._columns = (*self.names[1:], *others)
        self._vocabularies = {name: Vocabulary() for name in self._columns}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_vocabularies": list(self._vocabularies.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with setting_state(type(self).__name__):
            vars(self).update(state)
            self._vocabularies = dict(zip(self._columns, state["_vocabularies"], strict=True))

    def __sizeof__(self) -> int:
        """Bytes of all vocabularies and of the spelling of the words."""
        vocabularies = [*self.lexicon.vocabularies, *self._vocabularies.values()]
        sizes = sum(map(getsizeof, vocabularies))
        return object.__sizeof__(self) + sizes + self.lexicon.spelling.nbytes

    @property
    def own_columns(self) -> tuple[str, ...]:
        """All columns but those of spelling features, also of types of links and of a bag."""
        return self.names[0], *self._columns

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        word = self.names[0]
        return *self.own_columns, *(f"{word}:{feature}" for feature in self.lexicon.features)

    @property
    def edge_types(self) -> Vocabulary | None:
        """The types of links; None if they have no types."""
        return self._vocabularies.get(EDGE_TYPE)

    @property
    def bag(self) -> Vocabulary | None:
        """The attributes in a bag; None if there is no bag."""
        return self._vocabularies.get(BAG)

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

    def learn(self, tokens: Tokens) -> Observations:
        """Encode tokens and links, and give ids to new symbols; new columns are an error."""
        known = {self.names[0], *self._columns}
        if new := [name for name in tokens.table.names if name not in known]:
            raise ValueError(f"X has columns {new}, but the first data had {self.names}")
        return self._encode(tokens, _learn_words, Vocabulary.add, _in_order)

    def encode(self, tokens: Tokens) -> Observations:
        """Encode tokens and links; unknown symbols have the id UNKNOWN."""
        return self._encode(tokens, Lexicon.lookup, _lookup, _with_absent)

    def copy(self) -> "Encoder":
        """Copy all ids; either copy can then learn more without the other."""
        twin = copy(self)
        twin.lexicon = self.lexicon.copy()
        twin._vocabularies = {name: known.copy() for name, known in self._vocabularies.items()}
        return twin

    def needed_for(self, templates: Iterable[Template]) -> "Encoder":
        """Leave out spelling features that no template has, before anything is learned."""
        columns, lexicon = {c for t in templates for c, _ in t.symbols}, self.lexicon
        features = [f for f in lexicon.features if f"{self.names[0]}:{f}" in columns]
        twin = self.copy()
        twin.lexicon = Lexicon(features, {f: lexicon.vocabulary(f).symbols for f in features})
        return twin

    def add_all(self, other: "Encoder") -> dict[str, np.ndarray]:
        """Give the next ids to new symbols of another encoder of the same columns.

        The other one may have fewer spelling features.

        Returns
        -------
        dict of ndarray of int32
            For each column the new id of each id in the other encoder.
        """
        word = self.names[0]
        renumbered = {
            name: vocabulary.add(other._vocabularies[name].symbols)
            for name, vocabulary in self._vocabularies.items()
        }
        renumbered[word], spellings = self.lexicon.add_all(other.lexicon)
        return renumbered | {f"{word}:{feature}": ids for feature, ids in spellings.items()}

    def take(self, ids: Mapping[str, np.ndarray]) -> tuple["Encoder", dict[str, np.ndarray]]:
        """Take some of the symbols of each column, in a given order.

        Parameters
        ----------
        ids : mapping from column to ndarray of int
            All spelling features of the words that are taken must be among them.

        Returns
        -------
        encoder : Encoder
        symbols : dict of ndarray of int32
            For each column the new id of each id here, -1 of those left out.
        """
        word, twin = self.names[0], copy(self)
        features = [f"{word}:{feature}" for feature in self.lexicon.features]
        twin.lexicon, new = self.lexicon.take(ids[word], [ids[feature] for feature in features])
        symbols = dict(zip([word, *features], new, strict=True))
        twin._vocabularies = {}
        for name, vocabulary in self._vocabularies.items():
            twin._vocabularies[name], symbols[name] = vocabulary.take(ids[name])
        return twin, symbols

    def following(self, plan: Plan) -> "Encoder":
        """Leave out the columns that a plan leaves out."""
        twin = copy(self)
        twin.names = plan.names
        twin._columns = tuple(
            name for name in self._columns if name in plan.names or name not in self.names
        )
        twin._vocabularies = {name: self._vocabularies[name] for name in twin._columns}
        return twin

    def vocabulary(self, column: str) -> Vocabulary:
        """Return the symbols of a column and their ids."""
        if column == self.names[0]:
            return self.lexicon.words
        if column in self._vocabularies:
            return self._vocabularies[column]
        return self.lexicon.vocabulary(column.removeprefix(f"{self.names[0]}:"))

    def symbols(self, column: str) -> list[str]:
        """Return the symbols of a column, in the order of their ids."""
        return self.vocabulary(column).symbols

    def sizes(self, template: Template) -> list[int]:
        """Count the symbols of each column that a template names, or the codes of links."""
        if template == ATTRIBUTES:
            return [self.n_weighted]
        if template == TRIANGLES:
            return [2 * (1 + len(self.edge_types or ()))] * 3
        return [len(self.vocabulary(column)) for column, _ in template.symbols]

    def indexed(
        self, name: str, indexes: Iterable[tuple[Template, KeyIndex]]
    ) -> Iterator[Requirement]:
        """Yield the requirements of indexes of the symbols of templates."""
        for i, (template, index) in enumerate(indexes):
            yield from below(f"{name}[{i}]", index.requirements(self.sizes(template)))

    def requirements(self, n_columns: Any) -> Iterator[Requirement]:
        """Yield the requirements; ``n_columns`` is the number of columns of X, if X has columns."""
        names, known = (*self.names, *self._columns), self._vocabularies
        yield Fact("names", all(isinstance(n, str) for n in names), "must be strings")
        has_all = isinstance(known, dict) and (*known,)[: len(self.names) - 1] == self.names[1:]
        yield Fact("_vocabularies", has_all, "must have one for each column but the words")
        are_known = all(isinstance(vocabulary, Vocabulary) for vocabulary in known.values())
        yield Fact("_vocabularies", are_known, "must be Vocabularies")
        n = self.n_attributes
        are_columns = n is None or (isinstance(n, Integral) and 0 <= int(n) == n_columns)
        yield Fact("n_attributes", are_columns, f"must be the number of columns, {n_columns}")
        yield Fact("links", self.links in KINDS_OF_LINKS, f"must be one of {KINDS_OF_LINKS}")
        yield from below("lexicon", self.lexicon.requirements())

    def _encode(self, tokens, encode_words, encode_symbols, read) -> Observations:
        words, (table, attributes, edge_types, structure) = self.names[0], tokens
        if words not in table:
            raise ValueError(
                f"X has no column {words!r}, which holds the words, but {list(table.names)}"
            )
        if (edge_types is None) != (self.edge_types is None):
            has, had = ("types", "none") if self.edge_types is None else ("no types", "types")
            raise ValueError(f"X: the edges have {has}, but the edges of the first data had {had}")
        word, symbols = read(table, words)
        ids, spelling = encode_words(self.lexicon, symbols)
        stored = {words: ids[word]}
        for name in self.names[1:]:
            codes, symbols = read(table, name)
            stored[name] = encode_symbols(self._vocabularies[name], symbols)[codes]
        features = [f"{words}:{feature}" for feature in self.lexicon.features]
        columns = Columns(stored, word, spelling, features)
        if self.bag is not None:
            attributes = _numbered(attributes, encode_symbols(self.bag, attributes.names), self.bag)
        types = None if edge_types is None else encode_symbols(self.edge_types, edge_types)
        return Observations(columns, word, ids, spelling, attributes, types, structure)


def _learn_words(lexicon: Lexicon, words: list) -> tuple[np.ndarray, np.ndarray]:
    ids = lexicon.add(words)
    return ids, lexicon.spelling[ids]


def _lookup(vocabulary: Vocabulary, symbols: Sequence[str]) -> np.ndarray:
    return mark_unknown(vocabulary.lookup(symbols))


def _numbered(given: Bag, ids: np.ndarray, known: Vocabulary) -> sp.csr_array:
    """Give attributes of a bag the ids of a vocabulary, and leave out unknown ones."""
    columns, starts = ids[given.matrix.indices], given.matrix.indptr
    kept = columns >= 0
    ends = np.append(0, np.cumsum(kept))[starts]
    shape = len(starts) - 1, len(known)
    return sp.csr_array((given.matrix.data[kept], columns[kept], ends), shape=shape)


def _in_order(table: SymbolTable, name: str) -> tuple[np.ndarray, list]:
    """Read codes and symbols of a column, in the order of their first occurrence.

    So the ids that are given to new symbols do not depend on how data is cut into parts.
    """
    codes, symbols = _with_absent(table, name)
    largest = np.maximum.accumulate(codes)
    are_in_order = largest[:1].sum() == 0 and (largest[1:] <= largest[:-1] + 1).all()
    if are_in_order and len(codes) and largest[-1] == len(symbols) - 1:
        return np.ascontiguousarray(codes), symbols
    ids, first = number_keys(codes.astype(np.int64))
    return ids, [symbols[code] for code in codes[first].tolist()]


def _with_absent(table: SymbolTable, name: str) -> tuple[np.ndarray, list]:
    """Read codes and symbols of a column, where a missing symbol is the empty string."""
    if name not in table:
        return np.zeros(len(table), dtype=np.int32), [""]
    j = table.place(name)
    codes, symbols = table.codes[:, j], table.categories[j].tolist()
    if len(codes) and codes.min() < 0:
        symbols = symbols if "" in symbols else [*symbols, ""]
        codes = np.where(codes < 0, symbols.index(""), codes)
    return codes, symbols
