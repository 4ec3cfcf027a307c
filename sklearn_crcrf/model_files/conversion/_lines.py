"""The text of a model."""

import os
from typing import IO

from ...utils.unpacking import cannot_be_decoded, read_unpacked


def read_lines(
    path_or_file: str | os.PathLike | IO, max_bytes: int | None, binary: bytes, hint: str
) -> list[str]:
    """Read the lines of a text in UTF-8.

    Raises
    ------
    ValueError
        With this hint, if the file begins as a binary model; or if it cannot be read.
    """
    data = read_unpacked(path_or_file, max_bytes)
    if isinstance(data, bytes):
        if data.startswith(binary):
            raise ValueError(hint)
        data = decoded(data)
    return data.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")


def decoded(data: bytes, encoding: str = "utf-8") -> str:
    """Decode bytes; ValueError if they are of another encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise cannot_be_decoded(error, 0) from error
