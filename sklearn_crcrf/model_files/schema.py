"""Checks of the schema of a skops file: the tree of nodes that describes the objects.

skops trusts more names, and calls some without a check of their arguments. Here every node is
checked against the lists of :mod:`.trust` before any object is made.
"""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np

from .trust import LIMITED, is_trusted

# Older protocols have other kinds of nodes.
OLDEST_PROTOCOL = 2
# Number of bytes of a member.
HASHED = 2**20
# Positions in the key of a Mersenne Twister, which NumPy does not check.
LAST_POSITION = 624
# Of the header of an array, in bytes; NumPy refuses longer ones.
LONGEST = 2**16
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# How many bytes come before the text of a header, the last of which are its length.
START, LENGTH = {1: 10, 2: 12}, slice(8, 12)
# Arrays of one shape have the same header: how many headers are kept, and their largest size.
KEPT, SHORT = 256, 512


class UntrustedError(ValueError):
    """A file names a class or function that is not listed."""


def check_schema(schema: Any, members: Mapping[str, bytearray]) -> None:
    """Check all names and limited values of a schema.

    Parameters
    ----------
    schema : JSON
    members : mapping from name to bytearray
        The other members of the archive.

    Raises
    ------
    UntrustedError
        If it names classes or functions that are not listed; the message lists them.
    ValueError
        If it is not valid.
    """
    protocol = schema["protocol"]
    if type(protocol) is not int or protocol < OLDEST_PROTOCOL:
        raise ValueError(f"it is of protocol {protocol!r} of skops")
    nodes = list(nodes_of(schema))
    refused = set()
    for node in nodes:
        module, name = node["__module__"], node["__class__"]
        if not is_trusted(node["__loader__"], module, name):
            refused.add(f"{module}.{name}")
    if refused:
        raise UntrustedError(f"it holds {', '.join(sorted(refused))}")
    for node in nodes:
        check = CHECKS.get(node["__loader__"])
        if check is not None:
            check(node, members)
    _check_shared(schema, members)


def files_of(schema: Any) -> Iterator[tuple[str, str, Any]]:
    """The nodes that are read from members of the archive.

    Yields
    ------
    (kind, member, number)
        The kind of node, the name of the member, and the number of the object, if it has one:
        an object is read only once.
    """
    for node in nodes_of(schema):
        if "file" in node:
            yield node["__loader__"], node["file"], node.get("__id__")


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
    """All nodes of the tree."""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            # In a user's dict with such a key, its value is a node, not text.
            if isinstance(part.get("__loader__"), str):
                yield part
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)


def _check_object(node: dict[str, Any], members: Mapping[str, bytearray]) -> None:
    """Check that no attribute hides a method, or what the class says of its parameters; and that
    limited attributes have allowed values.
    """
    cls = getattr(import_module(node["__module__"]), node["__class__"])
    content = node.get("content")
    if content is None:
        return
    if (
        content["__loader__"] != "DictNode"
    ):  # other nodes could name attributes that are not checked
        raise ValueError(f"the attributes of {node['__class__']} are a {content['__loader__']}")
    defaults = {field.name for field in fields(cls)} if is_dataclass(cls) else ()
    for name, value in content["content"].items():
        hidden = None if name in defaults else getattr(cls, name, None)
        if callable(hidden) or isinstance(hidden, dict | tuple | list):
            what = "a method" if callable(hidden) else "of the class"
            raise UntrustedError(f"{node['__class__']}.{name} is {what}, not an attribute")
        if name in LIMITED:
            allows, allowed = LIMITED[name]
            if value["__loader__"] != "JsonNode" or not allows(json.loads(value["content"])):
                raise UntrustedError(f"{node['__class__']}.{name} must be {allowed}")


def _check_random_state(node: dict[str, Any], members: Mapping[str, bytearray]) -> None:
    position = json.loads(node["content"]["content"]["state"]["content"]["pos"]["content"])
    if type(position) is not int or not 0 <= position <= LAST_POSITION:
        raise ValueError(f"the position of a RandomState is {position!r}")


def _check_text(node: dict[str, Any], members: Mapping[str, bytearray]) -> None:
    if not isinstance(node["content"], str):
        raise ValueError("the content of a JsonNode is not text")


def _check_tree(node: dict[str, Any], members: Mapping[str, bytearray]) -> None:
    """Check that nodes are a 1-D array: scikit-learn uses its length."""
    nodes = node["content"]["content"]["nodes"]
    if nodes["__loader__"] != "NdArrayNode" or len(read_header(members[nodes["file"]]).shape) != 1:
        raise ValueError("the nodes of a tree are not an array of one dimension")


CHECKS = {
    "JsonNode": _check_text,
    "ObjectNode": _check_object,
    "RandomStateNode": _check_random_state,
    "TreeNode": _check_tree,
}


def _check_shared(schema: Any, members: Mapping[str, bytearray]) -> None:
    """Check that all nodes with the number of one object are equal.

    One of them is read and reused for the others. If they differed, content that was checked
    would not be the content that is read; and an object could contain itself.
    """
    said: dict[Any, Any] = {}
    contents: dict[Any, int] = {}

    def content(part: Any) -> int:
        """A number for the content of a node, apart from numbers of objects and names of files."""
        if isinstance(part, dict):
            number, file = part.get("__id__"), part.get("file")
            items = frozenset(
                (key, content(value))
                for key, value in part.items()
                if key not in ("__id__", "file") or isinstance(value, dict)
            )
            says: Any = items, _Content(members[file]) if isinstance(file, str) else None
        elif isinstance(part, list):
            number, says = None, tuple(map(content, part))
        else:
            number, says = None, repr(part)
        found = contents.setdefault(says, len(contents))
        if number and not isinstance(number, dict) and said.setdefault(number, found) != found:
            raise ValueError("two nodes have the number of one object, but differ")
        return found

    content(schema)


class _Content:
    """The content of a member, as a key. Only the start is hashed: large members are few."""

    def __init__(self, data: bytearray):
        self._data = data
        self._hash = hash(bytes(data[:HASHED]))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._data == other._data


class Header(NamedTuple):
    """The shape and type of an array, the number of bytes after the header, and their order."""

    shape: tuple[int, ...]
    dtype: np.dtype
    n_bytes: int
    order: Literal["C", "F"]


def read_header(data: bytes | bytearray) -> Header:
    """Read the header of an ``npy`` file.

    Raises
    ------
    ValueError
        If there is no header. Damaged data may raise other errors too.
    """
    first = START.get(data[6] if len(data) > LENGTH.stop else 0, 0)
    stop = first + int.from_bytes(data[LENGTH][: first - LENGTH.start], "little")
    read = _read if stop <= SHORT else _read.__wrapped__
    header = read(bytes(memoryview(data)[: min(stop or SHORT, LONGEST)]))
    return header._replace(n_bytes=len(data) - header.n_bytes)


@lru_cache(KEPT)
def _read(start: bytes) -> Header:
    """A header, with its own number of bytes."""
    file = io.BytesIO(start)
    shape, is_fortran, dtype = READERS[np.lib.format.read_magic(file)](file)
    return Header(shape, dtype, file.tell(), "F" if is_fortran else "C")
