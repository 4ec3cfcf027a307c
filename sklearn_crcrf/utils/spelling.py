"""The spelling features of words.

Each is a function of a list of words, and of what :func:`marked` makes of them, which several need.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import compress
from operator import methodcaller
from unicodedata import category

Words = list[str]
Feature = Callable[[Words, Words], Words]

ENDINGS = ("ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies")
SHORT, SHAPE_LENGTH, LONG_SHAPE_LENGTH = 40, 8, 12
CAPITALISATION = ("initial", "capitals", "digit", "hyphen")
"""The flags that "capitalisation" joins."""
SIMPLE = ("capital_or_digit", "hyphen", *(f"-{ending}" for ending in ENDINGS))
"""The flags that "simple" joins."""


def marked(words: Words) -> Words:
    """Return words in lower case, each after a mark of its beginning."""
    return ["^" + word.lower() for word in words]


def spelling_feature(name: str) -> Feature:
    """Find the function of a spelling feature.

    Parameters
    ----------
    name : str
        As in :func:`~sklearn_crcrf.feature_extraction.spelling.spelling_table`.

    Raises
    ------
    ValueError
        If there is no such feature.

    Examples
    --------
    >>> words = ["Öl-Ofen", "of"]
    >>> spelling_feature("shape")(words, marked(words))
    ['Xx-Xx', 'x']
    """
    if name in FEATURES:
        return FEATURES[name]
    match = re.fullmatch(r"(prefix|suffix)([1-9][0-9]*)", name) if isinstance(name, str) else None
    if match is None:
        simple = [f"simple:{flag}" for flag in SIMPLE]
        known = [name for name in FEATURES if name not in simple]
        raise ValueError(
            f"features: there is no spelling feature {name!r}; known are {known}, 'prefix1', "
            f"'suffix1', ..., and {simple}"
        )
    length = int(match[2])
    if match[1] == "prefix":
        return lambda words, lower: [word[:length] for word in words]
    return lambda words, lower: [word[-length:] for word in lower]


class _Classes(dict):
    """The classes of characters by code point; marks have none."""

    def __missing__(self, point: int) -> str:
        kind = _class_of(chr(point))
        if point < 2**16:  # texts of strangers may have a million characters
            self[point] = kind
        return kind


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


_CLASSES = _Classes()


REPEATED = re.compile(r"([Xxcd])\1+")


def _collapse(classes: str) -> str:
    """Drop repeated classes of letters and digits."""
    return REPEATED.sub(r"\1", classes)


_collapse_short = lru_cache(maxsize=2**16)(_collapse)


def _shape(word: str) -> str:
    classes = word.translate(_CLASSES)
    collapse = _collapse_short if len(classes) <= SHORT else _collapse
    return collapse(classes)[:SHAPE_LENGTH]


def _hyphen_part(lower: str) -> str:
    at = lower.rfind("-", 2, -1)
    return lower[at + 1 :] if at > 0 else ""


def _capital_or_digit(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit()


FLAGS: dict[str, Callable[[str], bool]] = {
    "capital_or_digit": _capital_or_digit,
    "hyphen": lambda word: "-" in word,
    **{f"-{ending}": methodcaller("endswith", ending) for ending in ENDINGS},
}


@lru_cache
def _capitalisation_of(*holds: bool) -> str:
    """List the flags of CAPITALISATION that hold."""
    return "+".join(compress(CAPITALISATION, holds)) or "none"


# Of two endings in this list the longer one is found first.
ENDING = re.compile(rf"(?:{'|'.join(ENDINGS)})\Z")


def _simple(word: str) -> str:
    ending = ENDING.search(word, len(word) - 4) if word[-1:] in "gysdn" else None
    return _simple_of(_capital_or_digit(word), "-" in word, ending[0] if ending else "")


@lru_cache
def _simple_of(has_capital_or_digit: bool, has_hyphen: bool, ending: str) -> str:
    """List the flags of all words that begin and end like this."""
    holds = has_capital_or_digit, has_hyphen, *map(ending.endswith, ENDINGS)
    return "+".join(compress(SIMPLE, holds)) or "none"


def _flag(name: str, words: Words, lower: Words) -> Words:
    return ["True" if holds else "False" for holds in map(FLAGS[name], words)]


FEATURES: dict[str, Feature] = {
    "lower": lambda words, lower: [word[1:] for word in lower],
    "shape": lambda words, lower: [*map(_shape, words)],
    "long_shape": lambda words, lower: [
        word.translate(_CLASSES)[:LONG_SHAPE_LENGTH] for word in words
    ],
    "capitalisation": lambda words, lower: [
        _capitalisation_of(w[:1].isupper(), w.isupper(), w[:1].isdigit(), "-" in w) for w in words
    ],
    "hyphen_part": lambda words, lower: [*map(_hyphen_part, lower)],
    "simple": lambda words, lower: [*map(_simple, words)],
    **{f"simple:{flag}": partial(_flag, flag) for flag in SIMPLE},
}
