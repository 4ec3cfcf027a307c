"""Lines of text in columns: which are tokens, and what separates their columns."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..utils.names import check_no_string
from ..utils.warning import warn_caller
from .tables import CHARACTERS, Table, header_of, table_of

TABS, SPACES = "tab", "space"
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
# The ids of a word, of a range of words that are written as one, and of an empty node.
_ID = re.compile(r"[0-9]+([-.][0-9]+)?\t")
_RANGE_OR_EMPTY = re.compile(r"[0-9]+[-.][0-9]+\t")
DOCUMENT = "-DOCSTART-"
NO_HEADER = "there is no header with a column such as 'Word', and 'Tag' or 'Sentence #'"
# Separates the fields of a table with a header, in which they may hold any other character.
_UNIT = "\x1f"
_NEW_DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=\s*(.*))?$")
_SEGMENT = re.compile("O|[BIESLUM]-.+")
_HASH = re.compile(r"#(?=[ \t]|$)")


class Rows(NamedTuple):
    """The lines of a text that are tokens.

    Parameters
    ----------
    lines : list of str or None
        All lines: blank ones are empty, and lines that are left out are None.
    tokens : list of str
        The other lines, their columns separated by ``character``.
    character : str
    sep : str
        TABS, SPACES, or the character.
    marks : list of (int, str or None)
        The lines, counted from 1, where documents begin, and what these are called, if anything.
    header : Table, optional
        What the header of a table says.
    """

    lines: list[str | None]
    tokens: list[str]
    character: str
    sep: str
    marks: Sequence[tuple[int, str | None]] = ()
    header: Table | None = None

    @property
    def width(self) -> int:
        """Number of columns of the first token; 2 if there are no tokens."""
        return self.tokens[0].count(self.character) + 1 if self.tokens else 2

    @property
    def bounds(self) -> list[int]:
        """Where each sequence begins and ends among the tokens."""
        if self.header is not None:
            return self.header.bounds
        filled = np.array([bool(line) for line in self.lines if line is not None], dtype=bool)
        edges = np.flatnonzero(np.diff(filled, prepend=False, append=False))
        return np.cumsum(np.append(0, edges[1::2] - edges[::2])).tolist()

    @property
    def documents(self) -> list[str] | None:
        """The document of each sequence; None if no line says where one begins."""
        if self.header is not None:
            return self.header.documents
        names = ["", *(name or str(i) for i, (_, name) in enumerate(self.marks))]
        return [names[i] for i in self.n_marks_before()] if self.marks else None

    def n_marks_before(self) -> list[int]:
        """Return how many documents have begun before each sequence."""
        first = np.array(self.numbers, dtype=int)[self.bounds[:-1]]
        return np.searchsorted([line for line, _ in self.marks], first).tolist()

    @property
    def separated_by(self) -> str:
        """What separates the columns, in words."""
        known = {TABS: "tabs", "\t": "tabs", SPACES: "spaces and tabs"}
        return known.get(self.sep, repr(self.sep))

    def number(self, token: int) -> int:
        """Return the number of the line of a token, counted from 1."""
        return self.numbers[token]

    @property
    def numbers(self) -> list[int]:
        """The numbers of the lines of all tokens, counted from 1."""
        if self.header is not None:
            return self.header.numbers
        return [i for i, line in enumerate(self.lines, start=1) if line]

    def has_width(self, widths: Iterable[int]) -> bool:
        """Say whether all tokens have the same number of columns, and it is one of these."""
        found = {token.count(self.character) + 1 for token in self.tokens}
        return len(found) <= 1 and found <= set(widths)

    def check_width(self, width: int) -> None:
        """Raise ValueError unless all tokens have this number of columns."""
        for i, token in enumerate(self.tokens):
            found = token.count(self.character) + 1
            if found != width:
                raise ValueError(
                    f"line {self.number(i)} has {found} columns, expected {width}: {token[:80]!r}"
                )

    def table(self, names: Sequence[str | None]) -> dict[str, list[str]]:
        """Return the columns that have a name.

        Raises
        ------
        ValueError
            If a line does not have this number of columns; the message names the line.
        """
        width, character = len(names), self.character
        self.check_width(width)
        text = character.join(self.tokens)
        fields = text.split(character) if self.tokens else []
        if self.sep == TABS and " " in text:
            fields = [field.strip(" ") or field for field in fields]
        table = {name: fields[j::width] for j, name in enumerate(names) if name is not None}
        # Each token needs a label and something in its first column.
        for name in {next(iter(table)), "label"} & set(table) if self.sep == TABS else ():
            if "" in table[name]:
                i = table[name].index("")
                raise ValueError(
                    f"line {self.number(i)} has nothing in the column {name!r}: "
                    f"{self.tokens[i][:80]!r}"
                )
        return table

    def sequences(self, names: Sequence[str | None]) -> tuple[list, list | None]:
        """Return the tokens of each sequence, and their labels if there is a column "label"."""
        table, bounds = self.table(names), self.bounds
        labels = table.pop("label", None)
        return cut(as_tokens(table), bounds), None if labels is None else cut(labels, bounds)


class Reading(NamedTuple):
    """How to find the lines of tokens of a text.

    Parameters
    ----------
    sep : str, optional
        TABS, SPACES or a character; by default TABS if all lines have one, else SPACES.
    comment : sequence of str, optional
        Lines that begin with one of these are left out. None leaves out lines that begin with the
        column ``#`` before the first token of a sequence, if one of them does not look like a
        token.
    conventions : bool, default=False
        Whether lines are left out that never are tokens: ``-DOCSTART-``, which ends a sequence,
        and the ranges of words and empty nodes of CoNLL-U; and whether the first line may be the
        header of a table.
    """

    sep: str | None = None
    comment: Sequence[str] | None = ()
    conventions: bool = False

    def rows(self, lines: Iterable[str]) -> Rows:
        """Split lines, as :func:`~sklearn_crcrf.utils.lines.lines_of` returns them, into rows."""
        lines = list(lines)
        kept: list[str | None] = [self._kept(line) for line in lines]
        character = self._header(kept)
        if character is not None:
            table = table_of(kept, character)
            return Rows(kept, list(map(_UNIT.join, table.rows)), _UNIT, character, (), table)
        sep = self.separator(filter(None, kept))
        if self.comment is None:
            kept = _without_headings(kept, sep)
        rows = _rows(kept, sep)
        if not self.conventions:
            return rows
        rows = rows._replace(marks=list(_marks(lines)))
        return words_of(rows) if is_conllu(rows) else rows

    def _header(self, lines: Iterable[str | None]) -> str | None:
        """Return what separates the columns of a table, if the first line is its header."""
        first = next(filter(None, lines), None) if self.conventions else None
        characters = (
            CHARACTERS if self.sep is None else {TABS: "\t", SPACES: ""}.get(self.sep, self.sep)
        )
        return None if first is None else header_of(first, characters)

    def separator(self, lines: Iterable[str]) -> str:
        """Find the separator of columns of these lines, which may be more than those that are read.

        Lines that begin with ``#`` need not have a tab, as they may be comments.
        """
        if self.sep is not None:
            return self.sep
        n_tabs = 0
        for i, line in enumerate(lines):
            if i == 0 and (character := self._header([line.strip("\r\n")])) is not None:
                return character
            if "\t" in line.rstrip(" \t\r\n").lstrip("\t"):
                n_tabs += 1
            elif not line.startswith("#") and self._kept(line.strip(" \t\r\n")):
                return SPACES
        return TABS if n_tabs else SPACES

    def _kept(self, line: str) -> str | None:
        """Return the line; None if it is left out, and empty if it ends a sequence."""
        if self.conventions and line.startswith(DOCUMENT) and line.split()[0] == DOCUMENT:
            return ""
        return None if self.comment and line.startswith(tuple(self.comment)) else line


def check_separator(sep: str | None, named: Sequence[str] = ()) -> None:
    """Raise ValueError unless ``sep`` can separate columns."""
    if sep is None or sep in named:
        return
    if not isinstance(sep, str) or len(sep) != 1 or sep in "\r\n":
        known = "".join(f"{name!r}, " for name in named)
        raise ValueError(
            f"sep must be None, {known}or one character other than a line end, got {sep!r}"
        )


def words_of(rows: Rows) -> Rows:
    """Return the rows of CoNLL-U without ranges of words and empty nodes."""
    lines = [None if line and _RANGE_OR_EMPTY.match(line) else line for line in rows.lines]
    return _rows(lines, rows.sep)._replace(marks=rows.marks)


def _marks(lines: Sequence[str]) -> Iterator[tuple[int, str | None]]:
    """Yield the lines where documents begin, and what these are called."""
    begun = ("#", DOCUMENT)
    for number, line in [it for it in enumerate(lines, start=1) if it[1].startswith(begun)]:
        if line.split()[0] == DOCUMENT:
            name = re.search(r"\((.+)\)", line)
        elif not (name := _NEW_DOCUMENT.match(line)):
            continue
        yield number, name and name[1]


def checked_columns(columns: Sequence[str | None] | None, width: int) -> list[str | None]:
    """Return the names of the columns, or raise ValueError.

    By default the first column has the word, and the last of several the label.
    """
    if columns is None:
        between = (f"column_{j}" for j in range(2, width))
        return ["word"] if width == 1 else ["word", *between, "label"]
    check_no_string(columns, "columns")
    columns = list(columns)
    names = [name for name in columns if name is not None]
    if len(set(names)) < len(names):
        raise ValueError(f"the names in columns must differ, got {columns}")
    if not set(names) - {"label"}:
        raise ValueError(f"columns must name at least one column besides 'label', got {columns}")
    return columns


def prefixes(comment: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the beginnings of lines that are comments."""
    found = (comment,) if isinstance(comment, str) else tuple(comment or ())
    if not all(isinstance(prefix, str) and prefix for prefix in found):
        raise ValueError(f"comment must be one or several strings, none empty, got {comment!r}")
    return found


