"""The lines of a text, as all readers of text see them."""

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# Some programs write "\r\r\n", which is one end of a line.
_END = re.compile("\r*\n|\r")
_LIMIT = Lock()


def lines_of(text: str) -> list[str]:
    r"""Split a text into lines, without the byte order mark at its start.

    ``\n``, ``\r\n`` and ``\r`` end a line. No other character does, such as a form feed or a line
    separator. A line that holds nothing but spaces and tabs is blank, and returned as ``""``.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        If the text ends with a line end, the last one is ``""``.

    Examples
    --------
    >>> from sklearn_crcrf.utils.lines import lines_of
    >>> lines_of("\ufeffthe D\r\n \t\ndog\x0c N\n")
    ['the D', '', 'dog\x0c N', '']
    """
    return split_lines(text.removeprefix("\ufeff"))


def split_lines(text: str) -> list[str]:
    """Split a text that is not the start of its file, like :func:`lines_of`."""
    lines = _END.split(text) if "\r" in text else text.split("\n")
    return [line if line.strip(" \t") else "" for line in lines]


@contextmanager
def long_fields() -> Iterator[None]:
    """Let readers of ``csv`` read fields of any length, in place of 131,072 characters at most.

    Examples
    --------
    >>> import csv
    >>> from sklearn_crcrf.utils.lines import long_fields
    >>> with long_fields():
    ...     rows = list(csv.reader(["a" * 200_000]))
    >>> len(rows[0][0])
    200000
    """
    with _LIMIT:  # which the threads of a process share
        limit = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(limit)
