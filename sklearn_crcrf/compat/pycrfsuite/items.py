"""Sequences of attributes, in all forms that python-crfsuite takes."""

from collections.abc import Iterable, Iterator
from sys import intern
from typing import Any

SEPARATOR = ":"


class ItemSequence:
    """The attributes of all tokens of a sequence, and their values.

    Parameters
    ----------
    pyseq : iterable of tokens, or ItemSequence
        A token is a feature dict, whose values are numbers, strings, or dicts, lists and sets of
        more attributes; or an iterable of attributes, which have the value 1: so those of a string
        are its characters. Strings may also be bytes in UTF-8.

    Raises
    ------
    TypeError
        If a token, an attribute or a value is of another type.

    Examples
    --------
    >>> from sklearn_crcrf.compat.pycrfsuite import ItemSequence
    >>> ItemSequence([["foo"], {"bar": {"baz": 1}, "word": "the"}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0, 'word:the': 1.0}]
    """

    def __init__(self, pyseq: Iterable):
        self._items: list[dict[str, float]] = []
        for token in pyseq._items if isinstance(pyseq, ItemSequence) else pyseq:
            attributes: dict[str, float] = {}
            for name, value in _attributes(token):
                # Equal names are one object, for the memory of many sequences.
                attributes[intern(name)] = attributes.get(name, 0.0) + value
            self._items.append(attributes)

    def items(self) -> list[dict[str, float]]:
        """Return a dict from attributes to values for each token."""
        return [dict(attributes) for attributes in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def _attributes(token: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the attributes of a token, or of what is nested in it, and their values."""
    if not isinstance(token, dict):
        for name in token:
            yield prefix + text(name), 1.0
        return
    for key, value in token.items():
        name = prefix + text(key)
        if isinstance(value, dict | list | set):
            yield from _attributes(value, name + SEPARATOR)
        elif isinstance(value, str | bytes):
            yield name + SEPARATOR + text(value), 1.0
        else:
            yield name, float(value)


def text(name: Any, what: str = "an attribute") -> str:
    """Return a string, or bytes as a string; ``what`` names it in an error message."""
    if not isinstance(name, str | bytes):
        raise TypeError(f"{what} must be a str or bytes, got {name!r}")
    return str(name) if isinstance(name, str) else name.decode("utf-8")
