"""Reading text in columns: one token per line, a blank line between sequences."""

import os
from collections.abc import Sequence
from typing import IO

from ..utils.lines import lines_of
from ..utils.unpacking import MAX_BYTES, read_text
from .columns import SPACES, TABS, Reading, check_separator, checked_columns, prefixes


def read_conll(
    path_or_file: str | os.PathLike | IO,
    columns: Sequence[str | None] | None = None,
    *,
    sep: str | None = None,
    comment: str | Sequence[str] | None = None,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> tuple[list, list | None]:
    r"""Read a CoNLL-style file: one token per line, a blank line between sequences.

    Every line that is not blank becomes a token, ``-DOCSTART-`` and comments too unless ``comment``
    leaves them out. Only ``\n``, ``\r\n`` and ``\r`` end a line, and only tabs and spaces are white
    space, so that a token may hold a no-break space or any other character.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Text or bytes; bytes may be gzip-compressed.
    columns : sequence of str or None, optional
        A name for each column of the file; None leaves a column out. The column called "label"
        becomes y; without one there are no labels. By default the first column is "word" and,
        where there are several, the last is "label".
    sep : {"tab", "space"} or str of length 1, optional
        Separator of the columns: ``"space"`` is any run of spaces and tabs; ``"tab"`` are tabs, so
        that words may hold spaces, and spaces around a column are left out; a character is taken
        as it is. By default ``"tab"`` if there is a tab in every line, else ``"space"``.
    comment : str or sequence of str, optional
        Lines that begin with it, or with one of these, are left out, such as ``"#"`` or
        ``"-DOCSTART-"``.
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
        If a line does not have the number of columns of the first line or of ``columns``, has no
        label between its tabs, or cannot be unpacked or decoded; the message names the line. If
        there are more than ``max_bytes``.

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
    check_separator(sep, (TABS, SPACES))
    reading = Reading(sep, prefixes(comment))
    rows = reading.rows(lines_of(read_text(path_or_file, encoding, max_bytes)))
    return rows.sequences(checked_columns(columns, rows.width))
