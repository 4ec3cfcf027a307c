"""Writes out the parameters that a docstring takes from another one, as in "X : as in fit"."""

import contextlib
import re
from importlib import import_module
from inspect import getdoc
from operator import attrgetter
from typing import Any

from numpydoc.docscrape import NumpyDocString

import sklearn_crcrf

ENTRY = re.compile(r"( *)([\w, *]+) : as (?:in|for) (.+)")
ROLE = re.compile(r":\w+:`~?([^`]+)`|``(\w+|__call__)``")


def write_out(app, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Replace ``X, y : as in :meth:`fit``` by what ``fit`` says of X and y."""
    for number in reversed(range(len(lines))):
        if (entry := ENTRY.fullmatch(lines[number])) and (source := find(entry[3], name, obj)):
            said = parameters(source, name, obj)
            wanted = entry[2].split(", ")
            if all(parameter in said for parameter in wanted):
                written = [line for parameter in wanted for line in said[parameter]]
                lines[number : number + 1] = [entry[1] + line for line in written]


def parameters(source: Any, name: str, obj: Any, depth: int = 3) -> dict[str, list[str]]:
    """The lines about each parameter in the docstring of a function or class."""
    said = {}
    for names, kind, description in NumpyDocString(getdoc(source) or "")["Parameters"]:
        entry = ENTRY.fullmatch(f"{names} : {kind}")
        further = find(entry[3], name, obj) if entry else None
        others = parameters(further, name, obj, depth - 1) if further and depth else {}
        for parameter in names.split(", "):
            own = [f"{parameter} : {kind}", *(f"    {line}" for line in description)]
            said[parameter] = others.get(parameter, own)
    return said


def find(reference: str, name: str, obj: Any) -> Any:
    """What a reference in the docstring of an object, or of a method, means."""
    owner = resolved(name.rpartition(".")[0])
    role = ROLE.match(reference)
    if role is None:
        return None
    target = role[1] or role[2]
    module = import_module(getattr(obj, "__module__", None) or "sklearn_crcrf")
    for place in (owner, module, sklearn_crcrf):
        with contextlib.suppress(AttributeError):
            return attrgetter(target)(place)
    with contextlib.suppress(ImportError):
        return resolved(target)
    return None


def resolved(path: str) -> Any:
    """The object that a dotted path names."""
    names = path.split(".")
    value = import_module(names[0])
    for i, name in enumerate(names[1:], 2):
        try:
            value = getattr(value, name)
        except AttributeError:
            value = import_module(".".join(names[:i]))
    return value
