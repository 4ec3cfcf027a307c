"""Quark databases: strings and their numbers, as CRFsuite stores them in its model files.

A database (CQDB) is a header, 256 references to hash tables, a record for each string, the hash
tables, which lead from a string to its record, and the backlinks, which lead from a number to its
record. Everything is little-endian; offsets are counted from the beginning of the database.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._kernels.text.strings import frozen_texts, texts_with

MAGIC, BYTE_ORDER, N_TABLES = b"CQDB", 0x62445371, 256
HEADER, RECORD = 24, 8
FIRST_RECORD = HEADER + 8 * N_TABLES
U4 = np.dtype("<u4")
SEED, BLOCK = 0xDEADBEEF, 12


class Quarks:
    """The strings of a database, read when they are asked for.

    Parameters
    ----------
    data : bytes
        Begins with the database.
    n : int
        How many strings there are.
    what : str
        What the strings are, for error messages.

    Raises
    ------
    ValueError
        If the database is damaged, or has other numbers than 0 to n - 1.

    Examples
    --------
    >>> from sklearn_crcrf.serving.crfsuite.quarks import Quarks, write_quarks
    >>> Quarks(write_quarks(["N", "D"]), 2, "labels").strings()
    ['N', 'D']
    """

    def __init__(self, data: bytes, n: int, what: str):
        self._data, self._what = data, what
        self._begins = self._ends = np.empty(0, dtype=np.int64)
        damaged = _damaged(what)
        if len(data) < FIRST_RECORD or data[:4] != MAGIC:
            raise damaged
        size, _, byte_order, n_links, start = np.frombuffer(data, U4, 5, 4).tolist()
        if byte_order != BYTE_ORDER or size > len(data) or not n <= n_links <= (size - start) / 4:
            raise damaged
        if n == 0:
            return
        links = np.frombuffer(data, U4, n, start).astype(np.int64)
        if links.min() < FIRST_RECORD or links.max() + RECORD > size:
            raise damaged
        content = np.frombuffer(data, np.uint8, size)
        # Records begin anywhere; byte by byte they take little memory.
        number, length = (
            np.sum([content[links + k + i] << np.uint32(8 * k) for k in range(4)], 0, np.int64)
            for i in (0, 4)
        )
        end = links + RECORD + length
        if not np.array_equal(number, np.arange(n)) or length.min() < 1 or end.max() > size:
            raise damaged
        # Records that overlap could take any amount of memory.
        if length.sum() > size or content[end - 1].any():
            raise damaged
        self._begins, self._ends = links + RECORD, end - 1

    def __getitem__(self, i: Any) -> str:
        return str(self._data[self._begins[i] : self._ends[i]], "utf-8")

    def strings(self) -> list[str]:
        """Return all strings, in the order of their numbers; ValueError if two are equal."""
        places = zip(self._begins.tolist(), self._ends.tolist(), strict=True)
        with _errors_of(self._what):
            strings = [str(self._data[a:b], "utf-8") for a, b in places]
        if any("\0" in string for string in strings):
            raise _damaged(self._what)
        if len(set(strings)) < len(strings):
            raise ValueError(f"names of {self._what} are repeated")
        return strings

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the same as the arrays of a table, without an object for each string.

        :func:`~sklearn_crcrf.serving.content.table_arrays` names them.
        """
        with _errors_of(self._what):
            return frozen_texts(*self._texts())

    def containing(self, character: str) -> np.ndarray:
        """Return which strings contain a character of ASCII, bool (n,)."""
        return texts_with(ord(character), *self._texts())

    def _texts(self) -> tuple[np.ndarray, ...]:
        return np.frombuffer(self._data, np.uint8), self._begins, self._ends


def _damaged(what: str) -> ValueError:
    return ValueError(f"the {what} of the model are damaged")


