"""Counted segments: how often runs of tokens are whole segments of each type."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...base.contributions import Contributions
from ...counts import BOUNDARY, ColumnWindow, Counts, Table, Template
from ...counts.counts import aggregate
from ...counts.observations import Encoder
from ...counts.rows import KeyIndex, Rows, Storable, label_counts, rows_at
from ...data.ragged import SequenceArray, locate
from ...labels.encoding import encode_labels
from ...labels.segments.roles import Roles, roles_of
from ...labels.segments.schemes import read_labels, scheme_of
from ...structures import Scores, SegmentLayout, SemiMarkovChain, Spans
from ...utils.soundness import Array, Fact, Requirement, sparse
from .contributions import attribute_names

# The longest run of tokens that is counted.
MAX_LENGTH = 4
# What the chain says of a segment counts as much as this number of runs of tokens.
STRENGTH = 0.3
# The least probability that the chain is taken to give to a segment.
LEAST_PROBABILITY = 1e-9


class Evidence(NamedTuple):
    """What runs of tokens have in common that are counted together.

    Parameters
    ----------
    exponent : str
        The name of the exponent.
    default : float
        The default exponent.
    symbols : tuple of (feature, place)
        Spelling features of words; the place is "before", "last" or "all".
    shortest : int
        The shortest run that is counted.
    """

    exponent: str
    default: float
    symbols: tuple[tuple[str, str], ...]
    shortest: int = 1

    def template(self, word: str, length: int) -> Template:
        """Return symbols of runs that end at a token, and labels up to the token after it."""
        offsets = {"before": (-length,), "last": (0,), "all": tuple(range(1 - length, 1))}
        symbols = [
            (f"{word}:{feature}", offset)
            for feature, place in self.symbols
            for offset in offsets[place]
        ]
        return Template(tuple(symbols), (*offsets["all"], 1))


EVIDENCE = (
    Evidence("segment", 0.28, (("lower", "all"),)),
    Evidence("segment shapes", 0.12, (("lower", "before"), ("shape", "all"))),
    Evidence("segment end", 0.08, (("lower", "last"),), shortest=2),
)
# The evidence and the length of each slot.
SLOTS = [
    (number, length)
    for number, evidence in enumerate(EVIDENCE)
    for length in range(evidence.shortest, MAX_LENGTH + 1)
]


def segment_templates(word: str) -> list[Template]:
    """Return the templates that are counted, one for each slot."""
    return [EVIDENCE[number].template(word, length) for number, length in SLOTS]


def segment_roles(classes: np.ndarray) -> Roles:
    """Return the roles of labels, in the scheme that they belong to."""
    return roles_of(classes, scheme_of(classes.tolist()))


def segmented(offsets: np.ndarray, classes: np.ndarray) -> SemiMarkovChain:
    """Make a structure where all runs of up to MAX_LENGTH tokens have scores of their own."""
    roles = segment_roles(classes)
    return SemiMarkovChain(offsets, roles, MAX_LENGTH, Spans.all(offsets, MAX_LENGTH))


def check_segmentations(y: SequenceArray) -> None:
    """Raise ValueError if labels spell no segmentation; the message says where."""
    classes, ids = encode_labels(y)
    scheme = scheme_of(classes.tolist())
    try:
        read_labels(classes, scheme, "y")
    except ValueError as error:
        raise ValueError(
            f'{error}; segments="counted" needs prefixes: convert_scheme(y, "IO", "IOB2") makes '
            'them, and convert_scheme(labels, "IOB2", "IO") turns found labels back'
        ) from None
    chain = SemiMarkovChain(y.offsets, roles_of(classes, scheme), 1)
    wrong = ~chain.is_segmentation(ids)
    if wrong.any():
        sequence, position = locate(y.offsets, int(np.argmax(wrong)))
        raise ValueError(
            f"y, sequence {sequence}, position {position}: the label does not fit the labels "
            f'before and after it in the scheme "{scheme}", as segments="counted" needs; '
            "convert_scheme can rewrite labels"
        )


class SegmentRates(Storable):
    """How far what was counted of a run of tokens changes the odds that it is a segment.

    If m runs of tokens have something in common, and c of them were segments of a type, to which
    the chain gives the probability q, its estimate is (c + k q) / (m + k), with q as the prior. The
    score of the segment rises by log((c + k q) / ((m + k) q)), times an exponent.

    Parameters
    ----------
    counts : Counts
        Of :func:`segment_templates`.
    word : str
        The column of words.
    roles : Roles
    strength : float
        Multiplies the strength of the prior, 0.3 runs of tokens.

    Attributes
    ----------
    seen : ndarray of shape (n_rows,), not positive
        log(k / (m + k)).
    spelled : CSR of shape (n_rows, n_types), not negative
        c / k.
    """

    def __init__(self, counts: Counts, word: str, roles: Roles, strength: float):
        self._slots, spelled, seen = [], [sp.csr_array((0, len(roles.types)))], [np.empty(0)]
        for template in segment_templates(word):
            index, by_type = _segment_counts(counts[template], template, roles)
            self._slots.append((template, index))
            of_rows = segment_evidence(by_type, strength)
            seen.append(of_rows[0])
            spelled.append(of_rows[1])
        self.seen, self.spelled = np.concatenate(seen), sp.vstack(spelled, format="csr")

    @classmethod
    def of_rows(cls, seen: Sequence[np.ndarray], spelled: Sequence[sp.csr_array]) -> "SegmentRates":
        """Return the rates of runs whose rows are known."""
        rates = cls.__new__(cls)
        rates.seen, rates.spelled = np.concatenate(seen), sp.vstack(spelled, format="csr")
        return rates

    def rows(self, window: ColumnWindow) -> np.ndarray:
        """Return the rows of the runs that end at each token, -1 for unknown ones.

        Returns
        -------
        int32 ndarray of shape (n_tokens, n_slots)
        """
        n_tokens = window.offsets[-1]
        before = np.arange(n_tokens) - np.repeat(window.offsets[:-1], np.diff(window.offsets))
        found, start = np.empty((n_tokens, len(SLOTS)), dtype=np.int32), 0
        for slot, (template, index) in enumerate(self._slots):
            rows = index.rows(window.symbols(template))
            known = (rows >= 0) & (before >= SLOTS[slot][1] - 1)
            found[:, slot] = np.where(known, rows + start, -1)
            start += len(index)
        return found

    def gains(self, rows: np.ndarray, structure: SemiMarkovChain, scores: Scores) -> np.ndarray:
        """How far evidence of each kind raises the scores of segments, before exponents.

        Parameters
        ----------
        rows : ndarray of shape (n_tokens, n_slots)
        structure : SemiMarkovChain
        scores : Scores
            Of the chain alone.

        Returns
        -------
        ndarray of shape (n_kinds, n_spans, n_types)
        """
        prior = np.maximum(_probabilities(structure, scores), LEAST_PROBABILITY)
        last, length = structure.spans.last_tokens(), structure.spans.length
        gains = np.zeros((len(EVIDENCE), *prior.shape))
        for slot, (kind, of_length) in enumerate(SLOTS):
            span = np.flatnonzero(length == of_length)
            row = rows[last[span], slot]
            span, row = span[row >= 0], row[row >= 0]
            spelled = rows_at(self.spelled, row)
            rose = np.repeat(span, np.diff(spelled.indptr)), spelled.indices
            gains[kind, span] = self.seen[row][:, None]
            gains[kind][rose] += np.log1p(spelled.data / prior[rose])
        return gains

    def contributions(
        self,
        rows: np.ndarray,
        structure: SemiMarkovChain,
        scores: Scores,
        y: np.ndarray,
        exponents: np.ndarray,
        encoder: Encoder,
    ) -> Contributions:
        """What was counted of the segments of a labelling of one sequence.

        Parameters
        ----------
        rows, structure, scores : as of :meth:`gains`
        y : ndarray of shape (n_tokens,)
        exponents : ndarray of shape (n_kinds,)
        encoder : Encoder

        Returns
        -------
        Contributions
        """
        gains = self.gains(rows, structure, scores)
        start, stop, kind, span = structure.segments(y)
        blocks = [(template.symbols, index.keys) for template, index in self._slots]
        names = attribute_names(blocks, encoder, rows)
        entries = []
        for slot, (number, length) in enumerate(SLOTS):
            chosen = np.flatnonzero(stop - start == length)
            last, types = stop[chosen] - 1, structure.roles.types[kind[chosen]]
            pairs = zip(types, names[last, slot], strict=True)
            weight = gains[number, span[chosen], kind[chosen]]
            named = [f"{of_type} | {evidence}" for of_type, evidence in pairs]
            entries.append(
                Contributions.of("segment", start[chosen], named, weight, exponents[number])
            )
        return Contributions.join(entries)

    def requirements(self, encoder: Encoder, classes: np.ndarray) -> Iterator[Requirement]:
        """Yield the requirements of what was counted of the segments of these labels."""
        templates, indexes = zip(*self._slots, strict=True)
        expected = segment_templates(encoder.names[0])
        yield Fact("_slots", [*templates] == expected, "must be of the templates of segments")
        yield from encoder.indexed("_slots", self._slots)
        sizes = [len(index) for index in indexes]
        yield Array("seen", self.seen, (sum(sizes),), most=0.0)
        shape = sum(sizes), len(segment_roles(classes).types)
        yield from sparse("spelled", self.spelled, shape, least=0.0)


def segment_evidence(by_type: Rows, strength: float) -> tuple[np.ndarray, sp.csr_array]:
    """Return what is ``seen`` and ``spelled`` of runs, by how often they are of each type."""
    strength = STRENGTH * strength
    return -np.log1p(by_type.sums() / strength), by_type.csr()[:, :-1] / strength


def with_segments(
    structure: SemiMarkovChain, scores: Scores, exponents: np.ndarray, gains: np.ndarray
) -> Scores:
    """Add scores of whole segments to a chain: gains by kind of evidence, span and type."""
    by_length, _ = structure.layout.split(np.empty(0))
    by_span = np.tensordot(exponents, gains, axes=1)
    return scores._replace(own=SegmentLayout.join(by_length, by_span))


def _probabilities(structure: SemiMarkovChain, scores: Scores) -> np.ndarray:
    """Compute the probability of each span and type to be a segment, (n_spans, n_types)."""
    layout = structure.layout
    without = scores._replace(own=SegmentLayout.join(*layout.split(np.empty(0))))
    _, gradient = structure.log_partition_and_gradient(without, np.ones(structure.n_units))
    return np.minimum(layout.split(gradient.own)[1], 1.0)


def _segment_counts(table: Table, template: Template, roles: Roles) -> tuple[KeyIndex, Rows]:
    """Count how often runs with the same symbols are a segment of each type, or of none.

    Returns
    -------
    index : KeyIndex
    counts : Rows of shape (n_keys, n_types + 1)
    """
    n_symbols, n_types = len(template.symbols), len(roles.types)
    types = segment_types(table.events.T[n_symbols:], roles)
    inside = types >= 0
    columns = [*(ids[inside] for ids in table.events.T[:n_symbols]), types[inside]]
    weights = table.weights[inside]
    return label_counts(aggregate(columns, weights, len(weights)), n_types + 1)


def segment_types(labels: Any, roles: Roles) -> np.ndarray:
    """Find of which type runs of tokens are segments, given their labels and the next label.

    Parameters
    ----------
    labels : int ndarray of shape (n_labels, n_runs), or sequence of its rows
        Of each token of the runs, and of the token after it; BOUNDARY outside of the sequence.
    roles : Roles

    Returns
    -------
    int32 ndarray of shape (n_runs,)
        The number of types for runs that are no segment, -1 for runs that begin outside.
    """
    first, last, following = labels[0], labels[-2], labels[-1]
    kind = roles.kind[first]
    is_segment = (kind >= 0) & (first != BOUNDARY)
    for ids, expected in zip(labels, _spelling(roles, len(labels) - 1), strict=False):
        is_segment &= ids == np.append(expected, -1)[kind]
    goes_on = np.pad(roles.continues(), ((0, 0), (0, 1)))  # the last column is for the BOUNDARY
    is_segment &= ~goes_on[last, following]
    types = np.where(is_segment, kind, len(roles.types))
    return np.where(first == BOUNDARY, -1, types).astype(np.int32)


def _spelling(roles: Roles, length: int) -> Iterable[np.ndarray]:
    """Spell segments of some length: the labels by place, each of shape (n_types,)."""
    if length == 1:
        return [roles.single]
    return [roles.first, *[roles.inside] * (length - 2), roles.last]
