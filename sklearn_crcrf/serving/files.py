"""Files of taggers, and of complete models: a header and arrays.

Taggers are read into memory, or mapped: then processes share its pages.

A process ends if a page that it has mapped is no longer in the file, and kernels index without
checks; so a file that others may write into, as ``cp`` does, must not be mapped. A file whose name
ends in ".gz" is compressed, and unpacked into memory.

A file begins with ``MAGIC`` or ``MODEL``, then have 4 bytes each the version of the format, the
length of the header, and a checksum of the header. The header is JSON: the settings, and for each
array its type, its shape, and where it begins. Each array begins at a multiple of 64 bytes. All of
it is little-endian.
"""

import gzip
import json
import mmap
import os
import re
import struct
import sys
import zlib
from math import prod
from typing import Any, BinaryIO

import numpy as np

from .._version import __version__
from ..utils.replacing import replacing
from ..utils.unpacking import MAX_BYTES, Budget, memory_of_json, read_limited
from .content import Content

MAGIC = b"crcrf tagger file\x0d\x0a\x1a\x0a\x00\x00\x00"
MODEL = b"crcrf model file\x0d\x0a\x1a\x0a\x00\x00\x00\x00"
PACKED = b"\x1f\x8b"
VERSION = 1
START = struct.Struct("<24sIII")
ALIGNMENT = 64
MAPPED_ABOVE = 2**28
# Of compression.
LEVEL = 6
# Bytes of memory of an array, beside its values.
ARRAY = 512
# Types of arrays that a file may hold: numbers, bytes and strings.
DTYPE = re.compile("[|<>]([biuf][1248]|[SU][1-9][0-9]{0,9})")


class WrongFileError(ValueError):
    """A file that is something else, or of another version."""


def write_content(
    path: str | os.PathLike, content: Content, magic: bytes = MAGIC, level: int | None = None
) -> None:
    """Write a file, which replaces a file of this name once it is on disk.

    Parameters
    ----------
    path : str or path-like
    content : Content
    magic : {MAGIC, MODEL}
    level : int, optional
        Of compression; by default only files whose names end in ".gz" are compressed.

    Raises
    ------
    TypeError
        If a label is neither str, int, float, bool nor None.
    """
    _check_order()
    for label in content.settings.get("labels", ()):
        if not isinstance(label, str | int | float | bool | None):
            raise TypeError(
                "a tagger file holds labels that are str, int, float, bool or None, but one is "
                f"{label!r}"
            )
    if level is None and os.fspath(path).endswith(".gz"):
        level = LEVEL
    with replacing(path) as raw:
        write_to(raw, content, magic, level)


def write_to(raw: Any, content: Content, magic: bytes = MAGIC, level: int | None = None) -> None:
    """Write the bytes of a file into an open one."""
    described, place = {}, 0
    for name, array in content.arrays.items():
        described[name] = [array.dtype.str, array.shape, place]
        place += _padded(array.nbytes)
    header = json.dumps(
        {"settings": content.settings, "arrays": described, "size": place, "written": __version__}
    ).encode()
    start = START.pack(magic, VERSION, len(header), zlib.crc32(header))
    # Without the time, the same content makes the same file.
    file = raw if level is None else gzip.GzipFile("", "wb", level, raw, 0)
    file.write(_filled(start + header))
    for array in content.arrays.values():
        file.write(_filled(array.tobytes()))
    if level is not None:
        file.close()