@contextmanager
def _errors_of(what: str) -> Iterator[None]:
    """Say which texts cannot be read."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"the {what} of the model are not in UTF-8: {error}") from None
    except ValueError as error:
        raise ValueError(f"{_damaged(what)}: {error}") from None


def write_quarks(strings: Sequence[str]) -> bytes:
    """Return a database of different strings, numbered from 0.

    Raises
    ------
    ValueError
        If a string contains a null character, which ends strings in the file.
    """
    keys = [string.encode("utf-8") + b"\0" for string in strings]
    for string, key in zip(strings, keys, strict=True):
        if key.index(b"\0") < len(key) - 1:
            raise ValueError(f"a model of CRFsuite cannot hold the null character in {string!r}")
    lengths = np.array([len(key) for key in keys], dtype=np.int64)
    ends = FIRST_RECORD + np.cumsum(lengths + RECORD)
    links = ends - lengths - RECORD
    numbers = np.arange(len(keys), dtype=U4)
    heads = np.stack([numbers, lengths.astype(U4)], axis=1).astype(U4).tobytes()
    records = b"".join(
        part for i, key in enumerate(keys) for part in (heads[RECORD * i : RECORD * (i + 1)], key)
    )
    tables, buckets = _tables(hash_keys(keys), links, FIRST_RECORD + len(records))
    start = FIRST_RECORD + len(records) + len(buckets) if keys else 0
    size = FIRST_RECORD + len(records) + len(buckets) + 4 * len(keys)
    header = np.array([size, 0, BYTE_ORDER, len(keys), start], dtype=U4).tobytes()
    return b"".join([MAGIC, header, tables, records, buckets, links.astype(U4).tobytes()])


def _tables(hashes: np.ndarray, links: np.ndarray, start: int) -> tuple[bytes, bytes]:
    """Return the references to the hash tables, and the tables, which begin at an offset.

    A table has twice as many places as strings; a string takes the first free place from
    ``hash // 256`` on, modulo the number of places.
    """
    references = np.zeros((N_TABLES, 2), dtype=U4)
    table = hashes % N_TABLES
    order = np.argsort(table, kind="stable")
    counts = np.bincount(table, minlength=N_TABLES)
    buckets = np.zeros((2 * len(hashes), 2), dtype=U4)
    first = 0
    for k, members in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        if len(members) == 0:
            continue
        n_places = 2 * len(members)
        references[k] = start + 8 * first, n_places
        taken: dict[int, int] = {}
        for i, wanted in zip(members.tolist(), (hashes[members] >> 8).tolist(), strict=True):
            place = wanted % n_places
            while place in taken:
                place = (place + 1) % n_places
            taken[place] = i
        places = first + np.array([*taken])
        buckets[places] = np.stack([hashes[[*taken.values()]], links[[*taken.values()]]], axis=1)
        first += n_places
    return references.tobytes(), buckets.tobytes()


def hash_keys(keys: Sequence[bytes]) -> np.ndarray:
    """Return the hash of each string: ``hashlittle`` of lookup3 [1]_.

    Parameters
    ----------
    keys : sequence of n bytes, none of them empty

    Returns
    -------
    ndarray of shape (n,), int64

    References
    ----------
    .. [1] B. Jenkins, "lookup3.c, by Bob Jenkins, May 2006", public domain.

    Examples
    --------
    >>> from sklearn_crcrf.serving.crfsuite.quarks import hash_keys
    >>> hash_keys([b"Four score and seven years ago"]) == 0x17770551
    array([ True])
    """
    lengths = np.array([len(key) for key in keys], dtype=np.int64)
    words = np.frombuffer(b"".join(key + bytes(-len(key) % BLOCK) for key in keys), U4)
    blocks = words.reshape(-1, 3).astype(np.uint32)
    n_blocks = -(-lengths // BLOCK)
    first = np.cumsum(n_blocks) - n_blocks
    state = np.repeat((SEED + lengths).astype(np.uint32)[None], 3, axis=0)
    for k in range(int(n_blocks.max(initial=0))):
        going, ending = np.flatnonzero(n_blocks > k + 1), np.flatnonzero(n_blocks == k + 1)
        for keys_here, mix in ((going, _mix), (ending, _final)):
            a, b, c = state[:, keys_here] + blocks[first[keys_here] + k].T
            state[:, keys_here] = mix(a, b, c)
    return state[2].astype(np.int64)


def _rotated(x: np.ndarray, k: int) -> np.ndarray:
    return (x << np.uint32(k)) | (x >> np.uint32(32 - k))


def _mix(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
    for k in (4, 6, 8, 16, 19, 4):
        a, b, c = b, c + b, (a - c) ^ _rotated(c, k)
    return a, b, c


def _final(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
    for k in (14, 11, 25, 16, 4, 14, 24):
        a, b, c = b, (c ^ b) - _rotated(b, k), a
    return c, a, b
