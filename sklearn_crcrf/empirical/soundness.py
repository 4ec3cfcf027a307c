"""What is true of the parts of a counted model: the shapes and ranges that kernels rely on."""

from collections.abc import Iterator, Sequence
from functools import singledispatch
from numbers import Integral
from typing import Any

import numpy as np

from ..counts import BOUNDARY, Counts, Template
from ..utils.soundness import Array, Fact, Requirement, below, indices, sparse
from ..vocabulary import Vocabulary
from .exponents import N_KINDS, Exponents
from .frequencies import FrequencyModel
from .lexicon import Lexicon
from .model import Statistics
from .observations import ATTRIBUTES, Encoder
from .product_spelling import ProductSpelling
from .rows import FLOOR, KeyIndex
from .signature_spelling import (
    HOLDS,
    N_SIGNATURES,
    JointSpelling,
    MaxEntSpelling,
    MeanSpelling,
    SignatureSpelling,
)
from .smoothed import SmoothedModel
from .trigrams import TrigramRates
from .weights import StateWeights

__all__ = [
    "counts_requirements",
    "encoder_requirements",
    "model_requirements",
    "n_symbols",
    "state_requirements",
    "trigram_requirements",
]


def encoder_requirements(encoder: Encoder, n_columns: Any) -> Iterator[Requirement]:
    """What is true of an encoder of so many columns, if X has any."""
    word, *others = encoder.names
    yield Fact("names", all(isinstance(n, str) for n in (word, *others)), "must be strings")
    vocabularies = encoder._vocabularies
    of_columns = isinstance(vocabularies, dict) and list(vocabularies) == others
    yield Fact("_vocabularies", of_columns, "must be by the name of each column but the words")
    of_lexicon = [encoder.lexicon.words, *encoder.lexicon._spellings]
    are_known = all(isinstance(v, Vocabulary) for v in [*of_lexicon, *vocabularies.values()])
    yield Fact("_vocabularies", are_known, "must be Vocabularies")
    n = encoder.n_attributes
    are_columns = n is None or (isinstance(n, Integral) and 0 <= n == n_columns)
    yield Fact("n_attributes", are_columns, f"must be the number of columns, {n_columns}")
    yield from below("lexicon", _lexicon_requirements(encoder.lexicon))


def _lexicon_requirements(lexicon: Lexicon) -> Iterator[Requirement]:
    yield Fact("features", len(lexicon._spellings) == len(lexicon.features), "must have symbols")
    shape = len(lexicon.words), len(lexicon.features)
    yield indices("spelling", lexicon.spelling, shape, 2**31)
    for feature, ids, known in zip(
        lexicon.features, lexicon.spelling.T, lexicon._spellings, strict=True
    ):
        yield indices(f"spelling, {feature!r},", ids, shape[:1], len(known))


def n_symbols(encoder: Encoder, column: str) -> int:
    """How many symbols a column has."""
    word = encoder.names[0]
    if column == word:
        return len(encoder.lexicon)
    if column in encoder._vocabularies:
        return len(encoder._vocabularies[column])
    features = encoder.lexicon.features
    return len(encoder.lexicon._spellings[features.index(column.removeprefix(f"{word}:"))])


def _sizes(encoder: Encoder, template: Template) -> list[int]:
    """How many symbols there are of each of a template."""
    if template == ATTRIBUTES:
        return [encoder.n_attributes]
    return [n_symbols(encoder, column) for column, _ in template.symbols]


def counts_requirements(
    counts: Counts, encoder: Encoder, n_labels: int, needed: Sequence[Template]
) -> Iterator[Requirement]:
    """What is true of counts of these symbols and of so many labels.

    Parameters
    ----------
    counts : Counts
    encoder : Encoder
    n_labels : int
    needed : sequence of Template
        What must have been counted.
    """
    yield Fact("counts", isinstance(counts, Counts), "must be Counts")
    missing = [template for template in needed if template not in counts]
    yield Fact("templates", not missing, f"must have {missing}")
    for template, (events, weights) in counts.items():
        name = f"tables[{template}]"
        sizes = [*_sizes(encoder, template), *[n_labels] * len(template.labels)]
        yield Array(f"{name}.weights", weights, (len(weights),), np.finfo(float).tiny)
        yield indices(f"{name}.events", events, (len(weights), len(sizes)), 2**31, BOUNDARY)
        for ids, size in zip(events.T, sizes, strict=True):
            yield indices(f"{name}.events", ids, ids.shape, size, BOUNDARY)


