"""Attributes from templates of CRF++ and Wapiti."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..data.symbols import SymbolTable, table_of
from ..data.vocabulary import JoinedStrings, Vocabulary
from ..utils.byte_letters import as_letters, bytes_of, text_of
from ._base import SymbolTransformer
from ._neighbours import Column, Neighbours, combine
from ._regexp import find
from .template_syntax import SYNTAXES, FeatureTemplate, Macro, Syntax, parse_templates


@dataclass(eq=False, repr=False)
class TemplateFeatures(SymbolTransformer):
    r"""Make the attributes that a template of CRF++ or a pattern file of Wapiti describes.

    Each template becomes a column of symbols. Its name is the text before the first ``%``, without
    a final colon or equals sign: ``U01:%x[0,0]/%x[1,0]`` makes a column ``"U01"`` with symbols
    like ``"the/dog"``, and attributes like ``"U01=the/dog"``. As in these programs, templates with
    the same text before the first ``%`` share attributes.

    Parameters
    ----------
    template : str
        The text of the template, not the name of a file.
    syntax : {"crf++", "wapiti", "wapiti-bytes"}, default="crf++"
        The language of the template, see Notes.

    Attributes
    ----------
    edge_columns : list of str
        The columns on which transitions depend, for the parameter ``edge_columns`` of
        :class:`~sklearn_crcrf.CRF`.
    feature_names_in_ : ndarray of str objects
        Names of the columns seen in fit, in the order of the column numbers of the template;
        token strings are one column ``"token"``.

    Raises
    ------
    ValueError
        If the template is invalid, or X lacks a column; the message names the line and the column
        of the template.

    See Also
    --------
    Window : Columns of neighbouring tokens, from templates with names of columns.
    SequenceVectorizer : From columns of symbols to a sparse matrix.

    Notes
    -----
    In both languages a line ``U...`` describes attributes of a token, and ``B...`` attributes on
    which the transition into a token depends; see ``edge_columns``. In estimators whose
    transitions depend on attributes, attributes of ``B...`` have no weights for single labels.
    ``%x[offset,column]`` is replaced by the symbol ``offset`` tokens to the right (negative: to the
    left) in a column; the first column has number 0. A line ``B...`` without ``%``, such as ``B``
    or ``B0``, means the transitions, which every estimator has anyway, and makes no column.

    CRF++: the symbols outside the sequence are ``_B-1``, ``_B-2``, ... and ``_B+1``, ``_B+2``,
    ...; a line that begins with ``#`` is a comment.

    Wapiti: ``u``, ``b``, or ``*`` for both kinds. ``%t[offset,column,"regexp"]`` is ``true`` or
    ``false``, and ``%m[offset,column,"regexp"]`` the first part of the symbol that matches. The
    results of ``%X`` and ``%M`` are in lower case. An offset ``@1`` is the first token, ``@-1`` the
    last. The symbols outside the sequence are ``_x-1`` to ``_x-4``, then ``_x-#``, and ``_x+1`` to
    ``_x+4``, then ``_x+#``. Text after ``#`` is a comment. Regular expressions have ``.``, ``*``,
    ``?``, ``^``, ``$``, and classes: ``\a`` letters, ``\d`` digits, ``\l`` lower case, ``\u`` upper
    case, ``\p`` punctuation, ``\s`` space, ``\w`` letters and digits, and the same in upper case
    for all other characters. They are matched in linear time. Characters are Unicode code points;
    with ``syntax="wapiti-bytes"`` they are bytes in UTF-8, as in Wapiti, of which only ASCII has
    classes and lower case.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import TemplateFeatures
    >>> template = '''
    ... # Unigram
    ... U00:%x[-1,0]
    ... U01:%x[0,0]/%x[1,0]
    ... '''
    >>> X = TemplateFeatures(template).transform([["the", "dog", "sleeps"]])
    >>> for name in X.data.names:
    ...     print(name, X.data.column(name).tolist())
    U00 ['_B-1', 'the', 'dog']
    U01 ['the/dog', 'dog/sleeps', 'sleeps/_B+1']

    The last two letters, and whether a word is capitalised:

    >>> template = r'''
    ... u:end=%M[0,0,".?.?$"]
    ... u:cap=%t[0,0,"^\u"]
    ... '''
    >>> X = TemplateFeatures(template, syntax="wapiti").transform([["The", "dog"]])
    >>> X.data.column("u:end").tolist(), X.data.column("u:cap").tolist()
    (['he', 'og'], ['true', 'false'])
    """

    template: str
    syntax: str = "crf++"

    @property
    def edge_columns(self) -> list[str]:
        """The columns on which transitions depend."""
        keys = [t.key for t in self._templates() if t.kind != "u" and t.macros]
        return list(dict.fromkeys(keys))

    def _templates(self) -> list[FeatureTemplate]:
        """Return the templates, except those that make no column."""
        if not isinstance(self.syntax, str) or self.syntax not in SYNTAXES:
            raise ValueError(f"syntax must be one of {[*SYNTAXES]}, got {self.syntax!r}")
        if not isinstance(self.template, str):
            raise ValueError(
                f"template must be a str, but is of type {type(self.template).__name__}"
            )
        try:
            templates = parse_templates(self.template, self.syntax)
        except ValueError as error:
            if "%" in self.template:
                raise
            raise ValueError(
                f"{error}; template is the text of a template, not the name of its file"
            ) from None
        return [t for t in templates if t.kind != "b" or t.macros]

    def _needed_columns(self) -> Collection[str]:
        return getattr(self, "feature_names_in_", ())  # templates name columns by their number

    def _names_out(self, names: tuple[str, ...]) -> list[str]:
        templates = self._templates()
        for macro in (macro for template in templates for macro in template.macros):
            if macro.column >= len(names):
                raise ValueError(
                    f"{macro.where}: X has no column number {macro.column}; "
                    f"its columns are {[*names]}"
                )
        seen: dict[str, int] = {}
        made = []
        for template in templates:
            seen[template.key] = n = seen.get(template.key, 0) + 1
            made.append(template.key if n == 1 else f"{template.key}#{n}")
        return made

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        numbered = tuple(getattr(self, "feature_names_in_", table.names))
        names = self._names_out(numbered)
        missing = [name for name in numbered if name not in table]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}, which it had in fit")
        order = [table.place(name) for name in numbered]
        expansion = Expansion(table, order, lengths, SYNTAXES[self.syntax])
        templates = self._templates()
        return table_of(
            map(expansion.column, templates),
            len(table),
            names,
            keys=[template.key for template in templates],
            edges=[name for name, of in zip(names, templates, strict=True) if of.kind == "b"],
        )


class Expansion:
    """Makes the columns of symbols of templates from one table."""

    def __init__(self, table: SymbolTable, order: list[int], lengths: np.ndarray, syntax: Syntax):
        self.neighbours = Neighbours(lengths)
        self.outside, self.of_bytes = syntax.outside, syntax.of_bytes
        self.n_tokens = len(table)
        self.columns = [Column(table.codes[:, j], table.categories[j].tolist()) for j in order]
        self.moved = lru_cache(maxsize=None)(self._moved)
        self.symbols = lru_cache(maxsize=None)(self._symbols)
        self.contains = lru_cache(maxsize=None)(self._contains)

    def column(self, template: FeatureTemplate) -> Column:
        """Return the column of a template; its symbols are all different."""
        macros = [macro._replace(where="") for macro in template.macros]
        if not macros:
            text = "".join(map(str, template.parts))
            column = Column(np.zeros(self.n_tokens, dtype=np.int32), [text])
        elif len(template.parts) == 1:
            column = self.symbols(macros[0])
        else:
            column = self.joined(template.parts, macros)
        if template.kind == "b":  # there is no transition into a first token
            column = column._replace(codes=column.codes.copy())
            column.codes[self.neighbours.first] = -1
        return column

    def joined(self, parts: Sequence[str | Macro], macros: list[Macro]) -> Column:
        """Return one column of the symbols of several macros, joined with the text around them."""
        columns = [self.symbols(macro) for macro in macros]
        codes, combinations = combine(columns)
        inserted = zip([column.symbols for column in columns], combinations, strict=True)
        text_code = np.zeros(combinations.shape[1], dtype=np.int32)
        joined = [next(inserted) if isinstance(p, Macro) else ([p], text_code) for p in parts]
        symbols = JoinedStrings([texts for texts, _ in joined], [code for _, code in joined])
        column, doubtful = Column(codes, symbols), self.doubtful(parts, macros, combinations)
        if doubtful.all():
            return _unique(column)
        vocabulary = Vocabulary()
        n_doubtful = len(vocabulary.add(symbols[doubtful]))
        return column if len(vocabulary) == n_doubtful else _unique(column)

    def doubtful(
        self, parts: Sequence[str | Macro], macros: list[Macro], combinations: np.ndarray
    ) -> np.ndarray:
        """Say which combinations may give the same string, like "a/b", "c" and "a", "b/c"."""
        none = np.zeros(combinations.shape[1], dtype=bool)
        # No text has a %.
        between = "".join("%" if isinstance(p, Macro) else p for p in parts).split("%")[1:-1]
        if not all(between):
            return ~none
        flags = [
            self.contains(macro, character)[row]
            for macro, row in zip(macros, combinations, strict=True)
            for character in {*"".join(between)}
        ]
        return np.any([none, *flags], axis=0)

    def _contains(self, macro: Macro, character: str) -> np.ndarray:
        """Say which symbols contain a character."""
        return np.array([character in s for s in self.symbols(macro).symbols], dtype=bool)

    def _symbols(self, macro: Macro) -> Column:
        """Return the column of symbols that replace a macro."""
        column = self.moved(macro.column, macro.offset, macro.absolute)
        symbols = column.symbols
        of_bytes = self.of_bytes and (macro.lower or macro.regexp is not None)
        if of_bytes:
            symbols = [as_letters(symbol) for symbol in symbols]
        if macro.regexp is not None:
            start, stop = find(macro.regexp, symbols)
            if macro.command == "t":
                symbols = np.where(start < 0, "false", "true").tolist()
            else:
                places = zip(symbols, start.tolist(), stop.tolist(), strict=True)
                symbols = [symbol[a:b] if a >= 0 else "" for symbol, a, b in places]
        if macro.lower:
            symbols = [symbol.lower() for symbol in symbols]
        if of_bytes:
            symbols = [text_of(bytes_of(symbol)) for symbol in symbols]
        return _unique(Column(column.codes, symbols))

    def _moved(self, j: int, offset: int, absolute: bool) -> Column:
        if offset == 0 and not absolute:
            return self.columns[j]
        positions = self.neighbours.counted if absolute else self.neighbours.beside
        return self.neighbours.move(self.columns[j], positions(offset), self.outside)


def _unique(column: Column) -> Column:
    """Return the column with one code for each symbol."""
    vocabulary = Vocabulary()
    ids = vocabulary.add(column.symbols)
    if len(vocabulary) == len(ids):
        return column
    return Column(np.append(ids, np.int32(-1))[column.codes], vocabulary.symbols)
