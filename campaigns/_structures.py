"""Changes of arrays and of nested data, as a damaged or forged file may have them."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

__all__ = ["HOSTILE", "mutated_array", "places", "transplant"]

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
