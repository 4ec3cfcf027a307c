"""Spelling and windows that suit names, chunks and parts of speech."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from ._found_columns import FOUND_COLUMNS

_AFFIXES = tuple(f"{kind}{k}" for kind in ("prefix", "suffix") for k in range(1, 5))
#: The spelling features of each kind of labels.
SPELLING = {
    "names": (*_AFFIXES, "shape", "long_shape", "lower", "capitalisation", "hyphen_part"),
    "chunks": (*_AFFIXES, "shape", "long_shape"),
    "tags": (*_AFFIXES, "shape", "capitalisation", "hyphen_part"),
}


def preset_templates(kind: str, names: Sequence[str]) -> list[str]:
    """Return the templates of a :class:`Window` that suit a kind of labels.

    Parameters
    ----------
    kind : {"names", "chunks", "tags"}
    names : sequence of str
        The columns of the table; the first holds the token.

    Returns
    -------
    list of str

    Examples
    --------
    >>> preset_templates("tags", ["word", "suffix3"])[:5]
    ['word[-2]', 'word[-1]', 'word[0]', 'word[1]', 'word[2]']
    """
    token, *rest = names
    spelling, found = (_present(known, rest) for known in (SPELLING[kind], FOUND_COLUMNS))
    others = [name for name in rest if name not in (*spelling, *found)]
    return [*TEMPLATES[kind](token, spelling, others), *_found_templates(found)]


def _name_templates(token: str, spelling: list[str], others: list[str]) -> list[str]:
    around = ("lower", "shape", "long_shape", "capitalisation")
    beside = ("prefix3", "suffix2", "suffix3", "suffix4")
    templates = [
        *_at([token, *others], *range(-2, 3)),
        *_runs([token], 2, -1, 0),
        *_runs(others, 2, -2, 1),
        *_at(spelling, 0),
        *_at(_present(around, spelling), -2, -1, 1, 2),
        *_at(_present(beside, spelling), -1, 1),
    ]
    shapes = _present(["shape"], spelling)
    return [*templates, *_runs(shapes, 2, -1, 0), *_runs(shapes, 3, -1, -1)]


def _chunk_templates(token: str, spelling: list[str], others: list[str]) -> list[str]:
    joined = [(i, j) for i, j in product((-1, 0, 1), repeat=2) if i != j]
    return [
        *_at([token, *others], *range(-2, 3)),
        *_runs([token], 2, -1, 0),
        *_runs(others, 2, -2, 1),
        *_runs(others, 3, -2, 0),
        *(f"{token}[{i}]|{other}[{j}]" for other in others for i, j in [(0, 0), *joined]),
        *_at(spelling, 0),
        *_at(_present(["suffix2", "suffix3", "shape"], spelling), -1, 1),
    ]


def _tag_templates(token: str, spelling: list[str], others: list[str]) -> list[str]:
    return [
        *_at([token, *others], *range(-2, 3)),
        *_runs([token], 2, -1, 0),
        *_at(spelling, 0),
        *_at(_present(["suffix3", "shape"], spelling), -1, 1),
    ]


def _found_templates(found: Sequence[str]) -> list[str]:
    """Templates of the columns that FoundLabels adds."""
    elsewhere = _present(["word_in_document", "name_in_document", "longer_name"], found)
    joined = [*elsewhere, *_present(["found_second", "found_confidence"], found)]
    return [
        *_at(_present(["found"], found), *range(-2, 3)),
        *_at(_present(["word_in_document", "word_in_text"], found), -1, 0, 1),
        *_at(_present(FOUND_COLUMNS[3:], found), 0),
        *(f"found[0]|{column}[0]" for column in joined),
    ]


def _present(names: Iterable[str], columns: Sequence[str]) -> list[str]:
    return [name for name in names if name in columns]


def _at(columns: Sequence[str], *offsets: int) -> list[str]:
    return [f"{column}[{i}]" for column, i in product(columns, offsets)]


def _runs(columns: Sequence[str], length: int, first: int, last: int) -> list[str]:
    """Joins of neighbouring symbols that begin from ``first`` to ``last``."""
    return [
        "|".join(f"{column}[{i + k}]" for k in range(length))
        for column, i in product(columns, range(first, last + 1))
    ]


#: The function that makes the templates of each kind of labels.
TEMPLATES: dict[str, Callable[[str, list[str], list[str]], list[str]]] = {
    "names": _name_templates,
    "chunks": _chunk_templates,
    "tags": _tag_templates,
}
