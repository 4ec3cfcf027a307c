"""The spelling features of one word, without any package."""

import re
from collections.abc import Callable
from functools import partial
from unicodedata import category

__all__ = ["FEATURES", "spell", "spelling_feature"]

FEATURES = (
    *(f"suffix{k}" for k in range(1, 6)),
    "prefix1",
    "prefix3",
    "prefix4",
    "shape",
    "long_shape",
    "lower",
    "simple",
)
"""The features of :func:`spell`, as ``spelling_table`` of feature_extraction describes them."""

ENDINGS = ("ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies")
SHAPE_LENGTH = 8
LONG_SHAPE_LENGTH = 12


def spell(word: str) -> tuple[str, ...]:
    """The symbols of ``FEATURES`` of a word.

    Parameters
    ----------
    word : str

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> spell("Öl-Ofen")[8:]
    ('Xx-Xx', 'Xx-Xxxx', 'öl-ofen', 'capital_or_digit+hyphen')
    """
    lower = word.lower()
    marked = "^" + lower
    suffixes = (marked[-k:] for k in range(1, 6))
    kinds = _kinds(word)
    long_shape = "".join(kinds[:LONG_SHAPE_LENGTH])
    prefixes = word[:1], word[:3], word[:4]
    return (*suffixes, *prefixes, _shape(kinds), long_shape, lower, _simple(word))


def spelling_feature(name: str) -> Callable[[str], str]:
    """The function that gives a spelling feature of a word.

    Parameters
    ----------
    name : str
        As in ``spelling_table`` of feature_extraction.

    Raises
    ------
    ValueError
        If there is no such feature.

    Examples
    --------
    >>> [spelling_feature(name)("Öl-Ofen") for name in ("hyphen_part", "suffix2")]
    ['ofen', 'en']
    """
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    kind, _, flag = name.partition(":")
    if kind == "simple" and flag in _FLAGS:
        return lambda word: str(_FLAGS[flag](word))
    match = re.fullmatch(r"(prefix|suffix)([1-9][0-9]*)", name)
    if match is None:
        raise ValueError(f"there is no spelling feature {name!r}")
    length = int(match[2])
    if match[1] == "prefix":
        return lambda word: word[:length]
    return lambda word: ("^" + word.lower())[-length:]


def _kinds(word: str) -> list[str]:
    """The classes of the characters of a word, without marks."""
    return [kind for kind in map(_class_of, word) if kind]


def _shape(kinds: list[str]) -> str:
    shape, last = "", ""
    for kind in kinds:
        if kind != last or kind not in "Xxcd":
            shape += kind
        last = kind
    return shape[:SHAPE_LENGTH]


def _class_of(character: str) -> str:
    if character.isupper() or character.istitle():
        return "X"
    if character.islower():
        return "x"
    if character.isalpha():
        return "c"
    if character.isdigit():
        return "d"
    return "" if category(character).startswith("M") else character


def _simple(word: str) -> str:
    names = "capital_or_digit", "hyphen", *(f"-{ending}" for ending in ENDINGS)
    return "+".join(name for name in names if _FLAGS[name](word)) or "none"


def _hyphen_part(word: str) -> str:
    lower = word.lower()
    at = lower.rfind("-", 1, -1)
    return lower[at + 1 :] if at > 0 else ""


def _capitalisation(word: str) -> str:
    names = "initial", "capitals", "digit", "hyphen"
    return "+".join(name for name in names if _FLAGS[name](word)) or "none"


def _ends_in(ending: str, word: str) -> bool:
    return word.endswith(ending)


_FLAGS: dict[str, Callable[[str], bool]] = {
    "initial": lambda word: word[:1].isupper(),
    "digit": lambda word: word[:1].isdigit(),
    "capital_or_digit": lambda word: word[:1].isupper() or word[:1].isdigit(),
    "capitals": str.isupper,
    "hyphen": lambda word: "-" in word,
    **{f"-{ending}": partial(_ends_in, ending) for ending in ENDINGS},
}
_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "shape": lambda word: _shape(_kinds(word)),
    "long_shape": lambda word: "".join(_kinds(word)[:LONG_SHAPE_LENGTH]),
    "simple": _simple,
    "hyphen_part": _hyphen_part,
    "capitalisation": _capitalisation,
}
