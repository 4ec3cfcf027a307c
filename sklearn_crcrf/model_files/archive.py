"""Archives are unpacked within a limit, and checked, before any object is made of them.

A tiny archive can unpack to gigabytes, declare an array that is larger than its data, or refer to
one array a million times. So the sizes that an archive declares are summed first, room is made for
no more than its bytes can unpack to, nothing is unpacked beyond the sizes, and the header of every
array is compared with the number of bytes after it.
"""

import io
import json
import math
import zipfile
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..utils.unpacking import Budget, memory_of_json
from .schema import check_schema, files_of, read_header

SCHEMA = "schema.json"
# Objects take about ten times as much memory as the text that describes them.
WEIGHT_OF_TEXT = 10
PIECE = 2**20  # bytes
# How an entry of the directory of an archive begins, and the bytes of memory that it takes.
ENTRY, MEMBER = b"PK\x01\x02", 800
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# Bytes of memory of a string, beside its characters.
STRING = 64
# An array of no strings has a type, which its copies could take memory for; in bytes.
LARGEST_ITEM = 2**16
# No byte of deflated data unpacks to more bytes, says the documentation of zlib.
LARGEST_RATIO = 1032


class Archive(NamedTuple):
    """The content of an archive.

    Parameters
    ----------
    schema : JSON
        The tree of nodes that describes the objects.
    members : dict from str to bytearray, or to dict from str to bytearray
        What nodes are read from: arrays in the format ``npy``, and sparse matrices as dicts of
        such arrays.
    """

    schema: Any
    members: dict[str, Any]


def checked_archive(data: bytes, max_bytes: int | None) -> Archive:
    """The content of an archive, after a check of all of it.

    Parameters
    ----------
    data : bytes
    max_bytes : int or None
        Maximum number of unpacked bytes; None for no limit.

    Returns
    -------
    Archive

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
    budget.take(max(WEIGHT_OF_TEXT * len(text), memory_of_json(text)) - len(text))
    schema = json.loads(text)
    check_schema(schema, members)
    return Archive(schema, _checked_members(schema, members, budget))


def _checked_members(
    schema: Any, members: Mapping[str, bytearray], budget: Budget
) -> dict[str, Any]:
    """The members that are read, after a check of their content."""
    checked: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    read = set()
    for kind, name, number in files_of(schema):
        if kinds.setdefault(name, kind) != kind:
            raise ValueError(f"{name} is of two kinds")
        if name not in checked:
            checked[name] = CHECKS[kind](members[name], budget)
        elif number not in read:
            budget.take(_size(checked[name]))
        if number:
            read.add(number)
    return checked


def _size(content: bytearray | dict[str, bytearray]) -> int:
    return sum(map(len, content.values())) if isinstance(content, dict) else len(content)


def _unpacked(data: bytes | bytearray, budget: Budget) -> dict[str, bytearray]:
    """All members of an archive."""
    members = {}
    budget.take(MEMBER * data.count(ENTRY))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        budget.take(sum(info.file_size for info in infos))
        for info in infos:
            if info.filename in members or info.compress_type not in METHODS:
                raise ValueError(f"{info.filename} is there twice, or packed in an unusual way")
            if info.file_size > LARGEST_RATIO * len(data):
                raise _too_short(info)
            members[info.filename] = _read(archive, info)
    return members


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """The content of a member, of which not more is unpacked than the declared size.

    It is written once, piece by piece, to memory that arrays then use.
    """
    content, start = bytearray(info.file_size), 0
    with archive.open(info) as member:
        while piece := member.read(min(PIECE, info.file_size - start)):
            content[start : start + len(piece)] = piece
            start += len(piece)
    if start != info.file_size:
        raise _too_short(info)
    return content


def _too_short(info: zipfile.ZipInfo) -> ValueError:
    return ValueError(f"{info.filename} is shorter than it should be")


def _checked_array(data: bytearray, budget: Budget) -> bytearray:
    """An array, after a check of its header against its size."""
    shape, dtype, n_there, _ = read_header(data)
    n_bytes = math.prod(shape) * dtype.itemsize
    is_odd = not 0 < dtype.itemsize <= max(n_there, LARGEST_ITEM) or min(shape, default=0) < 0
    if dtype.hasobject or is_odd:
        raise ValueError(f"an array is of type {dtype} and shape {shape}")
    if n_bytes != n_there:
        raise ValueError(f"an array of {n_bytes} bytes has {n_there}")
    if dtype.kind in "US":
        budget.take(STRING * math.prod(shape))  # lists of them are compared
    return data


def _checked_matrix(data: bytearray, budget: Budget) -> dict[str, bytearray]:
    """The arrays of a sparse matrix, which is a nested archive."""
    members = _unpacked(data, budget)
    for content in members.values():
        _checked_array(content, budget)
    return members


CHECKS = {
    "BytesNode": lambda data, budget: data,
    "NdArrayNode": _checked_array,
    "SparseMatrixNode": _checked_matrix,
}
