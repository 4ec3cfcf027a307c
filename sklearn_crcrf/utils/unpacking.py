"""Reading and unpacking files, up to a limit of bytes."""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from math import inf
from numbers import Integral
from typing import IO, Any

MAX_BYTES = 2**32
BLOCK = 2**20


class TooLargeError(ValueError):
    """A file unpacks to more bytes than allowed."""


class Budget:
    """The number of bytes of memory that what a file holds may still take.

    Parameters
    ----------
    max_bytes : int or None
        None for no limit.
    """

    def __init__(self, max_bytes: int | None):
        check_max_bytes(max_bytes)
        self._max_bytes = self._left = inf if max_bytes is None else max_bytes

    def take(self, n_bytes: int) -> None:
        """Subtract ``n_bytes``; raise TooLargeError if there are not enough left."""
        self._left -= n_bytes
        if self._left < 0:
            raise TooLargeError(
                f"it unpacks to more than max_bytes={self._max_bytes} bytes; if you trust its "
                "source, give a larger limit, or None for no limit"
            )


def memory_of_json(text: bytes | bytearray) -> int:
    """Return as many bytes as the values take at most that a text in JSON describes."""
    n_dicts, n_lists, n_values = text.count(b"{"), text.count(b"["), text.count(b",")
    return 4 * len(text) + 200 * n_dicts + 88 * n_lists + 64 * (n_values + text.count(b":"))


def check_max_bytes(max_bytes: int | None) -> None:
    """Raise ValueError or TypeError unless it is a number of bytes, or None for no limit."""
    if not isinstance(max_bytes, Integral | None):
        raise TypeError(f"max_bytes must be an int or None, got {max_bytes!r}")
    if max_bytes is not None and max_bytes < 0:
        raise ValueError(f"max_bytes must not be negative, got {max_bytes}")


def check_encoding(encoding: str) -> None:
    """Raise ValueError unless it is the name of an encoding of text."""
    try:
        "".encode(encoding)
    except LookupError as error:
        raise ValueError(f"encoding must name an encoding of text: {error}") from None


def read_text(
    path_or_file: str | os.PathLike | IO, encoding: str = "utf-8", max_bytes: int | None = MAX_BYTES
) -> str:
    """Read all of a text.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Text or bytes; bytes may be gzip-compressed.
    encoding : str, default="utf-8"
        Encoding of bytes.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, or None for no limit. For a text file
        object, characters are counted.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the text is compressed and damaged, cannot be decoded, or is too large; the message
        names the line.

    Examples
    --------
    >>> import gzip, io
    >>> read_text(io.BytesIO(gzip.compress(b"The D")))
    'The D'
    """
    check_encoding(encoding)
    data = read_unpacked(path_or_file, max_bytes, encoding)
    try:
        return data if isinstance(data, str) else data.decode(encoding)
    except UnicodeDecodeError as error:
        raise cannot_be_decoded(error, 0) from error


def read_unpacked(
    path_or_file: str | os.PathLike | IO, max_bytes: int | None, encoding: str = "utf-8"
) -> str | bytes:
    """Read and unpack all of a file; a string if it was opened as text."""
    check_max_bytes(max_bytes)
    if hasattr(path_or_file, "read"):
        data = read_limited(path_or_file, max_bytes)
    else:
        with open(path_or_file, "rb") as file:
            data = read_limited(file, max_bytes)
    return data if isinstance(data, str) else unpack(data, max_bytes, encoding)


def read_limited(file: Any, max_bytes: int | None) -> Any:
    """Return the content of a file; ValueError if it is larger than ``max_bytes``.

    A file object that decodes or unpacks its content may find it damaged: also a ValueError.
    """
    # Data that cannot be compressed becomes a little longer when it is packed.
    most = inf if max_bytes is None else max_bytes + max_bytes // 1000 + 1000
    pieces: list[Any] = []
    try:
        pieces.extend(_read_pieces(file, most))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(_n_lines(pieces) + 1, error) from error
    except UnicodeDecodeError as error:
        raise cannot_be_decoded(error, _n_lines(pieces)) from error
    data = pieces[0][:0].join(pieces)
    if len(data) > most or not _packed(data):
        Budget(max_bytes).take(len(data))
    return data


def _read_pieces(file: IO, most: float) -> Iterator[Any]:
    """Return the content of a file in pieces, up to one byte or character above ``most``.

    There is at least one piece.
    """
    is_text = isinstance(file, io.TextIOBase)
    # A text is read by lines, so that all lines before a damaged one are counted.
    read = file.readline if is_text else file.read
    while most >= 0:
        # Python allocates as much memory as it is asked to read, even if the file is shorter.
        asked = int(min(BLOCK, most + 1))
        piece = read(asked)
        yield piece
        most -= len(piece)
        # In other files a short piece is the last; reading on would wait for a terminal.
        is_short = len(piece) < asked and not (is_text or isinstance(file, io.RawIOBase))
        if not piece or is_short:
            return


def _packed(data: Any) -> bool:
    return isinstance(data, bytes) and data[:2] == b"\x1f\x8b"


def _n_lines(pieces: list) -> int:
    return sum(piece.count("\n" if isinstance(piece, str) else b"\n") for piece in pieces)


def _damaged(line: int, error: Exception) -> ValueError:
    return ValueError(f"line {line}: the compressed data are damaged: {error}")


def cannot_be_decoded(error: UnicodeDecodeError, n_before: int) -> ValueError:
    """Make the error to raise if ``n_before`` lines precede what could not be decoded."""
    before = error.object[: error.start].decode(error.encoding, errors="replace")
    line = n_before + before.count("\n") + 1
    return ValueError(
        f"line {line} cannot be decoded as {error.encoding}: {error.reason}; say its encoding, "
        "such as latin-1"
    )


def unpack(data: bytes, max_bytes: int | None, encoding: str = "utf-8") -> bytes:
    """Unpack gzip-compressed data; other data are returned as they are.

    Parameters
    ----------
    data : bytes
    max_bytes : int or None
        Maximum number of unpacked bytes, or None for no limit.
    encoding : str
        Encoding of the text, used to count lines.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        If there are more bytes, or the data are damaged; the message names the first line that
        was not unpacked, which is at most a block before the damage.
    """
    if not _packed(data):
        return data
    unpacked, budget = bytearray(), Budget(max_bytes)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read1(BLOCK):
                unpacked += piece
                budget.take(len(piece))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        n_lines = unpacked.decode(encoding, errors="replace").count("\n")
        raise _damaged(n_lines + 1, error) from error
    return bytes(unpacked)
