"""Requirements of empirical models: the shapes and ranges that kernels rely on."""

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np

from ...counts.labelled import ATTRIBUTES
from ...counts.lexicon import Lexicon
from ...counts.observations import Encoder
from ...counts.rows import FLOOR
from ...counts.soundness import (
    counts_requirements,
    index_requirements,
    indexed,
    n_codes,
    state_requirements,
)
from ...counts.triangles import TRIANGLES
from ...utils.soundness import Array, Fact, Requirement, below, indices, sparse
from .exponents import N_KINDS, Exponents
from .frequencies import FrequencyModel
from .model import Statistics
from .product_spelling import ProductSpelling
from .run_rates import RunRates
from .segment_rates import EVIDENCE, SegmentRates, segment_roles, segment_templates
from .signature_spelling import (
    HOLDS,
    N_SIGNATURES,
    JointSpelling,
    MaxEntSpelling,
    MeanSpelling,
    SignatureSpelling,
)
from .smoothed import RAISING, SmoothedModel
from .triangle_rates import TriangleRates
from .type_rates import TypeRates

__all__ = [
    "model_requirements",
    "run_requirements",
    "segment_type_requirements",
]


def run_requirements(rates: RunRates, n_labels: int, n: int) -> Iterator[Requirement]:
    """Requirements of the rates of n labels in a row."""
    yield Fact("_run_rates", isinstance(rates, RunRates), "must be RunRates")
    yield Fact("_n_labels", rates._n_labels == n_labels, f"must be {n_labels}")
    for keys, values, length in (("_contexts", "_unseen", n - 1), ("_keys", "_scores", n)):
        shape = (len(getattr(rates, keys)),)
        yield indices(keys, getattr(rates, keys), shape, n_labels**length)
        yield Array(values, getattr(rates, values), shape)
    yield Fact("exponent", bool(np.isfinite(rates.exponent)), "must be finite")


@singledispatch
def model_requirements(model: Any, encoder: Encoder, n_labels: int) -> Iterator[Requirement]:
    """Requirements of a model whose symbols an encoder knows, with ``n_labels`` labels."""
    yield Fact("model_", False, f"must be a model, but is a {type(model).__name__}")


@model_requirements.register
def _(model: SmoothedModel, encoder: Encoder, n_labels: int) -> Iterator[Requirement]:
    statistics, spelling, n = model.statistics, model.spelling, n_labels
    yield from below("statistics", _statistics_requirements(statistics, encoder, n))
    yield from below("spelling", spelling_requirements(spelling, encoder.lexicon, n))
    yield from indexed("_contexts", model._contexts, encoder)
    sizes = [len(index) for _, index in model._contexts]
    sizes = [spelling.coef.shape[0], len(encoder.lexicon), *sizes]
    n_slots = len(spelling.names) + len(sizes) - 1
    yield from below("exponents", _exponents_requirements(model.exponents, n_slots))
    yield from below("state", state_requirements(model.state, sizes, (N_KINDS, n_slots), n))
    for name, shape in (("inner", (n, n)), ("begin", (n,)), ("end", (n,))):
        yield Array(f"transitions.{name}", getattr(model.transitions, name), shape)
    yield from indexed("_edges", model._edges, encoder)
    sizes = [len(index) for _, index in model._edges]
    # An edge may only raise a transition.
    yield from sparse("edge_coef", model.edge_coef, (sum(sizes), n * n), least=0.0)
    for name in RAISING:
        raises = name not in model.exponents.names or model.exponents[name] >= 0.0
        yield Fact("exponents", raises, f"of {name} must not be negative")
    if encoder.edge_types is not None:
        rates: Any = model.type_rates
        yield Fact("type_rates", isinstance(rates, TypeRates), "must be TypeRates")
        shape = len(encoder.edge_types), n * n
        yield from sparse("type_rates.coef", rates.coef, shape, least=0.0)
        yield Fact("exponents", "edge types" in model.exponents.names, "must have edge types")
    else:
        yield Fact("type_rates", model.type_rates is None, "must be None")
    if TRIANGLES in statistics.counts:
        yield from below("triangle_rates", _triangle_requirements(model.triangle_rates, encoder, n))
        yield Fact("exponents", "cliques" in model.exponents.names, "must have cliques")
    else:
        yield Fact("triangle_rates", model.triangle_rates is None, "must be None")
    if model.segments is not None:
        yield from below("segments", _segment_requirements(model.segments, encoder))
        has_all = {evidence.exponent for evidence in EVIDENCE} <= {*model.exponents.names}
        yield Fact("exponents", has_all, "must have the exponents of segments")
    starts = np.cumsum([0, *sizes[:-1]])
    yield indices("_edge_starts", model._edge_starts, starts.shape, sum(sizes) + 1)
    yield Fact("_edge_starts", np.array_equal(model._edge_starts, starts), f"must be {starts}")
    if ATTRIBUTES in statistics.counts:
        yield from sparse("attributes", model.attributes, (encoder.n_weighted, n))


