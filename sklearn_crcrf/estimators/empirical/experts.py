"""The attributes around a token that predict its label."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...counts import Template
from ...feature_extraction.window import parse_places, places_name
from ...utils.names import check_several
from .default_exponents import default_exponents, graph_exponents, uniform_exponents
from .model import Symbols

# Features of both words that transitions depend on, each with the exponent and the strength of its
# expert. Punctuation at the end of a word says where a part of an address or a name ends. Where
# labels are of segments, or more than this, label bigrams tell as much.
SPELLED = ("shape", 0.6, 10.0), ("suffix1", 0.4, 30.0)
MOST_LABELS = 40


class ContextExpert(NamedTuple):
    """An attribute made of symbols around a token.

    Parameters
    ----------
    name : str
        For example ``"token[-1]|token[0]"``.
    template : Template
    broader : Template or None
        The template with fewer symbols whose estimate is the prior; None if the prior is the
        overall label distribution.
    """

    name: str
    template: Template
    broader: Template | None = None

    @property
    def exponent_names(self) -> list[str]:
        """The names of its exponents, for words seen often, seldom and never."""
        return [self.name, f"{self.name}/seldom", f"{self.name}/unseen"]


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
    defaults : mapping from name to (float, float)
        Default exponents, for labels of segments and for other labels; 0 for names without one.
    """

    contexts: list[ContextExpert]
    edges: list[EdgeExpert]
    defaults: Mapping[str, tuple[float, float]]

    def templates(self, exponents: Mapping[str, float] | None) -> list[Template]:
        """Return the templates of the experts that take part; of all of them for None.

        An expert takes part if its exponent is given, or by default not 0 for labels of any kind.
        """
        by_default = {name for name, values in self.defaults.items() if any(values)}
        used = by_default.union(exponents or ())
        chosen = [e for e in self.contexts if not used.isdisjoint(e.exponent_names)]
        contexts = self.contexts if exponents is None else chosen
        edges = [expert.template for expert in self.edges]
        return [*(expert.template for expert in contexts), *edges, *given_templates(self.edges)]

    def for_labels(self, are_segments: bool, n_labels: int) -> "Experts":
        """Leave out experts that do not suit labels of segments, or this number of labels."""
        if not self.edges or (not are_segments and n_labels <= MOST_LABELS):
            return self
        word = self.edges[0].template.symbols[0][0]
        spelled = {f"{word}:{feature}" for feature, *_ in SPELLED}
        edges = [e for e in self.edges if e.template.symbols[0][0] not in spelled]
        dropped = {*given_templates(self.edges)} - {*given_templates(edges)}
        contexts = [e for e in self.contexts if e.template not in dropped]
        return self._replace(contexts=contexts, edges=edges)

    def exponents(self, are_segments: bool) -> dict[str, float]:
        """Default exponents by name; for labels of segments if ``are_segments``."""
        return {name: values[0 if are_segments else 1] for name, values in self.defaults.items()}


@lru_cache(maxsize=16)
def all_experts(
    names: tuple[str, ...], features: tuple[str, ...], links: str, has_words: bool = True
) -> Experts:
    """Return the experts of which exponents choose; parameters as of the functions below.

    Tokens with links of any kind have no order, so there are no experts on their neighbours. If
    there are no words, but the columns of a sparse X, rates of labels count in full.
    """
    contexts = [*context_experts(names, features)]
    if links == "any":
        here = [e for e in contexts if not any(offset for _, offset in e.template.symbols)]
        return Experts(here, [], graph_exponents(names))
    defaults = default_exponents(names, {e.name: e.template.symbols for e in contexts})
    if not has_words:
        defaults |= uniform_exponents([], 1.0, 1.0)
    return Experts(contexts, [*edge_experts(names, features, links)], defaults)


