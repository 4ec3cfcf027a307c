"""The regular expressions of Wapiti, matched in many strings at once.

An expression is a sequence of characters and classes, each alone or with ``?`` or ``*``; there are
no groups. So whether the rest of an expression matches at a place in a string does not depend on
how the place was reached, and one pass over all places for each item, from the last item to the
first, finds all matches. The time is always the number of items times the length of the strings.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from unicodedata import category

import numpy as np


class RegexpError(ValueError):
    """An expression is invalid at character number ``at``."""

    def __init__(self, message: str, at: int):
        super().__init__(message)
        self.at = at


class Item(NamedTuple):
    """A character, ``"."`` or class, and how often it occurs: ``""``, ``"?"`` or ``"*"``."""

    character: str
    times: str


class Regexp(NamedTuple):
    """A parsed expression, and whether it is anchored at the start and the end of a string."""

    items: tuple[Item, ...]
    at_start: bool
    at_end: bool


def parse_regexp(text: str) -> Regexp:
    """Parse an expression.

    Parameters
    ----------
    text : str
        ``.`` is any character; ``\\a``, ``\\d``, ``\\l``, ``\\p``, ``\\s``, ``\\u`` and ``\\w`` are
        letters, digits, lower case, punctuation, space, upper case, and letters and digits; the
        same in upper case are all other characters. Any other character stands for itself, also
        after a backslash. ``*`` means any number, as few as possible, and ``?`` one if possible,
        else none. ``^`` as the first character anchors at the start of a string, ``$`` as the
        last one at the end.

    Returns
    -------
    Regexp

    Raises
    ------
    RegexpError
        If ``*`` or ``?`` follows no character, or nothing follows a backslash.
    """
    at_start = text.startswith("^")
    items, at = [], int(at_start)
    while at < len(text) and text[at:] != "$":
        if text[at] in "*?":
            raise RegexpError(f'there is no character before "{text[at]}"', at)
        character = text[at : at + 1 + (text[at] == "\\")]
        if character == "\\":
            raise RegexpError("there is no character after the backslash", at)
        at += len(character)
        times = text[at : at + 1] if text[at : at + 1] in ("*", "?") else ""
        items.append(Item(character, times))
        at += len(times)
    return Regexp(tuple(items), at_start, at < len(text))


def find(regexp: Regexp, strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the first match in each of many strings.

    Parameters
    ----------
    regexp : Regexp
    strings : sequence of n_strings str

    Returns
    -------
    start, stop : ndarray of shape (n_strings,)
        ``string[start:stop]`` is the match; start is -1 if there is none.
    """
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    last = np.cumsum(lengths + 1) - 1  # the end of a string is a separate place
    first = last - lengths
    text = "\0".join([*strings, ""])
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    is_end = np.zeros(len(text), dtype=bool)
    is_end[last] = True
    # From each place: whether the rest of the expression matches, and where such a match ends.
    matches = is_end.copy() if regexp.at_end else np.ones(len(text), dtype=bool)
    stop = np.arange(len(text))
    for item in reversed(regexp.items):
        meant = [*map(ord, filter(_meaning(item.character), set(text)))]
        holds = np.zeros(points.max(initial=0) + 1, dtype=bool)
        holds[meant] = True
        matches, stop = _before(holds[points] & ~is_end, item.times, matches, stop)
    start = first if regexp.at_start else _next(matches)[first]
    found = (start <= last) & matches[np.minimum(start, last)]
    return np.where(found, start - first, -1), stop[np.minimum(start, last)] - first


def _before(holds: np.ndarray, times: str, matches: np.ndarray, stop: np.ndarray) -> tuple:
    """Matches and stops of the expression with one more item before it."""
    if times == "*":
        place = _next(matches)
        return place <= _next(~holds), stop[np.minimum(place, len(stop) - 1)]
    once = holds & np.append(matches[1:], False)
    after = np.append(stop[1:], 0)
    if times == "?":
        return once | matches, np.where(once, after, stop)
    return once, after


def _next(flags: np.ndarray) -> np.ndarray:
    """Find the next place with a flag, from each place on; beyond the last if there is none."""
    place = np.where(flags, np.arange(len(flags)), len(flags))
    return np.minimum.accumulate(place[::-1])[::-1]


def _meaning(character: str) -> Callable[[str], bool]:
    if character == ".":
        return lambda c: True
    name = character.removeprefix("\\") or "\\"
    if character == name or name.lower() not in _CLASSES:
        return name.__eq__
    holds = _CLASSES[name.lower()]
    return holds if name.islower() else lambda c: not holds(c)


_CLASSES: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "d": str.isdigit,
    "l": str.islower,
    "p": lambda c: category(c)[0] in "PS",
    "s": str.isspace,
    "u": str.isupper,
    "w": lambda c: c.isalpha() or c.isdigit(),
}
