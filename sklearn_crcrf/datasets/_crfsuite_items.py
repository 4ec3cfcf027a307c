"""Reading the data files of CRFsuite."""

import os
import re
from itertools import groupby
from math import isfinite
from typing import IO

from ..utils.lines import lines_of
from ..utils.unpacking import MAX_BYTES, read_text

# A name, in which colons are written ``\:``, and perhaps a value.
_ITEM = re.compile(r"((?:\\.|[^:\\])*)(?::(.*))?", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def read_crfsuite_items(
    path_or_file: str | os.PathLike | IO,
    *,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> tuple[list[list[dict[str, float]]], list[list[str]]]:
    r"""Read sequences and labels from a data file of CRFsuite.

    Each line is a token: its label, and its attributes after tabs. An attribute is a name, or a
    name, a colon and its value; in names, ``\:`` stands for a colon and ``\\`` for a backslash. A
    blank line, which may hold spaces, ends a sequence.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Bytes may be gzip-compressed.
    encoding : str, default="utf-8"
        Encoding of bytes. A byte order mark is left out.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file; None for no limit.

    Returns
    -------
    X : list of lists of dicts
        The values of the attributes of each token; an attribute without a value has 1.0. Values
        of an attribute that occurs several times are added.
    y : list of lists of str

    Raises
    ------
    ValueError
        If a line has no label, or a space but no tab, or a value is not a finite number; the
        message names the line.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.datasets import read_crfsuite_items
    >>> read_crfsuite_items(io.StringIO("D\tw=the\nN\tw=dog\tn:0.5\n\nV\tw=sleep\n"))
    ([[{'w=the': 1.0}, {'w=dog': 1.0, 'n': 0.5}], [{'w=sleep': 1.0}]], [['D', 'N'], ['V']])
    """
    lines = lines_of(read_text(path_or_file, encoding, max_bytes))
    by_sequence = groupby(enumerate(lines, start=1), key=lambda line: bool(line[1]))
    read = [[_token(*line) for line in group] for is_filled, group in by_sequence if is_filled]
    X = [[token for _, token in tokens] for tokens in read]
    return X, [[label for label, _ in tokens] for tokens in read]


def _token(number: int, line: str) -> tuple[str, dict[str, float]]:
    """Read the label and the attributes of a token from its line."""
    label, *items = line.split("\t")
    label = label.strip(" ")
    if not label:
        raise ValueError(f"line {number} has no label: {line[:80]!r}")
    if " " in label and not any(items):
        raise ValueError(
            f"line {number} has no tab: {line[:80]!r}; tabs, not spaces, separate the label "
            "and the attributes"
        )
    token: dict[str, float] = {}
    for item in filter(None, items):
        found = _ITEM.fullmatch(item)
        try:
            if found is None:
                raise ValueError
            value = 1.0 if found[2] is None else float(found[2])
            if not isfinite(value):
                raise ValueError
        except ValueError:
            raise ValueError(f"line {number}: not an attribute: {item[:80]!r}") from None
        name = _ESCAPED.sub(r"\1", found[1])
        token[name] = token.get(name, 0.0) + value
    return label, token
