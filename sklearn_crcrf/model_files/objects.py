"""The objects that a checked archive describes, without skops, which takes long to import.

Each kind of node in the schema has one function here. The names of classes and functions were
compared with the lists of :mod:`.trust` before, and the sizes of arrays with their headers.
"""

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .archive import Archive
from .foreign import check_foreign
from .schema import read_header

KEY_TYPES = (str, bool, int, float, np.generic)
COMPRESSED = ("csr", "csc")
NUMBERS = "biuf"


def objects_of(archive: Archive) -> Any:
    """The object at the root of an archive.

    Parameters
    ----------
    archive : Archive
        Its content must have been checked, see :func:`~.archive.checked_archive`.

    Raises
    ------
    ValueError
        If the content does not fit together. Damaged content may raise other errors too.
    """
    return _Reader(archive).read(archive.schema)


class _Reader:
    """Reads nodes; nodes with the number of one object give the same object."""

    def __init__(self, archive: Archive):
        self._members = archive.members
        self._found: dict[Any, Any] = {}

    def read(self, node: dict[str, Any]) -> Any:
        """The object that a node describes."""
        number = node.get("__id__")
        if number in self._found:
            return self._found[number]
        value = READERS[node["__loader__"]](self, node)
        if number:
            self._found[number] = value
        return value

    def read_all(self, nodes: list[dict[str, Any]]) -> list:
        """The objects that several nodes describe."""
        return [self.read(node) for node in nodes]

    def read_bytes(self, node: dict[str, Any]) -> bytes:
        """Bytes."""
        return bytes(self._members[node["file"]])

    def read_dict(self, node: dict[str, Any]) -> Any:
        """A dict; the keys in the schema are text."""
        types = self.read(node["key_types"])
        if not all(isinstance(t, type) and issubclass(t, KEY_TYPES) for t in types):
            raise ValueError("keys of a dict are of an unusual type")
        content = _named(node)()
        for key_type, (key, value) in zip(types, node["content"].items(), strict=False):
            content[key_type(key)] = self.read(value)
        return content

    def read_container(self, node: dict[str, Any]) -> Any:
        """A list, set, tuple or named tuple."""
        cls, content = _named(node), self.read_all(node["content"])
        return cls(*content) if hasattr(cls, "_fields") else cls(content)

    def read_called(self, node: dict[str, Any]) -> Any:
        """An object that is made of arguments."""
        return _named(node)(*self.read(node["content"]))

    def read_array(self, node: dict[str, Any]) -> Any:
        """An array, or a scalar of NumPy."""
        if node["type"] == "json":
            return self._object_array(node)
        array = _array(self._members[node["file"]])
        cls = _named(node)
        return array if cls is np.ndarray else cls(array)

    def _object_array(self, node: dict[str, Any]) -> np.ndarray:
        values = self.read_all(node["content"])
        if len(self.read(node["shape"])) != 1:
            return np.array(values, dtype=object)
        array = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            array[i] = value
        return array

    def read_sparse(self, node: dict[str, Any]) -> Any:
        """A sparse array or matrix."""
        arrays = {name: _array(data) for name, data in self._members[node["file"]].items()}
        cls, shape = _named(node), tuple(arrays["shape.npy"].tolist())
        data, form = arrays["data.npy"], arrays["format.npy"].item()
        if not cls.__name__.startswith(form if isinstance(form, str) else form.decode()):
            raise ValueError(f"a {cls.__name__} is in the format {form!r}")
        if cls.__name__.startswith(COMPRESSED):
            return _sparse(cls, data, (arrays["indices.npy"], arrays["indptr.npy"]), shape)
        if "coords.npy" in arrays:
            return _sparse(cls, data, (arrays["coords.npy"],), shape)
        return _sparse(cls, data, ((arrays["row.npy"], arrays["col.npy"]),), shape)

    def read_object(self, node: dict[str, Any]) -> Any:
        """An instance with its attributes."""
        cls = _named(node)
        content = node.get("content")
        instance = cls.__new__(cls)
        attributes: Any = None if content is None else self.read(content)
        if hasattr(instance, "__setstate__"):
            if attributes is not None:
                instance.__setstate__(attributes)
        elif attributes is not None:
            instance.__dict__.update(attributes)
        check_foreign(instance)
        return instance

    def read_random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        """A state of random numbers."""
        random_state = np.random.RandomState()
        state = self.read(node["content"])
        if not np.any(state["state"]["key"]):  # numbers would be zero, and be asked for endlessly
            raise ValueError("the key of a RandomState is zero")
        random_state.set_state(state)
        return random_state

    def read_tree(self, node: dict[str, Any]) -> Any:
        """A decision tree."""
        tree = _named(node)(*self.read(node["__reduce__"]["args"]))
        tree.__setstate__(self.read(node["content"]))
        if not 0 < tree.node_count <= tree.capacity:
            raise ValueError(f"a tree of {tree.capacity} nodes claims {tree.node_count}")
        return tree


def _named(node: dict[str, Any]) -> Any:
    """The class or function that a node names."""
    return getattr(import_module(node["__module__"]), node["__class__"])


def _sparse(cls: Any, data: np.ndarray, parts: tuple, shape: tuple[int, ...]) -> Any:
    """A sparse array or matrix, after the check of all indices that SciPy leaves out."""
    if data.dtype.kind not in NUMBERS:
        raise ValueError(f"a {cls.__name__} holds {data.dtype}")
    matrix = cls((data, *parts), shape=shape)
    if cls.__name__.startswith(COMPRESSED):
        matrix.check_format(full_check=True)
    return matrix


def _array(data: bytearray) -> np.ndarray:
    """An array in the memory of the file, unless it does not lie as the processor wants it."""
    shape, dtype, n_bytes, order = read_header(data)
    array: np.ndarray = np.ndarray(shape, dtype, data, len(data) - n_bytes, order=order)
    return array if array.flags.aligned else array.copy(order)


def _slice(reader: _Reader, node: dict[str, Any]) -> slice:
    content = node["content"]
    return slice(content["start"], content["stop"], content["step"])


READERS: dict[str, Callable[[_Reader, dict[str, Any]], Any]] = {
    "BytesNode": _Reader.read_bytes,
    "ConstructorFromReduceNode": _Reader.read_called,
    "DTypeNode": lambda reader, node: reader.read(node["content"]).dtype,
    "DictNode": _Reader.read_dict,
    "FunctionNode": lambda reader, node: _named(node),
    "JsonNode": lambda reader, node: json.loads(node["content"]),
    "ListNode": _Reader.read_container,
    "NdArrayNode": _Reader.read_array,
    "ObjectNode": _Reader.read_object,
    "RandomStateNode": _Reader.read_random_state,
    "SetNode": _Reader.read_container,
    "SliceNode": _slice,
    "SparseMatrixNode": _Reader.read_sparse,
    "TreeNode": _Reader.read_tree,
    "TupleNode": _Reader.read_container,
    "TypeNode": lambda reader, node: _named(node),
}
