"""Changes of JSON, above all of the schema that skops writes for the objects of a model."""

import json
import pkgutil
from functools import cache
from importlib import import_module
from random import Random
from types import FunctionType
from typing import Any

from _mutations import HOSTILE, places, transplant

import sklearn_crcrf
from sklearn_crcrf.model_files.objects import READERS

__all__ = ["forge"]

CONTENTS = ["-1", "null", "true", "1e999", "NaN", "2147483648", "9" * 25, "[]", "{}", '"x"', ""]
FOREIGN = [
    *("builtins.eval", "builtins.exec", "builtins.open", "builtins.getattr", "builtins.__import__"),
    *("os.system", "os.remove", "os.popen", "shutil.rmtree", "subprocess.run", "pathlib.Path"),
    *("pickle.loads", "joblib.dump", "joblib.load", "numpy.save", "numpy.memmap", "numpy.fromfile"),
    *("sklearn.preprocessing.FunctionTransformer", "sklearn.datasets.load_files"),
    *("sklearn.preprocessing._function_transformer.FunctionTransformer", "sklearn.base.clone"),
    *("sklearn.utils._joblib.dump", "scipy.io.savemat", "scipy.sparse.save_npz", "numpy.ndarray"),
    *("scipy.sparse._csr.csr_matrix", "sklearn.tree._tree.Tree", "builtins.type", "operator.call"),
]
LOADERS = [*READERS, "CachedNode", "MethodNode", "OperatorFuncNode", "PartialNode", "ReduceNode"]


def forge(rng: Random, text: bytes) -> bytes:
    """JSON with some changes."""
    tree = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if places(tree):
            rng.choice(CHANGES)(rng, tree)
    text = json.dumps(tree).encode()
    return text if rng.random() < 0.98 else _nested(rng, text)


def _nested(rng: Random, text: bytes) -> bytes:
    """A value is deeper than any recursion goes."""
    start, depth = text.find(b": ", rng.randrange(len(text))) + 2, rng.choice([900, 10**5])
    opened, closed = rng.choice([(b"[", b"]"), (b'{"a": ', b"}")])
    return (
        text[:start] + opened * depth + b"0" + closed * depth + text[start:].lstrip(b"0123456789")
    )


def _nodes(tree: Any, key: str) -> list[dict[str, Any]]:
    """The nodes that have a key."""
    return [box for box, name in places(tree) if name == key]


def _set(rng: Random, tree: Any) -> None:
    box, key = rng.choice(places(tree))
    box[key] = rng.choice(HOSTILE)


def _transplant(rng: Random, tree: Any) -> None:
    transplant(rng, places(tree))


def _delete(rng: Random, tree: Any) -> None:
    box, key = rng.choice(places(tree))
    del box[key]


def _rename(rng: Random, tree: Any) -> None:
    box, key = rng.choice(places(tree))
    if isinstance(box, dict):
        box[rng.choice(["__class__", "x", "predict", "__dict__", "fit", "_scores"])] = box.pop(key)


def _change_content(rng: Random, tree: Any) -> None:
    """Replace a number or string by another one, or by nothing."""
    nodes = _nodes(tree, "is_json")
    if nodes:
        node, other = rng.choice(nodes), rng.choice(nodes)
        node["content"] = rng.choice([*CONTENTS, other.get("content")])


def _change_class(rng: Random, tree: Any) -> None:
    """Replace a class or function by another one, of the model, the package, or elsewhere."""
    nodes = _nodes(tree, "__module__")
    if nodes:
        other = rng.choice(nodes)
        name = rng.choice([rng.choice(_names()), rng.choice(FOREIGN)])
        module, _, attribute = name.rpartition(".")
        pairs = [(other.get("__class__"), other["__module__"]), (attribute, module)]
        node = rng.choice(nodes)
        node["__class__"], node["__module__"] = rng.choice(pairs)


def _call_function(rng: Random, tree: Any) -> None:
    """Replace any node by a function, with arguments for it."""
    module, _, name = rng.choice([rng.choice(_names()), rng.choice(FOREIGN)]).rpartition(".")
    box, key = rng.choice(places(tree))
    function = {"module_path": module, "function": name}
    node = {"__class__": "function", "__module__": module, "__loader__": "FunctionNode"}
    box[key] = {**node, "content": function, "__id__": 7}


def _change_loader(rng: Random, tree: Any) -> None:
    nodes = _nodes(tree, "__loader__")
    if nodes:
        rng.choice(nodes)["__loader__"] = rng.choice(LOADERS)


def _change_reference(rng: Random, tree: Any) -> None:
    """Replace a reference by another file or object."""
    key = rng.choice(["file", "__id__"])
    nodes = _nodes(tree, key)
    if nodes:
        rng.choice(nodes)[key] = rng.choice(nodes)[key]


@cache
def _names() -> list[str]:
    """All functions and classes that the package defines."""
    found = set()
    for module in pkgutil.walk_packages(sklearn_crcrf.__path__, "sklearn_crcrf."):
        if not module.name.endswith("__main__"):
            members = vars(import_module(module.name)).values()
            own = [it for it in members if isinstance(it, FunctionType | type)]
            found |= {f"{it.__module__}.{it.__qualname__}" for it in own}
    return sorted(name for name in found if name.startswith("sklearn_crcrf."))


CHANGES = [
    *(_set, _set, _transplant, _transplant, _delete, _rename, _change_content, _change_content),
    *(_change_content, _change_class, _change_class, _call_function, _change_loader),
    *(_change_reference, _change_reference),
]
