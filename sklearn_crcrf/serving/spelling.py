"""The spelling features of one word, without any package."""

from unicodedata import category

__all__ = ["FEATURES", "spell"]

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
    kinds = [kind for kind in map(_class_of, word) if kind]
    long_shape = "".join(kinds[:LONG_SHAPE_LENGTH])
    prefixes = word[:1], word[:3], word[:4]
    return (*suffixes, *prefixes, _shape(kinds), long_shape, lower, _simple(word))


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
    held = ["capital_or_digit"] if word[:1].isupper() or word[:1].isdigit() else []
    held += ["hyphen"] if "-" in word else []
    held += [f"-{ending}" for ending in ENDINGS if word.endswith(ending)]
    return "+".join(held) or "none"
