"""Spelling features of unique words, as columns of symbols."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from unicodedata import category

import numpy as np

from ..data.symbols import SymbolTable
from ..data.vocabulary import Vocabulary

__all__ = ["DEFAULT_FEATURES", "SIMPLE_FEATURES", "spelling_table"]

_SIMPLE_SUFFIXES = ("ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies")
_LONGEST_SUFFIX = max(map(len, _SIMPLE_SUFFIXES))
_RUNS = [ord(c) for c in "Xxcd"]
_MARK = 0x110000  # no character has this code point
_SHAPE_LENGTH = 8
_LONG_SHAPE_LENGTH = 12

#: Spelling features for languages with and without upper case and inflection.
DEFAULT_FEATURES = (
    "lower",
    "shape",
    *(f"prefix{k}" for k in range(1, 4)),
    *(f"suffix{k}" for k in range(1, 6)),
    "capitalisation",
    "hyphen_part",
)

#: The eleven binary features of the papers on empirical training.
SIMPLE_FEATURES = (
    "simple:capital_or_digit",
    "simple:hyphen",
    *(f"simple:-{suffix}" for suffix in _SIMPLE_SUFFIXES),
)


def spelling_table(words: Iterable[str], features: Sequence[str] = DEFAULT_FEATURES) -> SymbolTable:
    """Compute spelling features of words, one column of symbols per feature.

    Parameters
    ----------
    words : iterable of n_words str
        Usually unique.
    features : sequence of str, default=DEFAULT_FEATURES
        Names of the columns to make:

        - ``"lower"``: the word in lower case.
        - ``"shape"``: upper case as X, lower case as x, letters without case as c, digits as d,
          runs of these collapsed, everything else kept, and cut to 8 characters.
        - ``"long_shape"``: like ``"shape"``, but with runs kept, and cut to 12 characters.
        - ``"prefix1"``, ``"prefix2"``, ...: the first characters.
        - ``"suffix1"``, ``"suffix2"``, ...: the last characters in lower case; a shorter word is
          marked as whole, ``"^word"``.
        - ``"capitalisation"``: which of these hold: first character upper case, all upper case,
          first character a digit, contains a hyphen.
        - ``"hyphen_part"``: the part after the last hyphen inside the word, in lower case; else
          empty.
        - ``"simple"``: which of the eleven binary features of [1]_ hold: starts with a digit or
          upper case; contains a hyphen; ends in -ing, -ogy, -ed, -s, -ly, -ion, -tion, -ity or
          -ies.
        - ``"simple:capital_or_digit"``, ``"simple:hyphen"``, ``"simple:-ing"``, ...: each of the
          eleven features alone, ``"True"`` or ``"False"``.

    Returns
    -------
    SymbolTable
        With n_words rows and the features as columns.

    Raises
    ------
    ValueError
        If a feature is unknown.

    References
    ----------
    .. [1] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction.spelling import spelling_table
    >>> table = spelling_table(["McDonald-like", "of"], ["shape", "suffix3", "hyphen_part"])
    >>> for name in table.names:
    ...     print(name, table.column(name).tolist())
    shape ['XxXx-x', 'x']
    suffix3 ['ike', '^of']
    hyphen_part ['like', '']
    """
    unique = _Words(list(words))
    columns = [_feature(name)(unique) for name in features]
    codes = np.array([codes for codes, _ in columns], dtype=np.int32)
    codes = codes.reshape(len(columns), len(unique.words)).T
    return SymbolTable(codes, [categories for _, categories in columns], list(features))


class _Words:
    """Words, and properties of them that several features need."""

    def __init__(self, words: list[str]):
        self.words = words

    @cached_property
    def lower(self) -> list[str]:
        return [w.lower() for w in self.words]

    @cached_property
    def marked(self) -> list[str]:
        return ["^" + w for w in self.lower]

    @cached_property
    def shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """The class of every character, as a code point, and the number of its word."""
        text = "".join(self.words)
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        classes = np.arange(points.max(initial=0) + 1, dtype=np.uint32)
        for character in set(text):
            classes[ord(character)] = _character_class(character)
        word = np.repeat(np.arange(len(self.words)), [len(w) for w in self.words])
        kept = classes[points] != _MARK
        return classes[points[kept]], word[kept]


def _character_class(character: str) -> int:
    if character.isupper() or character.istitle():
        return ord("X")
    if character.islower():
        return ord("x")
    if character.isalpha():
        return ord("c")
    if character.isdigit():
        return ord("d")
    return _MARK if category(character).startswith("M") else ord(character)


def _feature(name: str) -> Callable[[_Words], tuple]:
    """The function that makes the column of this name."""
    if name in _FEATURES:
        return _FEATURES[name]
    if name in SIMPLE_FEATURES:
        return lambda words: _single_flag(words, name.removeprefix("simple:"))
    match = re.fullmatch(r"(prefix|suffix)([1-9][0-9]*)", name) if isinstance(name, str) else None
    if match is None:
        raise ValueError(
            f"features: there is no spelling feature {name!r}; known are {[*_FEATURES]}, "
            f"'prefix1', 'suffix1', ..., and {[*SIMPLE_FEATURES]}"
        )
    length = int(match[2])
    if match[1] == "prefix":
        return lambda words: _intern([w[:length] for w in words.words])
    return lambda words: _intern([w[-length:] for w in words.marked])


def _intern(symbols: list[str]) -> tuple[np.ndarray, list[str]]:
    vocabulary = Vocabulary()
    return vocabulary.add(symbols), vocabulary.symbols


def _lower(words: _Words) -> tuple:
    return _intern(words.lower)


def _hyphen_part(words: _Words) -> tuple:
    ends = [w.rfind("-", 1, -1) for w in words.lower]
    return _intern([w[i + 1 :] if i > 0 else "" for w, i in zip(words.lower, ends, strict=True)])


def _shape(words: _Words) -> tuple:
    characters, word = words.shapes
    repeated = (np.diff(characters) == 0) & (np.diff(word) == 0)
    first = np.append(True, ~(repeated & np.isin(characters[1:], _RUNS)))[: len(word)]
    return _cut(characters[first], word[first], len(words.words), _SHAPE_LENGTH)


def _long_shape(words: _Words) -> tuple:
    return _cut(*words.shapes, len(words.words), _LONG_SHAPE_LENGTH)


def _cut(characters: np.ndarray, word: np.ndarray, n_words: int, length: int) -> tuple:
    """Write out code points as one string per word, of limited length."""
    text = characters.tobytes().decode("utf-32-le", "surrogatepass")
    lengths = np.bincount(word, minlength=n_words)
    starts = np.cumsum(lengths) - lengths
    ends = starts + np.minimum(lengths, length)
    return _intern([text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])


def _flag(words: list[str], name: str) -> np.ndarray:
    """Whether the property ``name`` holds, for each word."""
    if name == "initial":
        answers = [w[:1].isupper() for w in words]
    elif name == "digit":
        answers = [w[:1].isdigit() for w in words]
    elif name == "capital_or_digit":
        return _flag(words, "initial") | _flag(words, "digit")
    elif name == "capitals":
        answers = [w.isupper() for w in words]
    elif name == "hyphen":
        answers = ["-" in w for w in words]
    else:
        suffix = name.removeprefix("-")
        answers = [w.endswith(suffix) for w in words]
    return np.array(answers, dtype=bool)


def _single_flag(words: _Words, name: str) -> tuple:
    return _flag(words.words, name).astype(np.int32), ["False", "True"]


def _join_flags(flags: Sequence[np.ndarray], names: Sequence[str]) -> tuple:
    """One symbol per word that lists the flags that hold."""
    bits = sum(flag.astype(np.int32) << j for j, flag in enumerate(flags))
    values, codes = np.unique(bits, return_inverse=True)
    held = [[name for j, name in enumerate(names) if value >> j & 1] for value in values.tolist()]
    return codes, ["+".join(names) or "none" for names in held]


def _capitalisation(words: _Words) -> tuple:
    names = ("initial", "capitals", "digit", "hyphen")
    return _join_flags([_flag(words.words, name) for name in names], names)


def _simple(words: _Words) -> tuple:
    """The ``"simple"`` column; suffixes are searched in unique endings only."""
    names = [name.removeprefix("simple:") for name in SIMPLE_FEATURES]
    ending, endings = _intern([w[-_LONGEST_SUFFIX:] for w in words.words])
    flags = [
        _flag(endings, name)[ending] if name.startswith("-") else _flag(words.words, name)
        for name in names
    ]
    return _join_flags(flags, names)


_FEATURES = {
    "lower": _lower,
    "shape": _shape,
    "long_shape": _long_shape,
    "capitalisation": _capitalisation,
    "hyphen_part": _hyphen_part,
    "simple": _simple,
}
