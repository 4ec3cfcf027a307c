"""Parts of fitted estimators, and what may become of them in a file."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_crcrf.data.vocabulary import Vocabulary

LARGE = {"i": 2**31 - 1, "u": 2**31 - 1}

Path = tuple[Any, ...]


def found_in_fork(tasks: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, Any], int | None]:
    """What tasks return, in a process of their own, and its exit status.

    If one ends the process, its name is the first one that is missing.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work() -> None:
        for name, task in tasks.items():
            sender.send((name, task()))

    process = context.Process(target=work)
    process.start()
    sender.close()
    found = {}
    with suppress(EOFError):
        while True:
            name, result = receiver.recv()
            found[name] = result
    process.join()
    return found, process.exitcode


def parts_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All arrays and vocabularies below an object, and how to get to them."""
    if isinstance(value, (np.ndarray, Vocabulary)):
        yield path, value
        return
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif sp.issparse(value):
        items = [(name, getattr(value, name)) for name in ("data", "indices", "indptr")]
    elif type(value).__module__.startswith("sklearn"):
        items = getattr(value, "__dict__", {}).items()
    else:
        return
    for key, part in items:
        yield from parts_of(part, (*path, key))


def changed(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """An object of which the part at a path was changed, in place where that is possible."""
    if not path:
        return change(value)
    key, *rest = path
    if isinstance(value, tuple):
        parts = list(value)
        parts[key] = changed(parts[key], tuple(rest), change)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, (dict, list)):
        value[key] = changed(value[key], tuple(rest), change)
    elif sp.issparse(value):
        setattr(value, key, changed(getattr(value, key), tuple(rest), change))
    else:
        vars(value)[key] = changed(vars(value)[key], tuple(rest), change)
    return value


def _with_first(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array.flat[0] = value
        return array

    return change


def damages(part: Any) -> dict[str, Callable[[Any], Any]]:
    """What can become of a part such that it no longer fits the others, by name."""
    if isinstance(part, Vocabulary):
        return {
            "fewer symbols": lambda v: Vocabulary(v.symbols[:-1]),
            "more symbols": lambda v: Vocabulary([*v.symbols, "one more"]),
            "no vocabulary": lambda v: v.symbols,
        }
    found = {"no array": lambda a: None, "another type": lambda a: a.astype("M8[s]")}
    if part.dtype.kind in "OU":
        del found["another type"]
    if part.ndim and len(part):
        found["half"] = lambda a: a[: len(a) // 2]
        found["twice"] = lambda a: np.concatenate([a, a])
        found["one dimension more"] = lambda a: a[..., None]
    if part.ndim > 1 and part.size:
        found["narrower"] = lambda a: np.ascontiguousarray(a[:, : a.shape[1] // 2])
    if part.dtype.kind == "f" and part.size:
        found |= {"nan": _with_first(np.nan), "inf": _with_first(np.inf)}
        found["single nan"] = lambda a: _with_first(np.nan)(a.astype(np.float32))
        found["single inf"] = lambda a: _with_first(np.inf)(a.astype(np.float32))
    if part.dtype.kind in "iu" and part.size:
        found |= {"large": _with_first(LARGE["i"]), "negative": _with_first(-(2**31))}
        found["next"] = lambda a: a + a.max() + 1
    return found