@model_requirements.register
def _(model: FrequencyModel, encoder: Encoder, n_labels: int) -> Iterator[Requirement]:
    spelling, n = model.spelling, n_labels
    yield from below("statistics", _statistics_requirements(model.statistics, encoder, n))
    yield from below("spelling", spelling_requirements(spelling, encoder.lexicon, n))
    yield Fact("_floor", model._floor in (FLOOR, -np.inf), f"must be {FLOOR} or -inf")
    yield Array("_has_zeros", model._has_zeros, (N_KINDS,), kind="b")
    sizes, n_slots = [spelling.coef.shape[0], len(encoder.lexicon)], len(spelling.names) + 1
    yield from below("exponents", _exponents_requirements(model.exponents, n_slots))
    yield from below("state", state_requirements(model.state, sizes, (N_KINDS, n_slots), n))
    pair = FrequencyModel.templates(encoder)[1]
    yield from indexed("_index", [(pair, model._index)], encoder)
    shape = len(model._index), n * n
    yield from sparse("_pairs", model._pairs, shape, has_order=True)
    yield from sparse("_label_pairs", model._label_pairs, (1, n * n), has_order=True)
    yield from below("spelling", pair_requirements(spelling, n))


def segment_type_requirements(
    rates: SegmentRates | None, classes: np.ndarray
) -> Iterator[Requirement]:
    """Requirements of what was counted of segments, if it was, given the labels."""
    if rates is not None:
        n_types = len(segment_roles(classes).types)
        yield Fact("spelled", rates.spelled.shape[1] == n_types, f"must have {n_types} columns")


def _segment_requirements(rates: SegmentRates, encoder: Encoder) -> Iterator[Requirement]:
    yield Fact("segments", isinstance(rates, SegmentRates), "must be SegmentRates")
    templates = [template for template, _ in rates._slots]
    expected = segment_templates(encoder.names[0])
    yield Fact("_slots", templates == expected, "must be of the templates of segments")
    yield from indexed("_slots", rates._slots, encoder)
    sizes = [len(index) for _, index in rates._slots]
    starts = np.cumsum([0, *sizes[:-1]])
    yield indices("_starts", rates._starts, starts.shape, sum(sizes) + 1)
    yield Fact("_starts", np.array_equal(rates._starts, starts), f"must be {starts}")
    yield Array("seen", rates.seen, (sum(sizes),), most=0.0)
    shape = sum(sizes), rates.spelled.shape[1]
    yield from sparse("spelled", rates.spelled, shape, least=0.0)


def _triangle_requirements(rates: Any, encoder: Encoder, n_labels: int) -> Iterator[Requirement]:
    yield Fact("triangle_rates", isinstance(rates, TriangleRates), "must be TriangleRates")
    yield Fact("_is_directed", isinstance(rates._is_directed, bool), "must be True or False")
    yield from below("kinds", index_requirements(rates.kinds, [n_codes(encoder)] * 3))
    yield from sparse("coef", rates.coef, (len(rates.kinds), n_labels**3), least=0.0)


