"""The spelling features of one word, without any package."""

from unicodedata import category

__all__ = ["FEATURES", "spell"]

FEATURES = (
    *(f"suffix{k}" for k in range(1, 6)),
    "prefix1",
    "prefix3",
    "shape",
    "lower",
    "simple",
)
"""The features of :func:`spell`, as ``spelling_table`` of feature_extraction describes them."""

ENDINGS = ("ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies")
SHAPE_LENGTH = 8


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
    >>> spell("Öl-Ofen")[7:]
    ('Xx-Xx', 'öl-ofen', 'capital_or_digit+hyphen')
    """
    lower = word.lower()
    marked = "^" + lower
    suffixes = (marked[-k:] for k in range(1, 6))
    return (*suffixes, word[:1], word[:3], _shape(word), lower, _simple(word))


def _shape(word: str) -> str:
    shape = ""
    last = ""
    for character in word:
        kind = _class_of(character)
        if kind and (kind != last or kind not in "Xxcd"):
            shape += kind
            if len(shape) == SHAPE_LENGTH:
                break
        last = kind or last
    return shape


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