def state_requirements(
    weights: StateWeights, sizes: Sequence[int], exponents: tuple[int, int], n_labels: int
) -> Iterator[Requirement]:
    """What is true of weights in blocks of so many rows, with exponents of this shape."""
    yield Fact("state", isinstance(weights, StateWeights), "must be StateWeights")
    yield from sparse("coef", weights.coef, (int(sum(sizes)), n_labels))
    yield Array("exponents", weights.exponents, exponents)
    starts = np.cumsum([0, *sizes[:-1]])
    yield indices("starts", weights.starts, starts.shape, sum(sizes) + 1)
    yield Fact("starts", np.array_equal(weights.starts, starts), f"must be {starts}")


def trigram_requirements(rates: TrigramRates, n_labels: int) -> Iterator[Requirement]:
    """What is true of rates of so many labels."""
    yield Fact("_n_labels", rates._n_labels == n_labels, f"must be {n_labels}")
    n_keys = (len(rates._keys),)
    yield indices("_keys", rates._keys, n_keys, n_labels**3)
    yield Array("_scores", rates._scores, n_keys)
    yield Array("_unseen", rates._unseen, (n_labels**2,))


@singledispatch
def model_requirements(model: Any, encoder: Encoder, n_labels: int) -> Iterator[Requirement]:
    """What is true of a model of the symbols of an encoder, and of so many labels."""
    yield Fact("model_", False, f"must be a model, but is a {type(model).__name__}")


@model_requirements.register
def _(model: SmoothedModel, encoder: Encoder, n_labels: int) -> Iterator[Requirement]:
    statistics, spelling, n = model.statistics, model.spelling, n_labels
    yield from below("statistics", _statistics_requirements(statistics, encoder, n))
    yield from below("spelling", spelling_requirements(spelling, encoder.lexicon, n))
    yield from _indexed("_contexts", model._contexts, encoder)
    sizes = [len(index.keys) for _, index in model._contexts]
    sizes = [spelling.coef.shape[0], len(encoder.lexicon), *sizes]
    n_slots = len(spelling.names) + len(sizes) - 1
    yield from below("exponents", _exponents_requirements(model.exponents, n_slots))
    yield from below("state", state_requirements(model.state, sizes, (N_KINDS, n_slots), n))
    for name, shape in (("inner", (n, n)), ("begin", (n,)), ("end", (n,))):
        yield Array(f"transitions.{name}", getattr(model.transitions, name), shape)
    yield from _indexed("_edges", model._edges, encoder)
    sizes = [len(index.keys) for _, index in model._edges]
    # An edge may only raise a transition.
    yield from sparse("edge_coef", model.edge_coef, (sum(sizes), n * n), least=0.0)
    yield Fact("exponents", model.exponents["edges"] >= 0.0, "of edges must not be negative")
    starts = np.cumsum([0, *sizes[:-1]])
    yield indices("_edge_starts", model._edge_starts, starts.shape, sum(sizes) + 1)
    yield Fact("_edge_starts", np.array_equal(model._edge_starts, starts), f"must be {starts}")
    if ATTRIBUTES in statistics.counts:
        yield from sparse("attributes", model.attributes, (encoder.n_attributes, n))


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
    yield from _indexed("_index", [(pair, model._index)], encoder)
    shape = len(model._index.keys), n * n
    yield from sparse("_pairs", model._pairs, shape, has_order=True)
    yield from sparse("_label_pairs", model._label_pairs, (1, n * n), has_order=True)
    yield from below("spelling", pair_requirements(spelling, n))


def _statistics_requirements(
    statistics: Statistics, encoder: Encoder, n_labels: int
) -> Iterator[Requirement]:
    yield Fact("encoder", statistics.encoder is encoder, "must be that of the estimator")
    yield Fact("word", statistics.word == encoder.names[0], "must be the column of words")
    yield Fact("n_labels", statistics.n_labels == n_labels, f"must be {n_labels}")
    yield from sparse("by_word", statistics.by_word, (len(encoder.lexicon), n_labels), least=0.0)
    yield Array("n_seen", statistics.n_seen, (len(encoder.lexicon),), 0.0)
    yield Array("label_prior", statistics.label_prior, (n_labels,), 0.0, 1.0)
    yield from below("counts", counts_requirements(statistics.counts, encoder, n_labels, ()))


