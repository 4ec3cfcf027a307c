"""Changes of bytes, arrays and nested data, as by accident or by an attacker."""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

__all__ = ["HOSTILE", "mutated_array", "mutated_bytes", "mutated_numbers", "places", "transplant"]

INTERESTING = [
    *(b"\0", b"\xff", b"\x7f", b"\x80", b"\xff\xff\xff\xff", b"0", b"-1", b"2147483648", b"9" * 30),
    *(b"nan", b"inf", b"-inf", b"1e309", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xef\xbb\xbf"),
    *(b"\r", b"\n", b"\r\n", b"\n\n", b"\t", b" ", b"%", b"[", b"]", b'"', b"\\", b"*", b"?", b"@"),
    *(b"{", b"}", b" --> ", b": ", b"\x1f\x8b", b"#"),
]
N_CHANGES = [1, 1, 1, 2, 3, 5, 10]


def mutated_bytes(rng: Random, data: bytes, dictionary: Sequence[bytes] = ()) -> bytes:
    """Bytes with some changes.

    Parameters
    ----------
    rng : Random
    data : bytes
    dictionary : sequence of bytes
        Strings with a meaning in this format, inserted in addition to generally interesting ones.
    """
    changed = bytearray(data)
    for _ in range(rng.choice(N_CHANGES)):
        rng.choice(CHANGES)(rng, changed, dictionary)
    return bytes(changed)


def _at(rng: Random, data: bytearray) -> int:
    return rng.randrange(len(data) + 1)


def _string(rng: Random, dictionary: Sequence[bytes]) -> bytes:
    return rng.choice(dictionary if dictionary and rng.random() < 0.5 else INTERESTING)


def _flip_bit(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set_byte(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _delete(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start = _at(rng, data)
    del data[start : start + rng.choice([1, 1, 2, 8, 100])]


def _insert(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start = _at(rng, data)
    data[start:start] = _string(rng, dictionary)


def _overwrite(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start, string = _at(rng, data), _string(rng, dictionary)
    data[start : start + len(string)] = string


def _repeat(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start, target = _at(rng, data), _at(rng, data)
    data[target:target] = data[start : start + rng.randrange(1, 60)] * rng.choice([1, 1, 1, 20])


def _swap(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    first, second = sorted((_at(rng, data), _at(rng, data)))
    width = min(rng.randrange(1, 30), second - first, len(data) - second)
    one, other = data[first : first + width], data[second : second + width]
    data[first : first + width], data[second : second + width] = other, one


def _truncate(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    if rng.random() < 0.3:
        del data[_at(rng, data) :]


CHANGES = [_flip_bit, _set_byte, _delete, _insert, _overwrite, _repeat, _swap, _truncate]
HOSTILE = [None, True, -1, 0, 1, 2**31, 2**63, 2**70, 1e308, float("nan"), "", "x", [], {}, "\0"]
INTEGERS = [-1, 0, 1, 5, 10**6, 2**31 - 1, -(2**31), 2**62]
REALS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -1.0]
TYPES = ["int8", "int32", "int64", "uint64", "float32", "float64", "bool", "complex128", "U3"]


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every nested dict or list, with each of its keys or indices."""
    return list(_places(tree))


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(tree, dict | list):
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        yield from _places(value)


def transplant(rng: Random, found: list[tuple[Any, Any]]) -> None:
    """Copy the value at one place to another place."""
    (box, key), (source, name) = rng.choice(found), rng.choice(found)
    box[key] = json.loads(json.dumps(source[name]))


def mutated_array(rng: Random, array: np.ndarray) -> np.ndarray:
    """An array with values, a shape or a type that it should not have."""
    with np.errstate(all="ignore"):
        return rng.choice(ARRAY_CHANGES)(rng, array.copy())


def _value(rng: Random, array: np.ndarray) -> Any:
    values = [*INTEGERS, array.size] if array.dtype.kind in "iu" else REALS
    return np.array(rng.choice(values)).astype(array.dtype)


def _set_one(rng: Random, array: np.ndarray) -> np.ndarray:
    if array.size and array.dtype.kind in "iufb":
        array.flat[rng.randrange(array.size)] = _value(rng, array)
    return array


def _set_all(rng: Random, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "iufb":
        array[...] = _value(rng, array)
    return array


def _shuffle(rng: Random, array: np.ndarray) -> np.ndarray:
    order = rng.sample(range(array.size), array.size)
    return array.ravel()[order].reshape(array.shape)


def _shorten(rng: Random, array: np.ndarray) -> np.ndarray:
    return array[: rng.randrange(len(array) + 1)] if array.ndim else array


def _narrow(rng: Random, array: np.ndarray) -> np.ndarray:
    return array[..., : array.shape[-1] // 2] if array.ndim else array


def _double(rng: Random, array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, array]) if array.ndim else array


def _reshape(rng: Random, array: np.ndarray) -> np.ndarray:
    return array.reshape(rng.choice([(-1,), (1, -1), (-1, 1), (-1, 1, 1), array.shape[::-1]]))


def _convert(rng: Random, array: np.ndarray) -> np.ndarray:
    return array.astype(rng.choice(TYPES)) if array.dtype.kind in "iufb" else array


def _reorder(rng: Random, array: np.ndarray) -> np.ndarray:
    """Other strides: from the end, or by columns."""
    return rng.choice([array.T, np.asfortranarray(array), array[::-1] if array.ndim else array])


ARRAY_CHANGES = [
    *(_set_one, _set_one, _set_one, _set_all, _shuffle, _shorten, _shorten, _narrow),
    *(_double, _reshape, _convert, _reorder),
]


def mutated_numbers(rng: Random, data: bytes) -> bytes:
    """Bytes of which some are taken for numbers of one type, and changed."""
    numbers = np.frombuffer(data[: len(data) & ~7], rng.choice(["<i4", "<i8", "<f4", "<f8"])).copy()
    for _ in range(rng.choice([1, 1, 2, 5])):
        numbers = _set_one(rng, numbers)
    return numbers.tobytes() + data[len(numbers.tobytes()) :]
