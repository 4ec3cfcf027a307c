"""Files with sizes and checksums, taken apart, and put together so that these are right.

A change of a part then reaches the code behind the checks of sizes and checksums.
"""

import gzip
import io
import json
import os
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

Parts = dict[str, bytes]

BOUNDARY = b"\n==== "  # before the name of a part
START, ALIGNMENT = struct.Struct("<24sIII"), 64
CRFSUITE = struct.Struct("<4sI4sI8I")
CHUNKS = "features", "labels", "attributes", "of labels", "of attributes"
DAMAGED = ValueError, TypeError, KeyError, OSError, RecursionError


class Format(NamedTuple):
    """How a file is taken apart, and made of its parts."""

    take: Callable[[Path], Parts]
    make: Callable[[Parts, Path], None]


def joined(parts: Parts) -> bytes:
    """The parts as one string of bytes, such as a fuzzer changes."""
    return b"".join(BOUNDARY + name.encode() + b"\n" + data for name, data in parts.items())


def parts_in(data: bytes) -> Parts:
    """The inverse of :func:`joined`, for any bytes."""
    pieces = (piece.partition(b"\n") for piece in data.split(BOUNDARY)[1:])
    return {name.decode("latin-1"): content for name, _, content in pieces}


def array_bytes(array: np.ndarray) -> bytes:
    """The file of an array, with zeros between the fields of its entries.

    ``numpy.save`` would write arbitrary memory there.
    """
    file = io.BytesIO()
    if array.dtype.names is None:
        np.save(file, array, allow_pickle=False)
        return file.getvalue()
    filled = np.zeros(array.size * array.dtype.itemsize, np.uint8).view(array.dtype)
    for name in array.dtype.names:
        filled[name] = array[name].ravel()
    header = np.lib.format.header_data_from_array_1_0(filled.reshape(array.shape))
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + filled.tobytes()


def _take_arrays(path: Path) -> Parts:
    """The parts of a tagger or a model, which may be compressed."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    magic, version, length, _ = START.unpack_from(data)
    header = data[START.size : START.size + length]
    return {
        "start": START.pack(magic, version, 0, 0),
        "header": header,
        "data": data[_padded(START.size + length) :],
    }


def _make_arrays(parts: Parts, path: Path) -> None:
    """Write the file of a tagger or a model; its header says how large it is, if it can be read."""
    start, header, data = (parts.get(name, b"") for name in ("start", "header", "data"))
    data += bytes(-len(data) % ALIGNMENT)
    with suppress(*DAMAGED):
        described = json.loads(header)
        described["size"] = len(data)
        header = json.dumps(described).encode()
    magic, version, *_ = START.unpack(start[: START.size].ljust(START.size, b"\0"))
    content = START.pack(magic, version, len(header), zlib.crc32(header)) + header
    path.write_bytes(content.ljust(_padded(len(content)), b"\0") + data)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def _take_crfsuite(path: Path) -> Parts:
    data = path.read_bytes()
    *_, features, labels, attributes, of_labels, of_attributes = CRFSUITE.unpack_from(data)
    bounds = [features, labels, attributes, of_labels, of_attributes, len(data)]
    chunks = (data[a:b] for a, b in pairwise(bounds))
    return {"header": data[: CRFSUITE.size], **dict(zip(CHUNKS, chunks, strict=True))}


def _make_crfsuite(parts: Parts, path: Path) -> None:
    """Write a model of CRFsuite: chunks and databases say how large they are."""
    header = parts.get("header", b"")[: CRFSUITE.size].ljust(CRFSUITE.size, b"\0")
    magic, _, kind, *numbers = CRFSUITE.unpack(header)
    chunks, bounds = [], [CRFSUITE.size]
    for name in CHUNKS:
        chunk = bytearray(parts.get(name, b""))
        if len(chunk) >= 12:
            struct.pack_into("<I", chunk, 4, len(chunk))
        if name == "features" and len(chunk) >= 12:
            struct.pack_into("<I", chunk, 8, (len(chunk) - 12) // 20)
        chunks.append(chunk)
        bounds.append(bounds[-1] + len(chunk))
    packed = CRFSUITE.pack(magic, bounds[-1], kind, *numbers[:4], *bounds[:-1])
    path.write_bytes(packed + b"".join(chunks))


def _take_folder(path: Path) -> Parts:
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def _make_folder(parts: Parts, path: Path) -> None:
    """Write the folder of a corpus, whose parts have the checksums of their arrays."""
    path.mkdir()
    for name, data in parts.items():
        target = Path(os.path.normpath(path / name))
        if path in target.parents:
            with suppress(*DAMAGED):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
    for file in path.rglob("part.json"):
        with suppress(*DAMAGED):
            described = json.loads(file.read_bytes())
            for name in described["checksums"]:
                array = (file.parent / f"{name}.npy").read_bytes()
                described["checksums"][name] = zlib.crc32(array)
            file.write_text(json.dumps(described))


FORMATS = {
    "models": Format(_take_arrays, _make_arrays),
    "taggers": Format(_take_arrays, _make_arrays),
    "crfsuite": Format(_take_crfsuite, _make_crfsuite),
    "folders": Format(_take_folder, _make_folder),
}
