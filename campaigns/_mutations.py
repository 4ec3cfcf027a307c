"""Changes of bytes, arrays and JSON, such as the tree of a model."""

import json
from collections.abc import Sequence
from functools import cache
from random import Random
from types import FunctionType
from typing import Any

import numpy as np
from _guard import import_all

from sklearn_crcrf.model_files.objects import MAKERS, NAMING

INTERESTING = [
    *(b"\0", b"\xff", b"\x7f", b"\x80", b"\xff\xff\xff\xff", b"0", b"-1", b"2147483648", b"9" * 30),
    *(b"nan", b"inf", b"-inf", b"1e309", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xef\xbb\xbf"),
    *(b"\r", b"\n", b"\r\n", b"\n\n", b"\t", b" ", b"%", b"[", b"]", b'"', b"\\", b"*", b"?", b"@"),
    *(b"{", b"}", b" --> ", b": ", b"\x1f\x8b", b"#"),
]
N_CHANGES = [1, 1, 1, 2, 3, 5, 10]


def mutated_bytes(rng: Random, data: bytes, strings: Sequence[bytes] = ()) -> bytes:
    """Bytes with some changes; strings with a meaning in this format are inserted, and others."""
    changed = bytearray(data)
    for _ in range(rng.choice(N_CHANGES)):
        _change(rng, changed, strings)
    return bytes(changed)


def _change(rng: Random, data: bytearray, strings: Sequence[bytes]) -> None:
    change, n = rng.randrange(8), len(data)
    if change == 0 and n:
        data[rng.randrange(n)] ^= 1 << rng.randrange(8)
    elif change == 1 and n:
        data[rng.randrange(n)] = rng.randrange(256)
    elif change == 7:  # truncate
        if rng.random() < 0.3:
            del data[rng.randrange(n + 1) :]
    elif change == 6:  # swap
        first, second = sorted((rng.randrange(n + 1), rng.randrange(n + 1)))
        width = min(rng.randrange(1, 30), second - first, n - second)
        one, other = data[first : first + width], data[second : second + width]
        data[first : first + width], data[second : second + width] = other, one
    elif change > 1:
        at = rng.randrange(n + 1)
        if change == 2:  # delete
            del data[at : at + rng.choice([1, 1, 2, 8, 100])]
        elif change == 5:  # repeat
            target = rng.randrange(n + 1)
            data[target:target] = data[at : at + rng.randrange(1, 60)] * rng.choice([1, 1, 1, 20])
        else:  # insert or overwrite
            string = rng.choice(strings if strings and rng.random() < 0.5 else INTERESTING)
            data[at : at + len(string) * (change == 4)] = string


HOSTILE = [None, True, -1, 0, 1, 2**31, 2**63, 2**70, 1e308, float("nan"), "", "x", [], {}, "\0"]
INTEGERS = [-1, 0, 1, 5, 10**6, 2**31 - 1, -(2**31), 2**62]
REALS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -1.0]
TYPES = ["int8", "int32", "int64", "uint64", "float32", "float64", "bool", "complex128", "U3"]


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every nested dict or list, with each of its keys or indices."""
    if not isinstance(tree, dict | list):
        return []
    found = []
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        found += [(tree, key), *places(value)]
    return found


def mutated_array(rng: Random, array: np.ndarray) -> np.ndarray:
    """An array with values, a shape or a type that it should not have."""
    array, change, is_number = array.copy(), rng.randrange(12), array.dtype.kind in "iufb"
    with np.errstate(all="ignore"):
        if change < 3:
            return _set_one(rng, array)
        if change == 3 and is_number:
            array[...] = _value(rng, array)
        elif change == 4:  # shuffle
            return array.ravel()[rng.sample(range(array.size), array.size)].reshape(array.shape)
        elif change == 9:
            shapes = [(-1,), (1, -1), (-1, 1), (-1, 1, 1), array.shape[::-1]]
            return array.reshape(rng.choice(shapes))
        elif change == 10 and is_number:
            return array.astype(rng.choice(TYPES))
        elif change == 11:  # other strides: from the end, or by columns
            ways = [array.T, np.asfortranarray(array), array[::-1] if array.ndim else array]
            return rng.choice(ways)
        elif array.ndim and change in (5, 6):  # shorten
            return array[: rng.randrange(len(array) + 1)]
        elif array.ndim and change == 7:  # narrow
            return array[..., : array.shape[-1] // 2]
        elif array.ndim and change == 8:  # double
            return np.concatenate([array, array])
    return array


def _value(rng: Random, array: np.ndarray) -> Any:
    values = [*INTEGERS, array.size] if array.dtype.kind in "iu" else REALS
    return np.array(rng.choice(values)).astype(array.dtype)


def _set_one(rng: Random, array: np.ndarray) -> np.ndarray:
    if array.size and array.dtype.kind in "iufb":
        array.flat[rng.randrange(array.size)] = _value(rng, array)
    return array


def mutated_numbers(rng: Random, data: bytes) -> bytes:
    """Bytes of which some are taken for numbers of one type, and changed."""
    numbers = np.frombuffer(data[: len(data) & ~7], rng.choice(["<i4", "<i8", "<f4", "<f8"])).copy()
    for _ in range(rng.choice([1, 1, 2, 5])):
        numbers = _set_one(rng, numbers)
    return numbers.tobytes() + data[len(numbers.tobytes()) :]


CONTENTS = [-1, None, True, 1e308, float("nan"), 2**31, 10**25, ["list"], ["dict"], {}, "x", ""]
FOREIGN = [
    *("builtins.eval", "builtins.exec", "builtins.open", "builtins.getattr", "builtins.__import__"),
    *("os.system", "os.remove", "os.popen", "shutil.rmtree", "subprocess.run", "pathlib.Path"),
    *("pickle.loads", "joblib.dump", "joblib.load", "numpy.save", "numpy.memmap", "numpy.fromfile"),
    *("sklearn.preprocessing.FunctionTransformer", "sklearn.datasets.load_files"),
    *("sklearn.preprocessing._function_transformer.FunctionTransformer", "sklearn.base.clone"),
    *("sklearn.utils._joblib.dump", "scipy.io.savemat", "scipy.sparse.save_npz", "numpy.ndarray"),
    *("scipy.sparse._csr.csr_matrix", "sklearn.tree._tree.Tree", "builtins.type", "operator.call"),
]
NAMES = ["__class__", "x", "predict", "__dict__", "fit", "_scores"]
CHANGES = [*["set"] * 2, *["copy"] * 2, "delete", "rename", *["part"] * 3, *["name"] * 2, "call"]
CHANGES += ["kind", "refer", "refer"]
KINDS = [*MAKERS, "ref", "reduce"]


def forge(rng: Random, text: bytes) -> bytes:
    """JSON with some changes."""
    tree = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if places(tree):
            _change_tree(rng, tree)
    text = json.dumps(tree).encode()
    return text if rng.random() < 0.98 else _nested(rng, text)


def _nested(rng: Random, text: bytes) -> bytes:
    """A value is deeper than any recursion goes."""
    start, depth = text.find(b": ", rng.randrange(len(text))) + 2, rng.choice([900, 10**5])
    opened, closed = rng.choice([(b"[", b"]"), (b'{"a": ', b"}")])
    return (
        text[:start] + opened * depth + b"0" + closed * depth + text[start:].lstrip(b"0123456789")
    )


def _change_tree(rng: Random, tree: Any) -> None:
    """Make one change, of any place or of a node: a list that begins with its kind."""
    change, found = rng.choice(CHANGES), places(tree)
    nodes = [box for box, key in found if key == 0 and box[0] in KINDS]
    named = [node for node in nodes if node[0] in NAMING and len(node) > 1]
    box, key = rng.choice(found)
    if change == "set":
        box[key] = rng.choice(HOSTILE)
    elif change == "delete":
        del box[key]
    elif change == "rename" and isinstance(box, dict):
        box[rng.choice(NAMES)] = box.pop(key)
    elif change == "copy":  # the value at one place to another place
        source, name = rng.choice(found)
        box[key] = json.loads(json.dumps(source[name]))
    elif change == "call":  # a function or an object, in place of anything
        box[key] = [rng.choice(NAMING), _name(rng), *[{}] * rng.randrange(2)]
    elif change == "refer":  # to another object, in place of anything
        box[key] = ["ref", rng.randrange(-1, len(nodes) + 1)]
    elif nodes and change == "part":  # of one node, or from another one
        node, other = rng.choice(nodes), rng.choice(nodes)
        value = rng.choice([*CONTENTS, json.loads(json.dumps(other[-1]))])
        node[rng.randrange(len(node))] = value
    elif named and change == "name":  # of the model, the package, or elsewhere
        rng.choice(named)[1] = rng.choice([rng.choice(named)[1], _name(rng)])
    elif nodes and change == "kind":
        rng.choice(nodes)[0] = rng.choice(KINDS)


def _name(rng: Random) -> str:
    """The full name of something of the package, or elsewhere."""
    return rng.choice([rng.choice(_names()), rng.choice(FOREIGN)])


@cache
def _names() -> list[str]:
    """All functions and classes that the package defines."""
    found = set()
    for module in import_all():
        own = [it for it in vars(module).values() if isinstance(it, FunctionType | type)]
        found |= {f"{it.__module__}.{it.__qualname__}" for it in own}
    return sorted(name for name in found if name.startswith("sklearn_crcrf."))
