"""Text in columns, plain and compressed: read, and written and read again."""

import gzip
import io
import zlib
from random import Random
from typing import Any

from _campaign import Campaign, Wrong, show
from _mutations import mutated_bytes

from sklearn_crcrf.datasets import read_conll, write_conll

TEXTS = [
    b"The D\ndog N\n\nBark V\n",
    b"w\tp\tl\nx\ty\tz\n\n\na\tb\tc\n",
    "\ufeffGröße N\n日本 X\n\u202eabc O\n".encode(),
    b"a b c d B-X\n" * 5 + b"\n" + b"e f g h I-X\r\n",
    b"\n\n\n",
    b"single\n",
    b"-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n",
    "The D\n\ndog N\n".encode("utf-16"),
]
STRINGS = [b" N\n", b"\tN\n", b"\n\n", b"\r\n\r\n", b"\xa0", b"\xe2\x80\xa8", b"\x0c", b"\x85"]
OPTIONS: list[dict[str, Any]] = [
    *[{}] * 15,
    {"sep": "\t"},
    {"sep": ","},
    {"columns": ["word", "label"]},
    {"columns": ["word", None, "label"]},
    {"columns": ["word"]},
    {"columns": ["label", "word"]},
    {"encoding": "latin-1"},
    {"encoding": "utf-16"},
    {"encoding": "ascii"},
]
BOMBS = 1 / 20_000  # that many of the inputs are small and say that they are large


def _compressed(rng: Random, data: bytes) -> bytes:
    """Compressed data: whole, damaged, or with more behind it."""
    way, whole = rng.randrange(4), gzip.compress(data, compresslevel=1, mtime=0)
    if way == 1:
        return mutated_bytes(rng, whole)
    if way == 2:  # damaged after an intact header, or its checksum
        data = mutated_bytes(rng, zlib.compress(data, 1)[2:])
        return b"\x1f\x8b\x08" + bytes(7) + data + rng.randbytes(8)
    return whole + rng.choice([whole, bytes(10), data, b"\x1f\x8b"]) if way == 3 else whole


_bombs: list[bytes] = []


def prepare() -> None:
    """Make files of 20 MB that unpack to 20 GB: of nothing, of empty lines, of one-letter words."""
    _bombs.clear()
    for unit in (b"\0", b"\n", b"a\n"):
        part = gzip.compress(unit * (100_000_000 // len(unit)), compresslevel=9, mtime=0)
        _bombs.append(part * 200)


def mutated(rng: Random) -> bytes:
    """A file of columns with some changes, in one of four compressed."""
    if rng.random() < BOMBS:
        return rng.choice(_bombs)
    data = mutated_bytes(rng, rng.choice(TEXTS), STRINGS)
    return _compressed(rng, data) if rng.random() < 0.25 else data


def read(rng: Random, number: int) -> str:
    """Read a file, write the result and read it again: it must be the same."""
    return try_reading(mutated(rng), rng.choice(OPTIONS))


def try_reading(data: bytes, options: dict[str, Any]) -> str:
    """Read a file, write the result and read it again."""
    show("file", data[:1000], options)
    X, y = read_conll(io.BytesIO(data), **options)
    show("read", X, y)
    if not all(X):
        raise Wrong("an empty sequence", X)
    if y is not None and [len(x) for x in X] != [len(labels) for labels in y]:
        raise Wrong("X and y differ in length", f"{X} {y}")
    written = io.StringIO()
    try:
        write_conll(written, X, y, sep=options.get("sep"))
    except ValueError:
        return "read; cannot be written"  # for example, a carriage return in a word
    return _read_again(written.getvalue(), X, y, options.get("sep"))


def _read_again(text: str, X: list, y: list | None, sep: str | None) -> str:
    if not X:
        return "nothing in it"
    names = list(X[0][0]) if isinstance(X[0][0], dict) else ["word"]
    columns = names if y is None else [*names, "label"]
    again = read_conll(io.StringIO(text), columns, sep=sep)
    if again != (X, y):
        raise Wrong("writing and reading again changes it", f"{(X, y)} {again}")
    return "read, written and read again"


CAMPAIGNS = [Campaign("conll", read, prepare=prepare, batch=5000)]