def is_tagger_file(path: str | os.PathLike) -> bool:
    """Say whether there is a file that begins like the file of a tagger."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(MAGIC))
            if start.startswith(PACKED):
                file.seek(0)
                start = gzip.GzipFile(fileobj=file).read(len(MAGIC))
            return start == MAGIC
    except (OSError, EOFError, zlib.error):
        return False


def read_content(
    path: str | os.PathLike,
    max_bytes: int | None = MAX_BYTES,
    mapped: bool | None = None,
    magic: bytes = MAGIC,
) -> Content:
    """Read, map or unpack a file; the values of its arrays are not checked.

    Parameters
    ----------
    path : str or path-like
    max_bytes : int or None
        Maximum number of bytes of the unpacked file, and of what is made of it; None for no limit.
    mapped : bool or None
        Whether to map a file that is not compressed; None for a file of more than 256 MiB.
    magic : {MAGIC, MODEL}

    Returns
    -------
    Content
        What is left of the limit is its budget.

    Raises
    ------
    ValueError
        If this is not a file of a tagger, or it is damaged, too large, or of a later version.
    """
    _check_order()
    budget = Budget(max_bytes)
    with open(path, "rb") as file:
        if file.read(len(PACKED)) == PACKED:
            file.seek(0)
            unpacked = bytearray(read_limited(gzip.GzipFile(fileobj=file), max_bytes))
            data = np.frombuffer(unpacked, np.uint8)
            data.flags.writeable = magic == MODEL  # whose arrays may change
        else:
            data = _bytes_of(file, mapped)
    start = data[: START.size].tobytes()
    if magic == MAGIC and start.startswith(MODEL):
        raise WrongFileError(
            "this is a complete model, and is not a file of a tagger: read it by "
            "model_files.load_model, and call tagger() of its estimator"
        )
    if len(start) < START.size or not start.startswith(magic):
        is_wrong = "this is not a file of a tagger"
        raise WrongFileError("is not a model file of sklearn-crcrf" if magic == MODEL else is_wrong)
    _, version, length, checksum = START.unpack(start)
    if version > VERSION:
        raise ValueError(f"the file has version {version} of the format; this is {VERSION}")
    budget.take(len(data))
    header = data[START.size : START.size + length].tobytes()
    if len(header) < length or zlib.crc32(header) != checksum:
        raise ValueError("the header of the file is damaged")
    budget.take(memory_of_json(header))
    first = _padded(START.size + length)
    try:
        described = json.loads(header)
        size = described["size"]
        if first + size != len(data):
            raise ValueError(f"the file must have {first + size} bytes, but has {len(data)}")
        where = described["arrays"]
        budget.take(ARRAY * len(where))
        data = data[first:]
        arrays = {name: _part(data, *place) for name, place in where.items()}
        _check_apart([(place, arrays[name].nbytes) for name, (_, _, place) in where.items()])
        return Content(dict(described["settings"]), arrays, budget, described.get("written"))
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ValueError("the header of the file is not valid") from None


def _bytes_of(file: BinaryIO, mapped: bool | None) -> np.ndarray:
    """Map an open file, or read all of it; either begins at a multiple of 64, as arrays must."""
    size = file.seek(0, os.SEEK_END)
    if size and (mapped or (mapped is None and size > MAPPED_ABOVE)):
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    file.seek(0)
    data = np.empty(size + ALIGNMENT, dtype=np.uint8)
    data = data[-data.ctypes.data % ALIGNMENT :][:size]
    n_read = file.readinto(data)  # type: ignore[attr-defined]  # all of it, or up to its end
    data.flags.writeable = False
    return data[:n_read]


def _part(data: np.ndarray, dtype: str, shape: list[int], place: int) -> np.ndarray:
    """Return an array in the mapped file."""
    sizes = all(isinstance(n, int) and n >= 0 for n in (*shape, place))
    if not DTYPE.fullmatch(dtype) or not sizes or place % ALIGNMENT:
        raise ValueError("the header of the file is not valid")
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if place + n_bytes > len(data):
        raise ValueError("the file ends within an array")
    return np.ndarray(shape, dtype, data, place)


def _check_apart(places: list[tuple[int, int]]) -> None:
    """Check that no array begins within another one; a few bytes could be very many arrays."""
    stop = 0
    for start, n_bytes in sorted(places):
        if start < stop:
            raise ValueError("the arrays of the file overlap")
        stop = start + n_bytes


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def _filled(data: bytes) -> bytes:
    return data + bytes(_padded(len(data)) - len(data))


def _check_order() -> None:
    if sys.byteorder != "little":
        raise ValueError("files of taggers need a processor that is little-endian")
