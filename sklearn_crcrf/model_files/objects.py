"""Fitted estimators as a tree of JSON and arrays, and back.

None, strings, whole numbers, finite floats and bools are themselves. Everything else is a list: its
kind, and its parts, which are written in the same way. What occurs again is a reference to what
has been read before, by its number; so no object can contain itself.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.special

from ..serving.files import DTYPE
from ..utils.replaced_parts import parameter_names
from ..utils.unpacking import Budget
from .foreign import check_foreign
from .trust import LIMITED, PACKAGE, is_trusted

CONTAINERS: dict[str, type] = {it.__name__: it for it in (list, tuple, set, frozenset)}
DICTS: dict[str, type] = {it.__name__: it for it in (dict, OrderedDict)}
COMPRESSED = ("csr", "csc")
NUMBERS = "biuf"
OBJECTS = "|O"
# An array of no strings has a type, which its copies could take memory for; in bytes.
LARGEST_ITEM = 2**16
# Bytes of memory of a string, and of any value, beside its content.
STRING, VALUE = 64, 88
# Positions in the key of a Mersenne Twister, which NumPy does not check.
LAST_POSITION = 624


class UntrustedError(ValueError):
    """A file names a class or function that is not listed."""


class Writer:
    """Turns objects into trees, and keeps their arrays."""

    def __init__(self):
        self.arrays: dict[str, np.ndarray] = {}
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []

    def write(self, value: Any) -> Any:
        """Return the tree of an object."""
        if value is None or type(value) in (str, int, bool):
            return value
        if type(value) is float and math.isfinite(value):
            return value
        if id(value) in self._numbers:
            return ["ref", self._numbers[id(value)]]
        kind, *parts = self._parts(value)
        node = [kind, *map(self.write, parts)]
        self._numbers[id(value)] = len(self._kept)
        self._kept.append(value)
        return node

    def _parts(self, value: Any) -> Iterable[Any]:
        cls: Any = type(value)
        if cls is float:
            return "float", str(value)
        if cls is bytes:
            return "bytes", np.frombuffer(value, np.uint8)
        if isinstance(value, np.ndarray) and value.dtype == object:
            return "objects", value.shape, *value.ravel().tolist()
        if isinstance(value, np.generic):
            return "scalar", _full_name(cls), value.item()
        if isinstance(value, np.ndarray):
            return self._array(value)
        if sp.issparse(value):
            places = (value.indices, value.indptr) if value.format != "coo" else value.coords
            return "sparse", _full_name(cls), value.shape, value.data, *places
        if cls in DICTS.values():
            return cls.__name__, *chain.from_iterable(value.items())
        if cls in CONTAINERS.values():
            return cls.__name__, *value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return "named tuple", _full_name(cls), *value
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if cls is slice:
            return "slice", value.start, value.stop, value.step
        if cls is np.random.RandomState:
            return "RandomState", value.get_state(legacy=False)
        if f"{cls.__module__}.{cls.__name__}" == "sklearn.tree._tree.Tree":
            _, arguments, state = value.__reduce__()
            nodes = {name: state["nodes"][name] for name in state["nodes"].dtype.names}
            return "Tree", arguments, {**state, "nodes": nodes}
        if isinstance(value, type | np.ufunc) or hasattr(value, "__qualname__"):
            return "name", _full_name(value)
        return "object", _full_name(cls), value.__getstate__()

    def _array(self, array: np.ndarray) -> Iterable[Any]:
        if not DTYPE.fullmatch(array.dtype.str):
            raise ValueError(f"a model file cannot hold an array of type {array.dtype}")
        is_turned = array.flags.f_contiguous and not array.flags.c_contiguous
        name = str(len(self.arrays))
        self.arrays[name] = np.asarray(array.T if is_turned else array, order="C")
        return "array", name, is_turned


def _full_name(value: Any) -> str:
    """Return the name of a class or function, with the module that has it."""
    name, home = value.__name__, getattr(value, "__module__", None)
    for module in (np, scipy.special):  # their functions do not know, or are wrapped
        if home != "builtins" and getattr(module, name, None) is value:
            return f"{module.__name__}.{name}"
    return f"{home}.{getattr(value, '__qualname__', name)}"


class Reader:
    """Makes objects of trees, whose names have been checked.

    Parameters
    ----------
    arrays : mapping from str to ndarray
    budget : Budget
        The memory that objects may take, beside the text of the tree and these arrays.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], budget: Budget):
        self._arrays, self._budget = arrays, budget
        self._found: list[Any] = []
        self._sizes: list[int] = []
        self._size = 0

    def read(self, node: Any) -> Any:
        """Return the object that a tree describes.

        Raises
        ------
        UntrustedError
            If an attribute is not allowed.
        ValueError
            If the content does not fit together. Damaged content may raise other errors too.
        """
        if not isinstance(node, list):
            if not isinstance(node, str | int | float | None):
                raise ValueError(f"a {type(node).__name__} stands for an object")
            return node
        start = self._size
        kind, *parts = node
        values = [self.read(part) for part in parts]
        if kind == "ref":
            # It takes no memory, but who goes through all content meets it again.
            self._budget.take(VALUE * self._sizes[values[0]])
            self._size += self._sizes[values[0]]
            return self._found[values[0]]
        value = MAKERS[kind](self, *values)
        self._size += len(node)
        self._found.append(value)
        self._sizes.append(self._size - start)
        return value

    def _make_array(self, name: str, is_turned: bool) -> np.ndarray:
        array = self._arrays[name]
        if array.itemsize > max(array.nbytes, LARGEST_ITEM):
            raise ValueError(f"an array is of type {array.dtype}")
        # Lists of strings are compared.
        self._budget.take(STRING * array.size * (array.dtype.kind in "US"))
        array = array if array.flags.writeable else array.copy()
        return array.T if is_turned else array

    def _make_scalar(self, name: str, value: Any) -> Any:
        if not isinstance(value, str | int | float):
            raise ValueError(f"a {type(value).__name__} stands for a {name}")
        return _named(name)(value)

    def _make_dtype(self, name: str) -> np.dtype:
        if name != OBJECTS and not DTYPE.fullmatch(name):
            raise ValueError(f"{name!r} is not a type of arrays")
        dtype = np.dtype(name)
        if dtype.itemsize > LARGEST_ITEM:
            raise ValueError(f"{name!r} is a type of too large values")
        return dtype

    def _make_objects(self, shape: tuple[int, ...], *values: Any) -> np.ndarray:
        array = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            array[i] = value
        return array.reshape(shape)

    def _make_sparse(self, name: str, shape: Any, data: np.ndarray, *places: np.ndarray) -> Any:
        """Make a sparse array or matrix, after the check of all indices that SciPy leaves out."""
        cls = _named(name)
        if data.dtype.kind not in NUMBERS:
            raise ValueError(f"a {cls.__name__} holds {data.dtype}")
        if not cls.__name__.startswith(COMPRESSED):
            return cls((data, places), shape=shape)
        matrix = cls((data, *places), shape=shape)
        matrix.check_format(full_check=True)
        return matrix

    def _make_random_state(self, state: dict[str, Any]) -> np.random.RandomState:
        key, position = state["state"]["key"], state["state"]["pos"]
        if type(position) is not int or not 0 <= position <= LAST_POSITION:
            raise ValueError(f"the position of a RandomState is not from 0 to {LAST_POSITION}")
        if not np.any(key):  # numbers would be zero, and be asked for endlessly
            raise ValueError("the key of a RandomState is zero")
        random_state = np.random.RandomState()
        random_state.set_state(state)
        return random_state

    def _make_tree(self, arguments: tuple, state: dict[str, Any]) -> Any:
        from sklearn.tree._tree import Tree

        tree, columns = Tree(*arguments), state["nodes"]
        shapes = {np.shape(column) for column in columns.values()}
        if len(shapes) != 1 or len(shape := shapes.pop()) != 1:  # scikit-learn uses its length
            raise ValueError("the nodes of a tree are not columns of one length")
        nodes = np.zeros(shape, dtype=tree.__getstate__()["nodes"].dtype)
        for name, column in columns.items():
            nodes[name] = column
        tree.__setstate__({**state, "nodes": nodes})
        if not 0 < tree.node_count <= tree.capacity:
            raise ValueError(f"a tree of {tree.capacity} nodes claims {tree.node_count}")
        return tree

    def _make_object(self, name: str, state: dict[str, Any] | None) -> Any:
        """Make an instance with its attributes.

        None may hide a method, or what the class says of its parameters, and limited attributes
        have allowed values.
        """
        cls = _named(name)
        if not isinstance(state, dict | None):
            raise ValueError(f"the attributes of {cls.__name__} are a {type(state).__name__}")
        defaults = {field.name for field in fields(cls)} if is_dataclass(cls) else ()
        for attribute, value in (state or {}).items():
            hidden = None if attribute in defaults else getattr(cls, attribute, None)
            if callable(hidden) or isinstance(hidden, dict | tuple | list):
                what = "a method" if callable(hidden) else "of the class"
                raise UntrustedError(f"{cls.__name__}.{attribute} is {what}, not an attribute")
            allows, allowed = LIMITED.get(attribute, (None, None))
            if allows is not None and not allows(value):
                raise UntrustedError(f"{cls.__name__}.{attribute} must be {allowed}")
        instance = cls.__new__(cls)
        if hasattr(instance, "__setstate__"):
            if state is not None:
                instance.__setstate__(state)
        elif state is not None:
            instance.__dict__.update(state)
        if hasattr(cls, "_parameter_constraints") and cls.__module__.startswith(PACKAGE):
            # The class has a default of what an instance lacks.
            for parameter in sorted(parameter_names(cls) - vars(instance).keys()):
                raise ValueError(f"the {cls.__name__} has no attribute {parameter!r}")
            instance._validate_params()
        check_foreign(instance)
        return instance


