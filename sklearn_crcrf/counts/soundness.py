"""Requirements of counts and encoders: the shapes and ranges that kernels rely on."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..data.vocabulary import Vocabulary
from ..utils.soundness import Array, Fact, Requirement, below, indices, sparse
from .counts import BOUNDARY, Counts, Template
from .labelled import ATTRIBUTES
from .lexicon import Lexicon
from .links import EDGE_TYPE, KINDS_OF_LINKS
from .observations import Encoder
from .rows import KeyIndex, StateWeights
from .triangles import TRIANGLES

__all__ = [
    "counts_requirements",
    "encoder_requirements",
    "index_requirements",
    "indexed",
    "n_codes",
    "n_symbols",
    "state_requirements",
]


def encoder_requirements(encoder: Encoder, n_columns: Any) -> Iterator[Requirement]:
    """Requirements of an encoder; ``n_columns`` is the number of columns of X, if X has columns."""
    word, *others = encoder.names
    yield Fact("names", all(isinstance(n, str) for n in (word, *others)), "must be strings")
    vocabularies = encoder._vocabularies
    has_all = isinstance(vocabularies, dict) and list(vocabularies) == others
    yield Fact("_vocabularies", has_all, "must have one for each column but the words")
    in_lexicon = [encoder.lexicon.words, *encoder.lexicon._spellings]
    are_known = all(isinstance(v, Vocabulary) for v in [*in_lexicon, *vocabularies.values()])
    yield Fact("_vocabularies", are_known, "must be Vocabularies")
    n = encoder.n_attributes
    are_columns = n is None or (isinstance(n, Integral) and 0 <= int(n) == n_columns)
    yield Fact("n_attributes", are_columns, f"must be the number of columns, {n_columns}")
    yield Fact("links", encoder.links in KINDS_OF_LINKS, f"must be one of {KINDS_OF_LINKS}")
    for name in ("edge_types", "bag"):
        known = getattr(encoder, name)
        yield Fact(name, known is None or isinstance(known, Vocabulary), "must be a Vocabulary")
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
    """Number of symbols of a column."""
    word = encoder.names[0]
    if column == word:
        return len(encoder.lexicon)
    if column in encoder._vocabularies:
        return len(encoder._vocabularies[column])
    if column == EDGE_TYPE and encoder.edge_types is not None:
        return len(encoder.edge_types)
    features = encoder.lexicon.features
    return len(encoder.lexicon._spellings[features.index(column.removeprefix(f"{word}:"))])


def n_codes(encoder: Encoder) -> int:
    """Number of codes of the links of triangles."""
    return 2 * (1 + len(encoder.edge_types or ()))


def _sizes(encoder: Encoder, template: Template) -> list[int]:
    """The number of symbols of each column that a template names."""
    if template == ATTRIBUTES:
        return [encoder.n_weighted]
    if template == TRIANGLES:
        return [n_codes(encoder)] * 3
    return [n_symbols(encoder, column) for column, _ in template.symbols]


def counts_requirements(
    counts: Counts, encoder: Encoder, n_labels: int, needed: Sequence[Template]
) -> Iterator[Requirement]:
    """Requirements of counts whose symbols an encoder knows, with ``n_labels`` labels.

    Parameters
    ----------
    counts : Counts
    encoder : Encoder
    n_labels : int
    needed : sequence of Template
        The templates that must have been counted.
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
    """Requirements of weights whose blocks have ``sizes`` rows.

    ``exponents`` is the shape of the exponents.
    """
    yield Fact("state", isinstance(weights, StateWeights), "must be StateWeights")
    yield from sparse("coef", weights.coef, (int(sum(sizes)), n_labels))
    yield Array("exponents", weights.exponents, exponents)
    starts = np.cumsum([0, *sizes[:-1]])
    yield indices("starts", weights.starts, starts.shape, sum(sizes) + 1)
    yield Fact("starts", np.array_equal(weights.starts, starts), f"must be {starts}")


def indexed(
    name: str, indexes: Sequence[tuple[Template, KeyIndex]], encoder: Encoder
) -> Iterator[Requirement]:
    """Requirements of indexes of the symbols of templates."""
    for i, (template, index) in enumerate(indexes):
        sizes = _sizes(encoder, template)
        yield from below(f"{name}[{i}]", index_requirements(index, sizes))


def index_requirements(index: KeyIndex, sizes: Sequence[int]) -> Iterator[Requirement]:
    """Requirements of an index of keys; id k of a key is below ``sizes[k]``."""
    first, levels = index._first, index._levels
    yield indices("_first", first, np.shape(first)[:1], 2**31, BOUNDARY)
    known = np.flatnonzero(first >= 0)
    n_known = len(known)
    in_order = np.array_equal(first[known], np.arange(n_known)) and len(first) > 0
    yield Fact("_first", in_order, "must rise by 1 where it is not -1")
    yield indices("_first", known, (n_known,), sizes[0] - BOUNDARY)
    yield Fact("_levels", len(levels) == len(sizes) - 1, f"must be {len(sizes) - 1}")
    for level, size in zip(levels, sizes[1:], strict=True):
        yield indices("_levels", level, np.shape(level)[:1], 2**63)
        rises = _rises_with_all_ranks(level, n_known)
        yield Fact("_levels", rises, f"must rise, with all {n_known} tuples of the ids before")
        yield indices("_levels", level & 0xFFFFFFFF, level.shape, size - BOUNDARY)
        n_known = len(level)


def _rises_with_all_ranks(level: np.ndarray, n_ranks: int) -> bool:
    """Whether the upper halves of rising numbers are all from 0 to before ``n_ranks``."""
    rank = level >> 32
    has_ends = (rank[0], rank[-1]) == (0, n_ranks - 1) if len(rank) else n_ranks == 0
    return has_ends and bool((np.diff(rank) <= 1).all() and (np.diff(level) > 0).all())
