"""The attributes around a token that predict its label, and their default exponents."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..counts import Template
from ..feature_extraction.window_templates import parse_places, places_name

__all__ = [
    "ContextExpert",
    "EdgeExpert",
    "Symbols",
    "chosen_experts",
    "context_experts",
    "edge_experts",
]

Symbols = Sequence[tuple[str, int]]
"""Columns, and offsets from the token."""


class ContextExpert(NamedTuple):
    """An attribute made of symbols around a token, and its exponents.

    Parameters
    ----------
    name : str
        For example ``"token[-1]|token[0]"``.
    template : Template
    known : float
        Exponent for tokens whose word was seen in training.
    unseen : float
        Exponent for all other tokens.
    broader : Template or None
        The template with fewer symbols whose estimate is the prior; None if the prior is the
        overall label distribution.
    """

    name: str
    template: Template
    known: float = 0.0
    unseen: float = 0.0
    broader: Template | None = None


class EdgeExpert(NamedTuple):
    """An attribute that raises the transition into a token.

    Parameters
    ----------
    template : Template
        Counted with pairs of labels.
    exponent : float
    strength : float
        Its prior, the label bigrams, counts as much as this number of observations.
    before, here : (Template, int)
        For the previous and the current label alone: the template that estimates it, and the
        position, among the symbols of the edge, of the symbol that it is given.
    """

    template: Template
    exponent: float
    strength: float
    before: tuple[Template, int]
    here: tuple[Template, int]


def context_experts(names: Sequence[str], features: Iterable[str]) -> Iterator[ContextExpert]:
    """All experts for these columns, the first of which holds the words.

    The last ones have exponents 0: no other default helped all corpora, so they take part
    only if exponents are fitted or given.

    Parameters
    ----------
    names : sequence of str
    features : iterable of str
        Spelling features of the words.

    Yields
    ------
    ContextExpert
    """
    word, *others = names
    scale = max(1, len(others)) ** -0.5
    yield _expert(_at(word, -1), 0.2, 0.45)
    yield _expert(_at(word, +1), 0.2, 0.35)
    yield _expert(_at(word, -1, 0), 0.25, broader=_at(word, 0))
    yield _expert(_at(word, 0, +1), 0.33, broader=_at(word, 0))
    yield _expert(_at(word, -2), 0.15, 0.25)
    yield _expert(_at(word, -1, +1), 0.25, 0.25)
    for offsets in ((2,), (-2, -1), (1, 2)):
        yield _expert(_at(word, *offsets), 0.07, 0.07)
    if "shape" in features:
        yield _expert(_at(f"{word}:shape", -1, 0), 0.2, 0.1)
        yield _expert(_at(f"{word}:shape", 0, +1), 0.12, 0.1)
    for column in others:
        # Windows of increasing length; each is the prior of the next.
        chain = [_at(column, *offsets) for offsets in ((0,), (0, 1), (-1, 0, 1))]
        for broader, symbols in zip([None, *chain], chain, strict=False):
            yield _expert(symbols, 0.7 * scale, 0.7 * scale, broader)
    yield from _more_experts(word, others, features)


def _more_experts(
    word: str, others: Sequence[str], features: Iterable[str]
) -> Iterator[ContextExpert]:
    offsets: tuple[int, ...]
    if "suffix3" in features:
        for offsets in ((-1,), (1,), (-1, 1)):
            yield _expert(_at(f"{word}:suffix3", *offsets))
    if "shape" in features:
        for offsets in ((-1,), (1,), (-1, 1), (-1, 0, 1)):
            yield _expert(_at(f"{word}:shape", *offsets))
    for column in others:
        for offsets in ((-1,), (1,), (-2, -1), (-1, 0), (1, 2), (-2, -1, 0), (0, 1, 2)):
            yield _expert(_at(column, *offsets))
        for word_offset, offset in ((0, 0), (0, 1), (0, -1), (-1, 0), (1, 0)):
            yield _expert([(word, word_offset), (column, offset)])


def chosen_experts(
    templates: Sequence[str], names: Sequence[str], features: Iterable[str]
) -> list[ContextExpert]:
    """The experts that a user names.

    The prior of an expert is the estimate of the expert with most of its symbols, if another one
    has some of them.

    Parameters
    ----------
    templates : sequence of str
        Such as ``"tag[-1]|tag[0]"``. The word alone is left out, as it always takes part.
    names, features : sequences of str
        As in :func:`context_experts`.

    Returns
    -------
    list of ContextExpert
        Experts with few symbols first.

    Raises
    ------
    ValueError
        If a template is not valid, or there twice.
    """
    word = names[0]
    columns = [*names, *(f"{word}:{feature}" for feature in features)]
    this_word = _at(word, 0)
    chosen = [parse_places(template, columns, "experts") for template in templates]
    of_symbols = {frozenset(symbols): symbols for symbols in [this_word, *chosen]}
    if len(of_symbols) < len({this_word}.union(chosen)) or len(set(chosen)) < len(chosen):
        raise ValueError(f"experts: some of {[*templates]} have the same symbols")
    chosen = sorted((symbols for symbols in chosen if symbols != this_word), key=len)
    exponent = max(1, len(chosen)) ** -0.5
    experts = []
    for symbols in chosen:
        inside = [s for own, s in of_symbols.items() if own < frozenset(symbols)]
        broader = max(inside, key=len, default=None)
        experts.append(_expert(symbols, exponent, exponent, broader))
    return experts


def edge_experts(names: Sequence[str], linked: bool = False) -> Iterator[EdgeExpert]:
    """The experts on transitions.

    Parameters
    ----------
    names : sequence of str
        As in :func:`context_experts`.
    linked : bool, default=False
        Whether transitions are along links other than from each token to the next one.

    Yields
    ------
    EdgeExpert
    """
    word, *others = names
    this_word, next_word = Template(_at(word, 0)), Template(_at(word, 1), linked=linked)
    pair = Template(_at(word, -1, 0), (-1, 0), linked)
    yield EdgeExpert(pair, 0.75, 1.6, before=(this_word, 0), here=(this_word, 1))
    single = Template(_at(word, 0), (-1, 0))
    yield EdgeExpert(single, 0.35, 6.0, before=(next_word, 0), here=(this_word, 0))
    scale = max(1, len(others)) ** -0.5
    for column in others:
        this = Template(_at(column, 0))
        pair = Template(_at(column, -1, 0), (-1, 0), linked)
        yield EdgeExpert(pair, 0.8 * scale, 3.0, before=(this, 0), here=(this, 1))


def _at(column: str, *offsets: int) -> tuple[tuple[str, int], ...]:
    return tuple((column, offset) for offset in offsets)


def _expert(
    symbols: Symbols, known: float = 0.0, unseen: float = 0.0, broader: Symbols | None = None
) -> ContextExpert:
    prior = Template(tuple(broader)) if broader else None
    return ContextExpert(places_name(symbols), Template(tuple(symbols)), known, unseen, prior)


def symbol_names(symbols: Symbols, linked: bool = False) -> list[str]:
    """Names such as ``"token[-1]"``, or ``"token[parent]"`` where offsets are along links."""
    places = {0: "0", -1: "parent"} if linked else {0: "0"}
    return [f"{column}[{places.get(offset, f'{offset:+d}')}]" for column, offset in symbols]
