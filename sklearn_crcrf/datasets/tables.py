"""Tables with a header: which column is what, and which rows are a sequence."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..utils.lines import long_fields
from ..utils.warning import warn_caller

CHARACTERS = ",;\t|"
WORDS = {"word", "words", "token", "tokens", "form"}
_LABELS = {"tag", "tags", "label", "labels", "ner", "ner tag", "ner tags", "entity", "iob", "bio"}
_SENTENCES = {
    "sentence",
    "sent",
    "sentence id",
    "sentence idx",
    "sentence number",
    "sent id",
    "sid",
}
_DOCUMENTS = {"document", "doc", "doc id", "document id", "file", "filename", "file name"}
_POSITIONS = {"position", "token id", "token idx", "token number", "word id", "word number"}


class Table(NamedTuple):
    """The rows of a table that are tokens.

    Parameters
    ----------
    names : list of str or None
        The names of the columns; None for those that hold no attribute, and "label".
    rows : list of lists of str
    numbers : list of int
        The line of each row.
    bounds : list of int
        Where each sequence begins and ends among the rows.
    documents : list of str, or None
        The document of each sequence, if there is a column of them.
    """

    names: list[str | None]
    rows: list[list[str]]
    numbers: list[int]
    bounds: list[int]
    documents: list[str] | None


def header_of(line: str, characters: str = CHARACTERS) -> str | None:
    """Return what separates the columns of a header; None for another line.

    A header names the words, and also the labels, the sentences or the documents.

    Raises
    ------
    ValueError
        If it names sentences and labels, but no words.
    """
    for character in characters:
        kinds = {_kind(name) for name in _fields([line], character)[0][1]}
        if "word" in kinds and kinds & {"label", "sentence", "document"}:
            return character
        if kinds >= {"label", "sentence"}:
            raise ValueError(f"line 1: no column is called 'Word', only {line.strip()[:80]!r}")
    return None


def likely_separator(lines: Sequence[str], most: int = 20) -> str | None:
    """Return the character that cuts the first lines into the same number of columns, if any."""
    for character in CHARACTERS if lines else "":
        widths = {len(row) for _, row in _fields(lines[:most], character)}
        if len(widths) == 1 and widths != {1}:
            return character
    return None


def _kind(name: str) -> str | None:
    """Say what a column is by its name."""
    plain = re.sub(r"[\s_.-]+", " ", name.strip().lower().replace("#", " number")).strip()
    kinds = {"word": WORDS, "label": _LABELS, "sentence": _SENTENCES}
    kinds |= {"document": _DOCUMENTS, "position": _POSITIONS}
    return next((kind for kind, names in kinds.items() if plain in names), None)


def _fields(lines: Sequence[str], character: str) -> list[tuple[int, list[str]]]:
    """Split lines, in which fields of other tables than those of tabs may be quoted."""
    quoting: Any = csv.QUOTE_NONE if character == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=character, quoting=quoting)
    try:
        with long_fields():
            return [(reader.line_num, [field.strip(" ") for field in row]) for row in reader]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error


def table_of(lines: Sequence[str | None], character: str) -> Table:
    """Read a table, whose first line that is not blank is the header.

    Parameters
    ----------
    lines : sequence of str or None
        None for a line that is left out.
    character : str
        Separates columns.

    Raises
    ------
    ValueError
        If a row does not have the columns of the header, a sentence begins twice, or positions
        are no numbers or repeated; the message names the line.
    """
    split = _fields([line or "" for line in lines], character)
    for number, (end, _) in enumerate(split, start=1):
        if end != number:
            raise ValueError(f"line {number}: a field has a line end; is a quotation mark missing?")
    (_, header), *rows = (row for row in split if any(row[1]))
    kinds = [_kind(name) for name in header]
    of_kind = {kind: kinds.index(kind) for kind in kinds if kind is not None}
    labels = [name for name, kind in zip(header, kinds, strict=True) if kind == "label"]
    if len(labels) > 1:
        warn_caller(
            f"the label is in the column {labels[0]!r}, and {', '.join(map(repr, labels[1:]))} is "
            "read as an attribute; leave that column out if it says the same"
        )
    needed = [of_kind[kind] for kind in ("word", "label") if kind in of_kind]
    for number, row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"line {number} has {len(row)} columns, expected {len(header)}, "
                f"{', '.join(header)}: {character.join(row)[:80]!r}"
            )
        for column in needed:
            if not row[column]:
                raise ValueError(
                    f"line {number} has nothing in the column {header[column]!r}: "
                    f"{character.join(row)[:80]!r}"
                )
    documents = _filled(rows, of_kind.get("document"))
    if "sentence" in of_kind:
        starts = list(_starts(rows, of_kind["sentence"], documents))
    else:
        blank = [n for n, row in split if not any(row) and lines[n - 1] is not None]
        before = np.searchsorted(blank, [number for number, _ in rows])
        starts = np.flatnonzero(np.diff(before, prepend=-1)).tolist()
        changes = (i for i, (a, b) in enumerate(pairwise(documents or []), start=1) if a != b)
        starts = sorted({*starts, *changes})
    bounds = [*starts, len(rows)] if rows else [0]
    if "position" in of_kind:
        rows = _ordered(rows, bounds, of_kind["position"])
    left_out = ("sentence", "document", "position")
    names = [
        None if kind in left_out or not name or name.startswith("Unnamed:") else name
        for name, kind in zip(header, kinds, strict=True)
    ]
    if "label" in of_kind:
        names[of_kind["label"]] = "label"
    of_sequences = None if documents is None else [documents[i] for i in starts]
    numbers, fields = [number for number, _ in rows], [row for _, row in rows]
    return Table(names, fields, numbers, bounds, of_sequences)


def _filled(rows: list[tuple[int, list[str]]], column: int | None) -> list[str] | None:
    """Return the values of a column, the one above in place of an empty one."""
    if column is None:
        return None
    values: list[str] = []
    for _, row in rows:
        values.append(row[column] or (values[-1] if values else ""))
    return values


def _starts(
    rows: list[tuple[int, list[str]]], column: int, documents: list[str] | None
) -> Iterator[int]:
    """Yield where sentences begin: at each cell that is filled, or, if all are, that is another."""
    of_rows = documents or [""] * len(rows)
    keys = [(document, row[column]) for document, (_, row) in zip(of_rows, rows, strict=True)]
    are_sparse = any(not cell for _, cell in keys)
    begun: dict[tuple[str, str], int] = {}
    for i, (number, _) in enumerate(rows):
        (document, cell), above = keys[i], keys[i - 1] if i else ("", None)
        if above[1] is None and not cell:
            raise ValueError(f"line {number} has no sentence, and is the first")
        if (not cell and document == above[0]) or (not are_sparse and keys[i] == above):
            continue
        if are_sparse and cell and keys[i] == above:
            raise ValueError(
                f"line {number}: the sentence {cell!r} is that of the line before; but elsewhere "
                "the cell is empty for all but the first word of a sentence"
            )
        if not are_sparse and keys[i] in begun:
            raise ValueError(
                f"line {number}: the sentence {cell!r} began in line {begun[keys[i]]}, and others "
                "came between: number the sentences of all documents one after another, or add a "
                "column 'document'"
            )
        begun[keys[i]] = number
        yield i


def _ordered(rows: list, bounds: list[int], column: int) -> list:
    """Return the rows of each sequence in the order of their positions, as numbers."""
    ordered = []
    for a, b in pairwise(bounds):
        places: dict[float, tuple[int, list[str]]] = {}
        for number, row in rows[a:b]:
            try:
                place = float(row[column])
            except ValueError:
                raise ValueError(
                    f"line {number}: the position {row[column]!r} is no number"
                ) from None
            if place in places:
                raise ValueError(
                    f"line {number}: the position {row[column]!r} is also in line "
                    f"{places[place][0]}, which is of the same sentence"
                )
            places[place] = number, row
        ordered += [places[place] for place in sorted(places)]
    return ordered