def is_conllu(rows: Rows) -> bool:
    """Say whether this is text in the ten columns of CoNLL-U, of which the first has numbers."""
    return (
        rows.character == "\t"
        and bool(rows.tokens)
        and rows.width == len(CONLLU)
        and all(map(_ID.match, rows.tokens))
    )


def as_tokens(table: dict[str, list[str]]) -> list:
    """Return the tokens of a table: strings from a single column, else dicts."""
    if len(table) == 1:
        return next(iter(table.values()))
    names = tuple(table)
    return [dict(zip(names, row, strict=True)) for row in zip(*table.values(), strict=True)]


def cut(flat: list, bounds: list[int]) -> list[list]:
    """Return the items between each bound and the next."""
    return [flat[a:b] for a, b in pairwise(bounds)]


def _rows(lines: list[str | None], sep: str) -> Rows:
    tokens, character = [line for line in lines if line], sep
    if sep == SPACES:
        tokens, character = _by_spaces(tokens), " "
    elif sep == TABS:
        tokens, character = _by_tabs(tokens), "\t"
    return Rows(lines, tokens, character, sep)


def _by_spaces(tokens: list[str]) -> list[str]:
    """Return the lines with one space in place of each run of spaces and tabs."""
    text = "\n".join(tokens).replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return [line.strip(" ") for line in text.split("\n")] if tokens else []


