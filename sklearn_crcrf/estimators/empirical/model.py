"""What both kinds of models have: statistics of words, estimates, and named exponents."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from ..._kernels.sparse.columns import find_entries
from ..._kernels.sparse.weights import smooth_rows
from ...counts import Counts, Template
from ...counts.observations import Encoder, Observations
from ...counts.rows import (
    FREQUENT,
    SELDOM,
    UNSEEN,
    KeyIndex,
    Rows,
    StateWeights,
    Storable,
    label_counts,
    place_rows,
)
from ...structures import Structure
from ...utils.soundness import Array, Fact, Requirement, below, indices, sparse

Symbols = Sequence[tuple[str, int]]
"""Columns, and offsets from the token."""

# Words seen at most this often have their own exponents; sums of probabilities are rounded.
SELDOM_SEEN = 10 + 1e-6


N_KINDS = 3


class Statistics(Storable):
    """Counts, with frequently used statistics of words and labels.

    Attributes
    ----------
    word : str
        The column that holds the words.
    by_word : CSR of shape (n_words, n_labels)
        How often each word has each label.
    n_seen : ndarray of shape (n_words,)
        How often each word was seen.
    label_prior : ndarray of shape (n_labels,)
        Label probabilities, smoothed so that no label has probability zero.
    """

    def __init__(self, encoder: Encoder, counts: Counts, n_labels: int):
        self.encoder = encoder
        self.counts = counts
        self.n_labels = n_labels
        self.word = encoder.names[0]
        index, by_label = label_counts(counts[Template(((self.word, 0),))], n_labels)
        by_word = place_rows(by_label, index, len(encoder.lexicon))
        self.by_word, self.n_seen = by_word.csr(), by_word.sums()
        total = np.bincount(by_word.indices, by_word.data, n_labels)
        self.label_prior = label_prior(total)

    def requirements(self, encoder: Encoder, n_labels: int) -> Iterator[Requirement]:
        """Yield the requirements; the encoder is the one of the estimator."""
        yield Fact("encoder", self.encoder is encoder, "must be the encoder of the estimator")
        yield Fact("word", self.word == encoder.names[0], "must be the column of words")
        yield Fact("n_labels", self.n_labels == n_labels, f"must be {n_labels}")
        n_words = len(encoder.lexicon)
        yield from sparse("by_word", self.by_word, (n_words, n_labels), least=0.0)
        yield Array("n_seen", self.n_seen, (n_words,), 0.0)
        yield Array("label_prior", self.label_prior, (n_labels,), 0.0, 1.0)
        yield Fact("counts", isinstance(self.counts, Counts), "must be Counts")
        yield from below("counts", self.counts.requirements(encoder, n_labels))


class CountedModel(Storable):
    """Base of both kinds of models: state scores are sums of rows of weights, times exponents.

    Attributes
    ----------
    statistics : Statistics
    spelling : object
        The fitted model of unseen words.
    exponents : Exponents
    state : StateWeights
        The first two blocks are for the spelling and for the words.
    segments : SegmentRates or None
    """

    statistics: Statistics
    spelling: Any
    exponents: "Exponents"
    state: StateWeights
    segments: Any = None

    def structure(self, structure: Structure, types: np.ndarray | None) -> Structure:
        """Return the structure of the scores, given links and the ids of their types."""
        return structure

    def with_mu_oov(self, mu_oov: float) -> Self:
        """Return the same model with another exponent of the distribution of an unseen word."""
        twin = copy(self)
        twin.exponents, twin.state = copy(self.exponents), copy(self.state)
        twin.exponents.set_factor(UNSEEN, len(self.spelling.names), mu_oov)
        twin.state.exponents = twin.exponents.table()
        return twin

    def attribute_keys(self) -> list[tuple[Symbols, np.ndarray]]:
        """For each slot: the symbols of its attributes, and their ids for each row."""
        word, ids = self.statistics.word, np.arange(len(self.statistics.n_seen))[:, None]
        of_spelling = [
            (tuple((f"{word}:{feature}", 0) for feature in features), ids)
            for features, ids in self.spelling.attribute_keys()
        ]
        return [*of_spelling, (((word, 0),), ids)]

    def requirements(
        self, encoder: Encoder, classes: np.ndarray, more: Sequence[int] = ()
    ) -> Iterator[Requirement]:
        """Yield the requirements of a model with these labels, whose symbols an encoder knows.

        ``more`` is the number of rows of each block of state weights after the words.
        """
        spelling, n = self.spelling, len(classes)
        yield from below("statistics", self.statistics.requirements(encoder, n))
        yield from below("spelling", spelling.requirements(encoder.lexicon, n))
        sizes = [spelling.coef.shape[0], len(encoder.lexicon), *more]
        shape = N_KINDS, len(spelling.names) + len(sizes) - 1
        yield from below("exponents", self.exponents.requirements(shape))
        yield Fact("state.state", isinstance(self.state, StateWeights), "must be StateWeights")
        yield from below("state", self.state.requirements(sizes, shape, n))

    def _rows(self, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
        """Look up spelling and words, with space for all other slots; and the kinds of words."""
        n_seen, n_spelling = self.statistics.n_seen, len(self.spelling.names)
        ids = np.where(observations.ids < 0, len(n_seen), observations.ids)
        times = np.append(n_seen, 0.0)[ids]
        known = np.where(times > 0, ids + self.state.starts[1], -1)
        rows = np.empty((len(observations.word), self.state.exponents.shape[1]), dtype=np.int32)
        rows[:, :n_spelling] = self.spelling.rows(observations.spelling)[observations.word]
        rows[:, n_spelling] = known[observations.word]
        return rows, word_kinds_of(times)[observations.word]


def label_prior(of_labels: np.ndarray) -> np.ndarray:
    """Return label probabilities, (..., n_labels), smoothed so that none is zero."""
    total = of_labels.sum(axis=-1, keepdims=True)
    return (of_labels + 0.1) / (total + 0.1 * of_labels.shape[-1])


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of labels with these scores; the scores are overwritten."""
    np.exp(scores - scores.max(axis=1, keepdims=True), out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def word_kinds_of(n_seen: np.ndarray) -> np.ndarray:
    """Return the kinds of words seen ``n_seen`` times, int8: FREQUENT, SELDOM or UNSEEN."""
    return (n_seen <= SELDOM_SEEN).astype(np.int8) + (n_seen <= 0)


class Estimate(NamedTuple):
    """P(y | attribute), for each label y that occurred with the attribute.

    Parameters
    ----------
    keys : KeyIndex
        The row of each attribute.
    counts : Rows of shape (n_attributes, n_labels)
    probability : ndarray of shape (n_entries,)
        P(label | attribute) for each entry of ``counts``.
    """

    keys: KeyIndex
    counts: Rows
    probability: np.ndarray

    def at(self, symbols: Sequence[np.ndarray], wanted: Rows) -> np.ndarray:
        """Return the probabilities of the entries of rows, given the symbols of each row.

        Each combination must have occurred.
        """
        rows = wanted.repeat(self.keys.rows(symbols))
        return entry_values(self.counts, self.probability, rows, wanted.indices)


def smooth(
    counts: Rows,
    sums: np.ndarray,
    prior: np.ndarray,
    strength: float,
    above: np.ndarray | None = None,
    rows: tuple[int, int] | None = None,
    estimate: np.ndarray | None = None,
) -> np.ndarray:
    """(c + k q) / (n + k) for every count c of a row of n, where q is its prior and k the strength.

    Parameters
    ----------
    counts : Rows
    sums : ndarray of shape (n_rows,)
    prior : ndarray of shape (n_entries,)
        Overwritten in rows with a row above them.
    strength : float
    above : int32 ndarray of shape (n_rows,), optional
        The row whose estimates are the prior of a row, before it; -1 if its prior is given.
    rows : (int, int), optional
        The first row to estimate, and the row after the last; by default all.
    estimate : ndarray of shape (n_entries,), optional
        Gets the estimates.

    Raises
    ------
    ValueError
        If a row has no entry in a column of a row below it: see :func:`entry_values`.
    """
    estimate = np.empty_like(prior) if estimate is None else estimate
    columns = counts.indices.astype(np.int32, copy=False)
    given = counts.indptr, columns, counts.data, sums, above, *(rows or (0, len(sums)))
    if not smooth_rows(*given, strength, prior, estimate):
        raise ValueError(LOST)
    return estimate


LOST = (
    "sample_weight: the weights, or the probabilities in y, differ so much in size that rounded "
    "counts of words and of label pairs contradict each other; set probabilities below 1e-9 to 0"
)


def entry_values(
    counts: Rows, values: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """``values`` of the entries (rows[k], columns[k]) of ``counts``, as :func:`places_of`."""
    return values[places_of(counts, rows, columns)]


def places_of(counts: Rows, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Where the entries (rows[k], columns[k]) of ``counts`` stand.

    Raises
    ------
    ValueError
        If there is no such entry: rounding can lose one if weights of very different sizes are
        counted and forgotten.
    """
    places = np.empty(len(rows), dtype=np.int64)
    of_counts = counts.indptr.astype(np.int64, copy=False), counts.indices
    wanted = (np.ascontiguousarray(ids, dtype=np.int32) for ids in (rows, columns))
    if not find_entries(*of_counts, *wanted, places):
        raise ValueError(LOST)
    return places


class Entry(NamedTuple):
    """One exponent.

    Parameters
    ----------
    name : str
    value : float
        The default.
    cells : sequence of (kind, slot)
        The cells of the table of exponents that it fills.
    factors : sequence of float
        The factor of the exponent in each cell.
    """

    name: str
    value: float
    cells: Sequence[tuple[int, int]] = ()
    factors: Sequence[float] = ()


class Exponents:
    """Named exponents, and the table of (kind of word, slot) that they fill.

    Parameters
    ----------
    entries : sequence of Entry
    n_slots : int

    Attributes
    ----------
    names : list of str
    values : ndarray of shape (n_exponents,)
    """

    def __init__(self, entries: Sequence[Entry], n_slots: int):
        self.names = [entry.name for entry in entries]
        self.values = np.array([entry.value for entry in entries])
        # The exponent of each cell, times its factor; the factor of empty cells is 0.
        self._which = np.zeros((N_KINDS, n_slots), dtype=np.int64)
        self._factors = np.zeros((N_KINDS, n_slots))
        for i, entry in enumerate(entries):
            for cell, factor in zip(entry.cells, entry.factors, strict=True):
                self._which[cell], self._factors[cell] = i, factor

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def table(self) -> np.ndarray:
        """Exponents of shape (n_kinds, n_slots)."""
        return self._factors * self.values[self._which]

    def set_factor(self, kind: int, n_slots: int, factor: float) -> None:
        """Replace the factor of the exponents of the first slots for one kind of word."""
        self._factors = self._factors.copy()
        self._factors[kind, :n_slots] = factor

    def pullback(self, weight: np.ndarray) -> np.ndarray:
        """Gradient in the values, given the gradient ``weight`` in the table."""
        return np.bincount(self._which.ravel(), (weight * self._factors).ravel(), len(self.names))

    def update(self, values: Mapping[str, float]) -> None:
        """Set some of the exponents.

        Raises
        ------
        ValueError
            If a name is unknown, or a value is not a finite number.
        """
        for name, value in values.items():
            if name not in self.names:
                raise ValueError(f"exponents: there is no {name!r}; known are {self.names}")
            if not np.isfinite(value):
                raise ValueError(f"exponents: {name!r} must be a finite number, got {value!r}")
            self.values[self.names.index(name)] = value

    def asdict(self) -> dict[str, float]:
        """Exponents by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    def requirements(self, shape: tuple[int, int]) -> Iterator[Requirement]:
        """Yield the requirements of a table of this shape."""
        n = len(self.names)
        yield Array("values", self.values, (n,))
        yield indices("_which", self._which, shape, n)
        yield Array("_factors", self._factors, shape)


def state_entries(spelling, mu_oov: float, experts, defaults: Mapping[str, float]) -> list[Entry]:
    """Entries of the slots, in the order: spelling, word, context experts.

    Parameters
    ----------
    spelling : ProductSpelling or SignatureSpelling
    mu_oov : float
        Multiplies the exponents of the spelling slots of unseen words.
    experts : sequence of ContextExpert
    defaults : mapping from name to float
        Default exponents; if the spelling of unseen words has none, it is the exponent of the
        spelling model times the exponent "word", and all others are 0.
    """
    word_slot, entries = len(spelling.names), []
    for slot, (name, value) in enumerate(zip(spelling.names, spelling.exponents, strict=True)):
        exponent = defaults.get(f"{name}/unseen", defaults["word"] * float(value))
        entries.append(Entry(f"{name}/unseen", exponent, [(UNSEEN, slot)], [mu_oov]))

    def add(name, cells, factors=(1.0,)):
        entries.append(Entry(name, defaults.get(name, 0.0), cells, factors))

    for suffix, kind in (("", FREQUENT), ("/seldom", SELDOM), ("/unseen", UNSEEN)):
        if kind != UNSEEN:
            add("word" + suffix, [(kind, word_slot)])
            of_spelling = [(kind, slot) for slot in range(word_slot)]
            add("spelling" + suffix, of_spelling, spelling.exponents)
        for slot, expert in enumerate(experts, word_slot + 1):
            add(expert.name + suffix, [(kind, slot)])
    return entries
