"""The columns of one sequence: what tokens hold, and what the steps of a pipeline make of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

from .._kernels.text.tokens import number_items
from ..utils.names import shown
from ..utils.spelling import marked, spelling_feature
from .content import Content

Column = list[str | None]
"""The symbols of all tokens; None for tokens that have none."""

Columns = dict[str, Column]
"""Columns by name."""

Step = Callable[[Columns], Columns]
"""What a transformer makes of the columns of one sequence."""

OUTSIDE = "<boundary"
FARTHEST = 1000


def read_columns(tokens: Iterable, names: Sequence[str]) -> Columns:
    """Return the columns of one sequence.

    Parameters
    ----------
    tokens : list of str, dict or tuple
        A str is the only column; the members of a tuple are the columns in their order.
    names : sequence of str

    Raises
    ------
    TypeError
        If a token or a symbol is of another kind; the message names its position.
    ValueError
        If a tuple has another length.

    Examples
    --------
    >>> from sklearn_crcrf.serving.columns import read_columns
    >>> read_columns([{"word": "the", "tag": "D"}, {"word": "dog"}], ["word", "tag"])
    {'word': ['the', 'dog'], 'tag': ['D', None]}
    """
    if isinstance(tokens, str | bytes | Mapping | Set) or not hasattr(tokens, "__iter__"):
        raise TypeError(
            f"tokens must be a list of the tokens of one sequence, but is {shown(tokens)}, of type "
            f"{type(tokens).__name__}"
        )
    rows = [_as_dict(token, names, t) for t, token in enumerate(tokens)]
    if not all(type(value) is str for row in rows for value in row.values()):
        # Columns "key:inner" of what is nested, and numbers as strings.
        keys, symbols, key_ids, symbol_ids, starts = number_items(rows, None)
        items = [(keys[k], symbols[i]) for k, i in zip(key_ids, symbol_ids, strict=True)]
        rows = [dict(items[start:stop]) for start, stop in pairwise(starts.tolist())]
    return {name: [row.get(name) for row in rows] for name in names}


def _as_dict(token: Any, names: Sequence[str], position: int) -> Mapping[str, Any]:
    """Return a token as a feature dict."""
    if isinstance(token, str) and len(names) == 1:
        return {names[0]: token}
    if isinstance(token, Mapping):
        return token
    if not isinstance(token, str) and hasattr(token, "__len__"):
        if len(token) != len(names):
            raise ValueError(
                f"tokens, position {position}: the token has {len(token)} columns, "
                f"but the model has {len(names)}"
            )
        return dict(zip(names, token, strict=True))
    what = "a str" if len(names) == 1 else "a dict or a tuple"
    raise TypeError(
        f"tokens, position {position}: the token must be {what}, but is {shown(token)}, of type "
        f"{type(token).__name__}"
    )


def reader_of(content: Content, finish: Callable[[Columns], list]) -> Callable[[Iterable], list]:
    """What reads the columns of a sequence, takes the steps, and makes the input of a kernel.

    Parameters
    ----------
    content : Content
        Its settings "input" and "steps" are checked.
    finish : callable
        Makes the input of the kernel of the last columns.
    """
    names = content.setting("input", list)
    if not all(isinstance(name, str) for name in names):
        raise ValueError("the setting 'input' is not valid")
    steps = [step_of(settings) for settings in content.setting("steps", list)]

    def read(tokens: Iterable) -> list:
        columns = read_columns(tokens, names)
        for step in steps:
            columns = step(columns)
        return finish(columns)

    try:
        read([])
    except KeyError as error:
        raise ValueError(f"the steps of the tagger make no column {error}") from error
    return read


def attributes_of(columns: Columns, separator: str) -> list[list[str]]:
    """Return the attributes of each token: the name of a column, the separator, and a symbol."""
    starts = [name + separator for name in columns]
    rows = zip(*columns.values(), strict=True)
    return [
        [a + s for a, s in zip(starts, symbols, strict=True) if s is not None] for symbols in rows
    ]


def step_of(settings: Any) -> Step:
    """Return the step that settings describe, which may come from a file.

    Parameters
    ----------
    settings : list of str and what the step of this kind needs

    Raises
    ------
    ValueError
        If they describe no step.
    """
    try:
        kind, *others = settings
        return STEPS[kind](*others)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"the step {settings!r:.80} of the tagger is not valid") from error


def _spelling_step(column: str, features: list[str]) -> Step:
    """Columns of the spelling of a column beside all others."""
    functions = {name: spelling_feature(name) for name in features}

    def add(columns: Columns) -> Columns:
        words = columns[column]
        spelled = [word or "" for word in words]
        lower, made = marked(spelled), {}
        for name, function in functions.items():
            symbols = zip(words, function(spelled, lower), strict=True)
            made[name] = [None if word is None else symbol for word, symbol in symbols]
        return columns | made

    return add


def _window_step(templates: list[list[tuple[str, int]]], names: list[str]) -> Step:
    """Columns of neighbouring symbols, alone or joined."""
    places = [[(str(column), int(offset)) for column, offset in template] for template in templates]
    if len(places) != len(names) or any(abs(k) > FARTHEST for p in places for _, k in p):
        raise ValueError("the templates are not valid")
    used = {place for template in places for place in template}
    joined = {place for template in places if len(template) > 1 for place in template}

    def make(columns: Columns) -> Columns:
        moved = {(column, k): _moved(columns[column], k) for column, k in used}
        parts = {place: as_parts(moved[place]) for place in joined}
        made: Columns = {}
        for name, template in zip(names, places, strict=True):
            if len(template) == 1:
                made[name] = moved[template[0]]
                continue
            rows = zip(*(parts[place] for place in template), strict=True)
            made[name] = [None if None in row else "|".join(row) for row in rows]
        return made

    return make


def _moved(column: Column, offset: int) -> Column:
    """Return the symbols an offset to the right of tokens."""
    if offset == 0:
        return column
    n, inside = len(column), as_neighbours(column)
    last = n - 1 if offset > 0 else 0
    return [inside[t] if 0 <= t < n else outside(t - last) for t in range(offset, offset + n)]


def outside(distance: int) -> str:
    """Return the symbol outside of a sequence, at a distance from its first or last token."""
    return f"{OUTSIDE}{distance:+d}>"


def as_neighbours(symbols: Iterable) -> list:
    """Escape symbols, or None, so that none looks like a symbol outside of the sequence."""
    return ["\\" + s if s is not None and OUTSIDE in s else s for s in symbols]


def as_parts(symbols: Iterable) -> list:
    """Escape symbols, or None, that are joined by bars."""
    return [
        s.replace("\\", "\\\\").replace("|", "\\|") if s and ("\\" in s or "|" in s) else s
        for s in symbols
    ]


def cluster_of(word: str | None, clusters: Mapping, ignore_case: bool) -> Any:
    """Return the cluster of a word, or of the word in lower case; None if it has none."""
    cluster = None if word is None else clusters.get(word)
    return clusters.get(word.lower()) if cluster is None and ignore_case and word else cluster


def _clusters_step(
    column: str, clusters: dict[str, str], lengths: dict[str, int | None], ignore_case: bool
) -> Step:
    """Columns of the clusters of the words of a column."""
    if not all(isinstance(cluster, str) for cluster in clusters.values()):
        raise ValueError("clusters must be str")

    def make(columns: Columns) -> Columns:
        found = [cluster_of(word, clusters, ignore_case) for word in columns[column]]
        return {
            name: [None if cluster is None else cluster[:length] for cluster in found]
            for name, length in lengths.items()
        }

    return make


# What makes the steps of each kind.
STEPS: dict[str, Callable[..., Step]] = {
    "spelling": _spelling_step,
    "window": _window_step,
    "clusters": _clusters_step,
}