def _by_tabs(tokens: list[str]) -> list[str]:
    """Return the lines with one tab in place of each run of tabs, unless this makes them less even.

    So columns may be aligned by tabs, and may also be empty.
    """
    text = "\n".join(tokens)
    if not re.search(r"\t[ \t]*\t|^\t|\t *$", text, re.MULTILINE):
        return tokens
    merged = re.sub(r"^\t+|\t[ \t]*$", "", re.sub(r"\t[ \t]*\t", "\t", text), flags=re.MULTILINE)

    def evenness(lines: list[str]) -> int:
        """Count the lines that have the most frequent number of columns."""
        return max(Counter(line.count("\t") for line in lines).values())

    return max(merged.split("\n"), tokens, key=evenness)


def _without_headings(lines: list[str | None], sep: str) -> list[str | None]:
    """Leave out lines that begin with the column ``#``, if they do not all look like tokens."""
    headings, at_start = [], True
    for i, line in enumerate(lines):
        if line is not None:
            at_start = not line or (at_start and _HASH.match(line) is not None)
            if at_start and line:
                headings.append(i)
    if not headings:
        return lines
    chosen = set(headings)
    others = [None if i in chosen else line for i, line in enumerate(lines)]
    like_tokens = _layouts(_rows(others, sep))
    widths = {width for width, _ in like_tokens}
    if not like_tokens or all(
        layout in like_tokens or (layout[0] in widths and _SEGMENT.fullmatch(layout[1]))
        for layout in _layouts(_rows([lines[i] for i in headings], sep))
    ):
        return lines
    first = lines[headings[0]]
    if not is_conllu(_rows(others, sep)):
        warn_caller(
            f"lines such as {first!r:.50} are left out as comments; on the command line, "
            "--comment '' keeps them"
        )
    return others


def known_layout(rows: Rows) -> list[str | None] | None:
    """Name the columns of a table with a header, of CoNLL-U, or of numbered words like GermEval's.

    None if nothing in the rows says what they are.
    """
    if rows.header is not None:
        return rows.header.names
    if is_conllu(rows):
        return [{1: "word", 3: "label"}.get(j) for j in range(rows.width)]
    if rows.width < 4 or not rows.tokens[0].startswith(f"1{rows.character}"):
        return None
    fields = [token.split(rows.character, 3) for token in rows.tokens]
    positions = (str(i + 1) for a, b in pairwise(rows.bounds) for i in range(b - a))
    are_numbered = all(
        len(row) == 4 and row[0] == position and _SEGMENT.fullmatch(row[2])
        for row, position in zip(fields, positions, strict=True)
    )
    return [None, "word", "label", *[None] * (rows.width - 3)] if are_numbered else None


def _layouts(rows: Rows) -> set[tuple[int, str]]:
    """Return the number of columns of each line, with the last column if there are several."""
    fields = [token.split(rows.character) for token in rows.tokens]
    return {(len(row), row[-1] if len(row) > 1 else "") for row in fields}
