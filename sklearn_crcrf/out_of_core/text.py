"""Files of text in columns, read piece by piece."""

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, Any, NamedTuple

from ..datasets.columns import Reading, checked_columns
from ..utils.lines import split_lines
from ..utils.unpacking import cannot_be_decoded

__all__ = ["Piece", "pieces_of"]

GZIP = b"\x1f\x8b"
READING = Reading()


class Piece(NamedTuple):
    """Whole sequences of a file.

    Parameters
    ----------
    path : str
    first_line : int
        The number of lines before it.
    lines : list of str
    bytes_read : int
        How far the file was read, as it is on disk.
    reading : Reading
        With the separator of columns of the whole file.
    """

    path: str
    first_line: int
    lines: list[str]
    bytes_read: int
    reading: Reading

    def read(self, columns: Sequence[str | None] | None) -> tuple[list, list | None]:
        """The tokens and labels, as :func:`~sklearn_crcrf.datasets.read_conll` returns them.

        Raises
        ------
        ValueError
            If a line is not valid; the message names the file and the line in it.
        """
        try:
            rows = self.reading.rows(self.lines)
            return rows.sequences(checked_columns(columns, rows.width))
        except ValueError as error:
            raise ValueError(f"{self.path}: {self.located(error)}") from error

    def located(self, error: ValueError) -> ValueError:
        """The error with the number of the line in the file, in place of the line in the piece."""

        def in_file(found: re.Match) -> str:
            return f"line {self.first_line + int(found[1])}"

        return ValueError(re.sub(r"\bline (\d+)", in_file, str(error)))


def pieces_of(
    path: str | os.PathLike, n_lines: int, encoding: str = "utf-8", reading: Reading = READING
) -> Iterator[Piece]:
    """The pieces of a file, of at least this number of lines each but for the last.

    Parameters
    ----------
    path : str or path-like
        May be gzip-compressed.
    n_lines : int
    encoding : str, default="utf-8"
    reading : Reading
        Without a separator, all lines of the file are looked at first to find it.

    Raises
    ------
    ValueError
        If the file is compressed and damaged, or not in this encoding.
    """
    name, first_line = os.fspath(path), 0
    reading = _with_separator(reading, path, encoding)
    piece: list[str] = []
    with open(path, "rb") as raw:
        for line in _lines(raw, name, encoding):
            piece.append(line)
            if len(piece) >= n_lines and not line.strip(" \t\r\n"):
                found = split_lines("".join(piece))
                yield Piece(name, first_line, found, raw.tell(), reading)
                first_line += len(found) - 1
                piece = []
    if piece:
        yield Piece(name, first_line, split_lines("".join(piece)), os.path.getsize(path), reading)


def _with_separator(reading: Reading, path: str | os.PathLike, encoding: str) -> Reading:
    """Say what separates the columns, which all lines of a file decide."""
    if reading.sep is not None:
        return reading
    with open(path, "rb") as raw:
        lines = _lines(raw, os.fspath(path), encoding)
        split = (split_lines(line) if "\r" in line else (line,) for line in lines)
        return reading._replace(sep=reading.separator(chain.from_iterable(split)))


def _lines(raw: IO[bytes], name: str, encoding: str) -> Iterator[str]:
    """The lines of a file, with their ends; only ``\\n`` ends one."""
    number, start = 0, raw.read(len(GZIP))
    raw.seek(0)
    data: Any = gzip.GzipFile(fileobj=raw) if start == GZIP else raw
    try:
        for number, line in enumerate(io.TextIOWrapper(data, encoding, newline="\n"), start=1):
            yield line if number > 1 else line.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: {cannot_be_decoded(error, number)}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name}: cannot be read after line {number}: {error}") from error
