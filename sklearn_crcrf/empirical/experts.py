"""The attributes around a token that predict its label, and their default exponents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..counts import Template
from ..feature_extraction.window_templates import parse_places, places_name
from ..utils.names import check_several

__all__ = [
    "ContextExpert",
    "EdgeExpert",
    "Experts",
    "Symbols",
    "all_experts",
    "chosen_experts",
    "context_experts",
    "edge_experts",
    "given_templates",
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

    def is_used(self, exponents: Mapping[str, float]) -> bool:
        """Whether the expert takes part, given exponents that replace the default."""
        names = [self.name, f"{self.name}/seldom", f"{self.name}/unseen"]
        return any([self.known, self.unseen, *(name in exponents for name in names)])


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


class Experts(NamedTuple):
    """The experts that may take part in a model.

    Parameters
    ----------
    contexts : list of ContextExpert
        A broader template comes before the templates whose prior it is.
    edges : list of EdgeExpert
    word : float
        Default exponent of the words, and of their spelling.
    linked : float
        Default exponent of the rates of linked labels, and of what symbols add to these rates.
    """

    contexts: list[ContextExpert]
    edges: list[EdgeExpert]
    word: float = 1.0
    linked: float = 1.0

    def templates(self, exponents: Mapping[str, float] | None) -> list[Template]:
        """The templates of the experts that take part; of all of them for None.

        An expert takes part if its exponent is given, or by default not 0.
        """
        experts: list[ContextExpert | EdgeExpert] = [
            expert for expert in self.contexts if exponents is None or expert.is_used(exponents)
        ]
        experts += self.edges
        return [*(expert.template for expert in experts), *given_templates(self.edges)]


def all_experts(names: Sequence[str], features: Iterable[str], links: str) -> Experts:
    """The experts of which exponents choose; parameters as of the functions below.

    Tokens with links of any kind have no order, so there are no experts on their neighbours.
    """
    contexts = [
        expert
        for expert in context_experts(names, features)
        if links != "any" or not any(offset for _, offset in expert.template.symbols)
    ]
    return Experts(contexts, [*edge_experts(names, links)])


def chosen_experts(
    templates: Sequence[str], names: Sequence[str], features: Iterable[str], links: str
) -> Experts:
    """The experts that a user names, and the experts on transitions that need only words.

    The prior of an expert is the estimate of the expert with most of its symbols, if another one
    has some of them. By default all have the same exponent, so that evidence that repeats itself
    does not add up; rates of linked labels, which repeat less of it, have its square root.

    Parameters
    ----------
    templates : sequence of str
        Such as ``"tag[-1]|tag[0]"``. The word alone is left out, as it always takes part.
    names, features, links
        As in :func:`context_experts` and :func:`edge_experts`.

    Returns
    -------
    Experts

    Raises
    ------
    ValueError
        If a template is not valid, or two have the same symbols.
    """
    word = names[0]
    columns = [*names, *(f"{word}:{feature}" for feature in features)]
    this_word = frozenset(_at(word, 0))
    by_symbols = {this_word: _at(word, 0)}
    check_several(templates, "experts")
    for template in templates:
        if not isinstance(template, str):
            raise ValueError(f"experts: {template!r} must be a str")
        places = parse_places(template, columns, "experts")
        symbols = frozenset(places)
        if symbols in by_symbols and symbols != this_word:
            raise ValueError(f"experts: {template!r} has the symbols of another template")
        by_symbols[symbols] = places
    exponent = len(by_symbols) ** -0.5
    experts = []
    for symbols in sorted(by_symbols, key=len):
        inside = [other for other in by_symbols if other < symbols]
        broader = by_symbols[max(inside, key=len)] if inside else None
        if symbols != this_word:
            experts.append(_expert(by_symbols[symbols], exponent, exponent, broader))
    return Experts(experts, [*edge_experts([word], links)], exponent, exponent**0.5)


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


def edge_experts(names: Sequence[str], links: str = "next") -> Iterator[EdgeExpert]:
    """The experts on transitions; none for links of any kind, which have no direction.

    Parameters
    ----------
    names : sequence of str
        As in :func:`context_experts`.
    links : {"next", "children", "any"}, default="next"
        How tokens are linked, as in :class:`~sklearn_crcrf.counts.observations.Encoder`.

    Yields
    ------
    EdgeExpert
    """
    if links == "any":
        return
    linked = links == "children"
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


def given_templates(edges: Sequence[EdgeExpert]) -> list[Template]:
    """The templates that estimate single labels for the experts on transitions."""
    return list(dict.fromkeys(t for edge in edges for t, _ in (edge.before, edge.here)))


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
