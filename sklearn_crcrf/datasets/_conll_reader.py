"""Reading text in columns: one token per line, a blank line between sequences."""

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import IO

import numpy as np

from ..utils.names import check_no_string, default_columns
from ..utils.unpacking import MAX_BYTES, read_text

__all__ = [
    "as_tokens",
    "check_separator",
    "check_widths",
    "cut",
    "read_conll",
    "sequence_bounds",
    "split_lines",
]


def read_conll(
    path_or_file: str | os.PathLike | IO,
    columns: Sequence[str | None] | None = None,
    *,
    sep: str | None = None,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> tuple[list, list | None]:
    r"""Read a CoNLL-style file: one token per line, a blank line between sequences.

    Every line that is not blank becomes a token, comments and ``-DOCSTART-`` lines too. Only
    ``\n`` and ``\r\n`` end a line, and only tabs and blanks are white space, so that a token may
    hold a no-break space or any other character.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Text or bytes; bytes may be gzip-compressed.
    columns : sequence of str or None, optional
        A name for each column of the file; None leaves a column out. The column called "label"
        becomes y; without one there are no labels. By default the first column is "word" and,
        where there are several, the last is "label".
    sep : str of length 1, optional
        Separator of the columns. By default any run of tabs and blanks.
    encoding : str, default="utf-8"
        Encoding of bytes. A byte order mark is left out.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, or None for no limit: a small compressed
        file can become huge. For a text file object, characters are counted.

    Returns
    -------
    X : list of lists
        The tokens of each sequence: strings if there is one column besides the label, else
        dicts ``{name: string}``.
    y : list of lists of str, or None
        The labels of each sequence, or None if no column is called "label".

    Raises
    ------
    ValueError
        If a line does not have the number of columns of the first line or of ``columns``, or
        cannot be unpacked or decoded; the message names the line. If there are more than
        ``max_bytes``.

    See Also
    --------
    write_conll : The inverse.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.datasets import read_conll
    >>> X, y = read_conll(io.StringIO("The D\ndog N\n\nBark V\n"))
    >>> X, y
    ([['The', 'dog'], ['Bark']], [['D', 'N'], ['V']])

    Text to be labelled has no label column:

    >>> read_conll(io.StringIO("Good\nmorning\n"), columns=["word"])
    ([['Good', 'morning']], None)
    """
    check_separator(sep)
    lines, sep = split_lines(
        read_text(path_or_file, encoding, max_bytes).removeprefix("\ufeff"), sep
    )
    tokens = [line for line in lines if line]
    width = tokens[0].count(sep) + 1 if tokens else 2
    names = default_columns(width) if columns is None else _checked_columns(columns)
    check_widths(lines, sep, len(names))

    fields = sep.join(tokens).split(sep) if tokens else []
    table = {name: fields[j :: len(names)] for j, name in enumerate(names) if name is not None}
    labels = table.pop("label", None)
    bounds = sequence_bounds(lines)
    return cut(as_tokens(table), bounds), None if labels is None else cut(labels, bounds)


def check_separator(sep: str | None) -> None:
    """Raise ValueError unless ``sep`` can separate columns."""
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in "\r\n"):
        raise ValueError(f"sep must be None or one character other than a line end, got {sep!r}")


def split_lines(text: str, sep: str | None) -> tuple[list[str], str]:
    """The lines, blank ones as empty strings, and the one character between their columns."""
    text = text.replace("\r\n", "\n")
    if sep is not None:
        return [line if line.strip(" \t") else "" for line in text.split("\n")], sep
    text = text.replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return [line.strip(" ") for line in text.split("\n")], " "


def _checked_columns(columns: Sequence[str | None]) -> list[str | None]:
    check_no_string(columns, "columns")
    columns = list(columns)
    names = [name for name in columns if name is not None]
    if len(set(names)) < len(names):
        raise ValueError(f"the names in columns must differ, got {columns}")
    if not set(names) - {"label"}:
        raise ValueError(f"columns must name at least one column besides 'label', got {columns}")
    return columns


def check_widths(lines: list[str], sep: str, width: int) -> None:
    """Raise ValueError unless all lines that are not blank have this number of columns."""
    if {line.count(sep) + 1 for line in lines if line} <= {width}:
        return
    for number, line in enumerate(lines, start=1):
        found = line.count(sep) + 1
        if line and found != width:
            raise ValueError(f"line {number} has {found} columns, expected {width}: {line[:80]!r}")


def as_tokens(table: dict[str, list[str]]) -> list:
    """The tokens of a table: strings from a single column, else dicts."""
    if len(table) == 1:
        return next(iter(table.values()))
    names = tuple(table)
    return [dict(zip(names, row, strict=True)) for row in zip(*table.values(), strict=True)]


def sequence_bounds(lines: list[str]) -> list[int]:
    """Where each sequence begins and ends among the lines that are not blank."""
    filled = np.fromiter(map(bool, lines), dtype=bool, count=len(lines))
    edges = np.flatnonzero(np.diff(filled, prepend=False, append=False))
    return np.cumsum(np.append(0, edges[1::2] - edges[::2])).tolist()


def cut(flat: list, bounds: list[int]) -> list[list]:
    """The items between each bound and the next."""
    return [flat[a:b] for a, b in pairwise(bounds)]
