"""The lines of a text model."""

import io
import os
from typing import IO

from ...utils.unpacking import check_max_bytes, read_limited, read_text, unpack


def read_content(path_or_file: str | os.PathLike | IO, max_bytes: int | None) -> bytes | str:
    """The unpacked content of a file, a string if it was opened as text."""
    check_max_bytes(max_bytes)
    if hasattr(path_or_file, "read"):
        data = read_limited(path_or_file, max_bytes)
    else:
        with open(path_or_file, "rb") as file:
            data = read_limited(file, max_bytes)
    return data if isinstance(data, str) else unpack(data, max_bytes)


def read_lines(
    path_or_file: str | os.PathLike | IO, max_bytes: int | None, binary: bytes, hint: str
) -> list[str]:
    """The lines of a text in UTF-8.

    Raises
    ------
    ValueError
        With this hint, if the file begins as a binary model; or if it cannot be read.
    """
    data = read_content(path_or_file, max_bytes)
    if isinstance(data, bytes):
        if data.startswith(binary):
            raise ValueError(hint)
        data = read_text(io.BytesIO(data), max_bytes=max_bytes)
    return data.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
