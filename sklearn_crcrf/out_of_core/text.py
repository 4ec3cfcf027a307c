"""Files of text in columns, read piece by piece."""

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..datasets import read_conll

__all__ = ["Piece", "pieces_of"]

GZIP = b"\x1f\x8b"


class Piece(NamedTuple):
    """Whole sequences of a file.

    Parameters
    ----------
    path : str
    first_line : int
        The number of lines before it.
    text : str
    bytes_read : int
        How far the file was read, as it is on disk.
    """

    path: str
    first_line: int
    text: str
    bytes_read: int

    def read(
        self, columns: Sequence[str | None] | None, sep: str | None
    ) -> tuple[list, list | None]:
        """The tokens and labels, as :func:`~sklearn_crcrf.datasets.read_conll` returns them.

        Raises
        ------
        ValueError
            If a line is not valid; the message names the file and the line in it.
        """
        try:
            return read_conll(io.StringIO(self.text), columns, sep=sep, max_bytes=None)
        except ValueError as error:
            raise ValueError(f"{self.path}: {self.located(error)}") from error

    def located(self, error: ValueError) -> ValueError:
        """The error with the number of the line in the file, in place of the line in the piece."""

        def in_file(found: re.Match) -> str:
            return f"line {self.first_line + int(found[1])}"

        return ValueError(re.sub(r"\bline (\d+)", in_file, str(error)))


def pieces_of(path: str | os.PathLike, n_lines: int, encoding: str = "utf-8") -> Iterator[Piece]:
    """The pieces of a file, of at least this number of lines each but for the last.

    Parameters
    ----------
    path : str or path-like
        May be gzip-compressed.
    n_lines : int
    encoding : str, default="utf-8"

    Raises
    ------
    ValueError
        If the file is compressed and damaged, or not in this encoding.
    """
    name = os.fspath(path)
    with open(path, "rb") as raw:
        is_packed = raw.peek(2).startswith(GZIP)
        data = gzip.GzipFile(fileobj=raw) if is_packed else raw
        lines = io.TextIOWrapper(data, encoding=encoding, newline="\n")
        piece: list[str] = []
        first_line = 0
        try:
            for line in lines:
                piece.append(line if first_line or piece else line.removeprefix("\ufeff"))
                if len(piece) >= n_lines and not line.strip(" \t\r\n"):
                    yield Piece(name, first_line, "".join(piece), raw.tell())
                    first_line += len(piece)
                    piece = []
        except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
            where = first_line + len(piece)
            raise ValueError(f"{name}: cannot be read after line {where}: {error}") from error
        if piece:
            yield Piece(name, first_line, "".join(piece), raw.tell())