def _statistics_requirements(
    statistics: Statistics, encoder: Encoder, n_labels: int
) -> Iterator[Requirement]:
    yield Fact("encoder", statistics.encoder is encoder, "must be the encoder of the estimator")
    yield Fact("word", statistics.word == encoder.names[0], "must be the column of words")
    yield Fact("n_labels", statistics.n_labels == n_labels, f"must be {n_labels}")
    yield from sparse("by_word", statistics.by_word, (len(encoder.lexicon), n_labels), least=0.0)
    yield Array("n_seen", statistics.n_seen, (len(encoder.lexicon),), 0.0)
    yield Array("label_prior", statistics.label_prior, (n_labels,), 0.0, 1.0)
    yield from below("counts", counts_requirements(statistics.counts, encoder, n_labels, ()))


def _exponents_requirements(exponents: Exponents, n_slots: int) -> Iterator[Requirement]:
    n = len(exponents.names)
    yield Array("values", exponents.values, (n,))
    yield indices("_which", exponents._which, (N_KINDS, n_slots), n)
    yield Array("_factors", exponents._factors, (N_KINDS, n_slots))


@singledispatch
def spelling_requirements(spelling: Any, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
    """Requirements of a spelling model with ``n_labels`` labels."""
    yield Fact("coef", False, f"must be of a spelling model, not of {type(spelling).__name__}")


@spelling_requirements.register
def _(spelling: ProductSpelling, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
    has_same = [*lexicon.features] == spelling.names[1:]
    yield Fact("names", has_same, "must be the features of the lexicon")
    sizes = [len(known) for known in lexicon._spellings]
    yield Array("exponents", spelling.exponents, (len(sizes) + 1,))
    yield indices("_places", spelling._places, (len(sizes) + 1,), sum(sizes) + 1)
    given = np.diff(spelling._places)
    fits = spelling._places[0] == 0 and bool((given >= 0).all() and (given <= sizes).all())
    yield Fact("_places", fits, f"must rise by no more than {sizes}")
    rows = spelling._rows
    yield indices("_rows", rows, (int(spelling._places[-1]) + 1,), 2**31, -1)
    known = np.flatnonzero(rows >= 0)
    in_order = np.array_equal(rows[known], np.arange(1, len(known) + 1)) and rows[-1] == -1
    yield Fact("_rows", in_order, "must rise by 1 where they are not -1")
    starts = 1 + np.searchsorted(known, spelling._places)
    yield Fact("_starts", np.array_equal(spelling._starts, starts), f"must be {starts}")
    yield from sparse("coef", spelling.coef, (int(starts[-1]), n_labels))


@spelling_requirements.register
def _(spelling: SignatureSpelling, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
    has_same = lexicon.features == spelling.features
    yield Fact("features", has_same, "must be the features of the lexicon")
    known = len(lexicon._spellings[0])
    yield Fact("features", known == N_SIGNATURES, f"must have {N_SIGNATURES} symbols")
    yield from sparse("coef", spelling.coef, (N_SIGNATURES, n_labels))
    yield Array("label_prior", spelling.label_prior, (n_labels,), 0.0, 1.0)
    yield Array("probability", spelling.probability, (N_SIGNATURES, n_labels), 0.0, 1.0 + 1e-6)


@singledispatch
def pair_requirements(spelling: Any, n_labels: int) -> Iterator[Requirement]:
    """Requirements of a spelling model's estimates for pairs of labels."""
    yield from sparse("_no_pairs", spelling._no_pairs, (1, n_labels**2))


@pair_requirements.register
def _(spelling: JointSpelling, n_labels: int) -> Iterator[Requirement]:
    shape = N_SIGNATURES**2, n_labels**2
    yield from sparse("_pairs", spelling._pairs, shape, 0.0, has_order=True)


@pair_requirements.register
def _(spelling: MeanSpelling, n_labels: int) -> Iterator[Requirement]:
    yield from sparse("_pairs", spelling._pairs, (HOLDS.shape[1] ** 2, n_labels**2), 0.0)


@pair_requirements.register
def _(spelling: MaxEntSpelling, n_labels: int) -> Iterator[Requirement]:
    pairs = spelling._label_pairs
    yield indices("_label_pairs", pairs, (len(pairs),), n_labels**2)
    yield Fact("_label_pairs", bool((np.diff(pairs) > 0).all()), "must rise")
    if len(pairs):
        yield Array("_weights", spelling._weights, (1 + 2 * HOLDS.shape[1], len(pairs)))