def _named(name: str) -> Any:
    """Find the class or function of a full name."""
    module, _, name = name.rpartition(".")
    return getattr(import_module(module), name)


MAKERS: dict[str, Callable[..., Any]] = {
    "array": Reader._make_array,
    "bytes": lambda reader, array: array.tobytes(),
    "dtype": Reader._make_dtype,
    "float": lambda reader, text: float(text),
    "name": lambda reader, name: _named(name),
    "named tuple": lambda reader, name, *values: _named(name)(*values),
    "object": Reader._make_object,
    "objects": Reader._make_objects,
    "RandomState": Reader._make_random_state,
    "scalar": Reader._make_scalar,
    "slice": lambda reader, *values: slice(*values),
    "sparse": Reader._make_sparse,
    "Tree": Reader._make_tree,
    **{name: lambda reader, *values, cls=cls: cls(values) for name, cls in CONTAINERS.items()},
    **{
        name: lambda reader, *values, cls=cls: cls(zip(values[::2], values[1::2], strict=True))
        for name, cls in DICTS.items()
    },
}


def check_names(tree: Any) -> None:
    """Check all names of classes and functions in a tree, before any object is made.

    Raises
    ------
    UntrustedError
        If some are not listed; the message lists them.
    """
    refused, left = set(), [tree]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left.extend(node)
            kind, name = [*node, None, None][:2]
            if kind in NAMING and not is_trusted(kind, name):
                refused.add(str(name))
    if refused:
        raise UntrustedError(f"it holds {', '.join(sorted(refused))}")


# Kinds of nodes whose first part is a name.
NAMING = ("name", "named tuple", "object", "scalar", "sparse")