def _exponents_requirements(exponents: Exponents, n_slots: int) -> Iterator[Requirement]:
    n = len(exponents.names)
    yield Fact("_n_slots", exponents._n_slots == n_slots, f"must be {n_slots}")
    yield Array("values", exponents.values, (n,))
    yield from sparse("_map", exponents._map, (N_KINDS * n_slots, n))


def _indexed(
    name: str, indexes: Sequence[tuple[Template, KeyIndex]], encoder: Encoder
) -> Iterator[Requirement]:
    """Indexes of the symbols of templates."""
    for i, (template, index) in enumerate(indexes):
        sizes = _sizes(encoder, template)
        yield from below(f"{name}[{i}]", _index_requirements(index, sizes))


def _index_requirements(index: KeyIndex, sizes: Sequence[int]) -> Iterator[Requirement]:
    """An index of keys that have one id of each of so many symbols."""
    n_keys = len(index.keys)
    yield indices("keys", index.keys, (n_keys, len(sizes)), 2**31, BOUNDARY)
    for ids, size in zip(index.keys.T, sizes, strict=True):
        yield indices("keys", ids, (n_keys,), size, BOUNDARY)
    expected = KeyIndex(index.keys)
    yield Fact("_first", np.array_equal(index._first, expected._first), "must be that of the keys")
    yield indices("_first", index._first, expected._first.shape, n_keys + 1, BOUNDARY)
    yield Fact("_levels", len(index._levels) == len(expected._levels), "must be those of the keys")
    for level, of_keys in zip(index._levels, expected._levels, strict=True):
        yield Fact("_levels", np.array_equal(level, of_keys), "must be those of the keys")
        yield indices("_levels", level, of_keys.shape, 2**63, -(2**63))
    n_found = len(index._levels[-1]) if index._levels else n_keys
    yield Fact("keys", n_found == n_keys, "must differ")


@singledispatch
def spelling_requirements(spelling: Any, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
    """What is true of a model of the spelling of so many labels."""
    yield Fact("coef", False, f"must be that of a spelling, and not of {type(spelling).__name__}")


@spelling_requirements.register
def _(spelling: ProductSpelling, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
    is_of_it = lexicon.features == spelling.features
    yield Fact("features", is_of_it, "must be those of the lexicon")
    n_slots = len(spelling.names)
    fits = n_slots == len(spelling._indexes) + 1 == len(lexicon.features) + 1
    yield Fact("names", fits, f"must be {len(lexicon.features) + 1}")
    yield Array("exponents", spelling.exponents, (n_slots,))
    sizes = [1]
    for i, (index, known) in enumerate(zip(spelling._indexes, lexicon._spellings, strict=True)):
        yield from below(f"_indexes[{i}]", _index_requirements(index, [len(known)]))
        sizes.append(len(index.keys))
    starts = np.cumsum(sizes)
    yield indices("_starts", spelling._starts, starts.shape, 2**63)
    yield Fact("_starts", np.array_equal(spelling._starts, starts), f"must be {starts}")
    yield from sparse("coef", spelling.coef, (int(starts[-1]), n_labels))


@spelling_requirements.register
def _(spelling: SignatureSpelling, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
    is_of_it = lexicon.features == spelling.features
    yield Fact("features", is_of_it, "must be those of the lexicon")
    known = len(lexicon._spellings[0])
    yield Fact("features", known == N_SIGNATURES, f"must have {N_SIGNATURES} symbols")
    yield from sparse("coef", spelling.coef, (N_SIGNATURES, n_labels))
    yield Array("label_prior", spelling.label_prior, (n_labels,), 0.0, 1.0)
    yield Array("probability", spelling.probability, (N_SIGNATURES, n_labels), 0.0, 1.0 + 1e-6)


@singledispatch
def pair_requirements(spelling: Any, n_labels: int) -> Iterator[Requirement]:
    """What is true of what the spelling says of pairs of labels."""
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