def chosen_experts(
    templates: Sequence[str], names: Sequence[str], features: Iterable[str], links: str
) -> Experts:
    """Return the experts that a user names, and the experts on transitions that need only words.

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
            experts.append(_expert(by_symbols[symbols], broader))
    defaults = uniform_exponents([expert.name for expert in experts], exponent, exponent**0.5)
    return Experts(experts, [*edge_experts([word], links=links)], defaults)


def context_experts(names: Sequence[str], features: Iterable[str]) -> Iterator[ContextExpert]:
    """All experts for these columns, the first of which holds the words.

    Those without a default exponent take part only if exponents are fitted or given.

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
    yield from _windows(word, [(-1,), (1,), (-2,), (-1, 1), (2,), (-2, -1), (1, 2)])
    for offsets in ((-1, 0), (0, 1)):
        yield _expert(_at(word, *offsets), broader=_at(word, 0))
    if "suffix3" in features:
        suffix = f"{word}:suffix3"
        yield from _windows(suffix, [(-1,), (1,), (-1, 1)])
        yield _expert([(word, -1), (suffix, 0)])
        yield _expert([(suffix, 0), (word, 1)])
    if "shape" in features:
        yield from _windows(f"{word}:shape", [(-1, 0), (0, 1), (-1,), (1,), (-1, 1), (-1, 0, 1)])
    # What the experts on transitions are given, without an exponent of their own by default.
    for feature, *_ in SPELLED:
        if feature in features:
            yield from _windows(f"{word}:{feature}", [(0,)])
    for column in others:
        # Windows of increasing length; each is the prior of the next.
        chain = [_at(column, *offsets) for offsets in ((0,), (0, 1), (-1, 0, 1))]
        yield from map(_expert, chain, [None, *chain])
        yield from _windows(
            column, [(-1,), (1,), (-2, -1), (-1, 0), (1, 2), (-2, -1, 0), (0, 1, 2)]
        )
        for word_offset, offset in ((0, 0), (0, 1), (0, -1), (-1, 0), (1, 0)):
            yield _expert([(word, word_offset), (column, offset)])


def _windows(column: str, offsets: Iterable[tuple[int, ...]]) -> Iterator[ContextExpert]:
    """Make experts on the symbols of a column at these offsets."""
    return (_expert(_at(column, *several)) for several in offsets)


def edge_experts(
    names: Sequence[str], features: Iterable[str] = (), links: str = "next"
) -> Iterator[EdgeExpert]:
    """Return the experts on transitions; none for links of any kind, which have no direction.

    Parameters
    ----------
    names, features
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
    yield _on_pair(word, 0.75, 1.6, linked)
    single = Template(_at(word, 0), (-1, 0))
    yield EdgeExpert(single, 0.35, 6.0, before=(next_word, 0), here=(this_word, 0))
    scale = max(1, len(others)) ** -0.5
    for column in others:
        yield _on_pair(column, 0.8 * scale, 3.0, linked)
    for feature, exponent, strength in SPELLED:
        if feature in features:
            yield _on_pair(f"{word}:{feature}", exponent, strength, linked)


def _on_pair(column: str, exponent: float, strength: float, linked: bool) -> EdgeExpert:
    """Make an expert on the symbols of two linked tokens in a column."""
    this, pair = Template(_at(column, 0)), Template(_at(column, -1, 0), (-1, 0), linked)
    return EdgeExpert(pair, exponent, strength, before=(this, 0), here=(this, 1))


def given_templates(edges: Sequence[EdgeExpert]) -> list[Template]:
    """Return the templates that estimate single labels for the experts on transitions."""
    return list(dict.fromkeys(t for edge in edges for t, _ in (edge.before, edge.here)))


def _at(column: str, *offsets: int) -> tuple[tuple[str, int], ...]:
    return tuple((column, offset) for offset in offsets)


def _expert(symbols: Symbols, broader: Symbols | None = None) -> ContextExpert:
    prior = Template(tuple(broader)) if broader else None
    return ContextExpert(places_name(symbols), Template(tuple(symbols)), prior)
