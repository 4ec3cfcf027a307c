"""The lines of a text model."""

import io
import os
from typing import IO

from ...utils.unpacking import read_text, read_unpacked


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
        data = read_text(io.BytesIO(data), max_bytes=max_bytes)
    return data.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
