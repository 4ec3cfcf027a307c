"""Archives are unpacked within a limit, and checked, before skops sees them.

A tiny archive can unpack to gigabytes, declare an array that is larger than its data, or refer to
one array a million times. So the sizes that an archive declares are summed first, nothing is
unpacked beyond them, and the header of every array is compared with the number of bytes after it.
Valid content is packed again, without compression, for skops to read.
"""

import io
import json
import math
import zipfile
from collections.abc import Mapping
from typing import Any

from ..utils.unpacking import MAX_BYTES
from .headers import read_header
from .schema import check_schema, files_of, rename_modules

__all__ = ["MAX_BYTES", "TooLargeError", "checked_archive"]


SCHEMA = "schema.json"
# Objects take about ten times as much memory as the text that describes them.
WEIGHT_OF_TEXT = 10
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class TooLargeError(ValueError):
    """A file unpacks to more bytes than allowed."""


class Budget:
    """The number of bytes that may still be unpacked.

    Parameters
    ----------
    max_bytes : int or None
        None for no limit.
    """

    def __init__(self, max_bytes: int | None):
        self._max_bytes = self._left = math.inf if max_bytes is None else max_bytes

    def take(self, n_bytes: int) -> None:
        """Subtract ``n_bytes``; raise TooLargeError if there are not enough left."""
        self._left -= n_bytes
        if self._left < 0:
            raise TooLargeError(
                f"it unpacks to more than max_bytes={self._max_bytes}; if you trust its source, "
                "give a larger limit, or None for no limit"
            )


def checked_archive(data: bytes, max_bytes: int | None) -> io.BytesIO:
    """The same archive without compression, after a check of all its content.

    Parameters
    ----------
    data : bytes
    max_bytes : int or None
        Maximum number of unpacked bytes; None for no limit.

    Returns
    -------
    file

    Raises
    ------
    UntrustedError
        If it names a class or function that is not trusted.
    TooLargeError
        If it unpacks to more than the limit.
    ValueError
        If it is not valid. Damaged data may raise other errors too.
    """
    budget = Budget(max_bytes)
    members = _unpacked(data, budget)
    text = members.pop(SCHEMA)
    budget.take((WEIGHT_OF_TEXT - 1) * len(text))
    schema = json.loads(text)
    if rename_modules(schema):
        text = json.dumps(schema).encode()
    check_schema(schema, members)
    return _packed({SCHEMA: text, **_checked_members(schema, members, budget)})


def _checked_members(schema: Any, members: Mapping[str, bytes], budget: Budget) -> dict[str, bytes]:
    """The members that are read, after a check of their content."""
    checked: dict[str, bytes] = {}
    kinds: dict[str, str] = {}
    read = set()
    for kind, name, number in files_of(schema):
        if kinds.setdefault(name, kind) != kind:
            raise ValueError(f"{name} is of two kinds")
        if name not in checked:
            checked[name] = CHECKS[kind](members[name], budget)
        elif number not in read:
            budget.take(len(checked[name]))
        if number:
            read.add(number)
    return checked


def _unpacked(data: bytes, budget: Budget) -> dict[str, bytes]:
    """All members of an archive."""
    members = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        budget.take(sum(info.file_size for info in infos))
        for info in infos:
            if info.filename in members or info.compress_type not in METHODS:
                raise ValueError(f"{info.filename} is there twice, or packed in an unusual way")
            with archive.open(info) as member:
                # Without a size, a member would be unpacked completely, even beyond its size.
                members[info.filename] = member.read(info.file_size)
            if len(members[info.filename]) != info.file_size:
                raise ValueError(f"{info.filename} is shorter than it should be")
    return members


def _packed(members: Mapping[str, bytes]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


def _checked_array(data: bytes, budget: Budget) -> bytes:
    """An array, after a check of its header against its size."""
    shape, dtype, n_there = read_header(data)
    n_bytes = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0:
        raise ValueError(f"an array is of type {dtype} and shape {shape}")
    if n_bytes != n_there:
        raise ValueError(f"an array of {n_bytes} bytes has {n_there}")
    return data


def _checked_matrix(data: bytes, budget: Budget) -> bytes:
    """A sparse matrix: a nested archive of arrays."""
    members = _unpacked(data, budget)
    for content in members.values():
        _checked_array(content, budget)
    return _packed(members).getvalue()


CHECKS = {
    "BytesNode": lambda data, budget: data,
    "NdArrayNode": _checked_array,
    "SparseMatrixNode": _checked_matrix,
}
