"""Counts of parts of a corpus, which know the names of what they counted, so that they add up."""

from typing import Any, NamedTuple

import numpy as np

from ..labels.encoding import LabelIds
from .counts import BOUNDARY, Counts, Table, Template
from .counts import merge as merge_tables
from .observations import Encoder, Plan
from .renumbering import Renumbering, renumber

LARGEST = np.iinfo(np.uint32).max


class PartialCounts:
    """Counts of a part of a corpus, and the names of what they counted.

    :func:`count` makes them, :func:`merge` adds them up, and :func:`finish` makes a fitted
    estimator of them. They do not change, and may be pickled.

    Attributes
    ----------
    counts : Counts
        The symbols have the ids that the ``encoder`` gives to them, and labels their place among
        the sorted labels.
    plan : Plan or None
        How the part was counted; None if it has no tokens.
    labels : list
        The labels that were counted, in order.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.counts import count
    >>> part = count(EmpiricalCRF(), [["the", "dog"]], [["D", "N"]])
    >>> part
    <PartialCounts of 2 words and 2 labels, 48 events>
    >>> part.labels
    ['D', 'N']
    """

    def __init__(
        self, plan: Plan | None, encoder: Encoder | None, label_ids: LabelIds, counts: Counts
    ):
        self.plan: Any = plan
        self.encoder: Any = encoder
        self.label_ids, rank = label_ids.in_order(counts.labels())
        self.counts = renumber(counts, rank)

    @classmethod
    def empty(cls) -> "PartialCounts":
        """Return the counts of no tokens: merged with others they change nothing."""
        return cls(None, None, LabelIds(), Counts({}))

    @property
    def labels(self) -> list:
        """The labels that were counted, in order."""
        return self.label_ids.classes(self.counts.labels())[0].tolist()

    def __repr__(self) -> str:
        n_words = 0 if self.plan is None else len(self.encoder.lexicon)
        events = f"{self.counts.n_events} events"
        return f"<PartialCounts of {n_words} words and {len(self.labels)} labels, {events}>"

    def __sizeof__(self) -> int:
        """Bytes of the counts and the vocabularies, for engines that move data by its size."""
        vocabularies = 0 if self.plan is None else self.encoder.__sizeof__()
        return object.__sizeof__(self) + self.counts.__sizeof__() + vocabularies

    def __getstate__(self) -> dict[str, Any]:
        tables = [pack(table) for table in self.counts.values()]
        return {**vars(self), "counts": [*self.counts], "tables": tables}

    def __setstate__(self, state: dict[str, Any]) -> None:
        tables = map(unpack, state["tables"])
        vars(self).update(plan=state["plan"], encoder=state["encoder"])
        self.label_ids = state["label_ids"]
        self.counts = Counts(dict(zip(state["counts"], tables, strict=True)))

    def without(self, other: "PartialCounts") -> "PartialCounts":
        """Subtract the counts of data that they contain; ValueError if they do not."""
        self.check_alike(other)
        encoder = self.encoder.copy()
        symbols = encoder.add_all(other.encoder)
        label_ids, rank, other_rank = self.label_ids.joined(other.label_ids)
        left = renumber(self.counts, rank) - renumber(other.counts, other_rank, symbols)
        return PartialCounts(self.plan, encoder, label_ids, left)

    def check_alike(self, other: "PartialCounts") -> None:
        """Raise ValueError if parts, which both have tokens, were counted in different ways."""
        if self.plan is None or other.plan is None:
            return
        if difference := self.plan.difference(other.plan):
            raise ValueError(
                f"the parts differ in {difference}; count all with the plan of the first part"
            )
        features = [part.encoder.lexicon.features for part in (self, other)]
        if features[0] != features[1] or self.counts.keys() != other.counts.keys():
            raise ValueError("the parts were counted by estimators with different parameters")


class PartialSums:
    """Adds up the counts of parts, in order; each is numbered and merged with few others.

    Attributes
    ----------
    first : PartialCounts or None
        The first part that has tokens.
    encoder : Encoder or None
        It gives the ids that all sums share. A part that is counted with it needs no other ids.
    """

    def __init__(self) -> None:
        self.first: PartialCounts | None = None
        self.encoder: Encoder | None = None
        self._sums: list[_Sum] = []

    @property
    def plan(self) -> Plan | None:
        """How all parts are counted; None if no part has tokens."""
        return None if self.first is None else self.first.plan

    def add(self, part: PartialCounts) -> None:
        """Add one more part, which comes after all others."""
        if part.plan is None:
            return
        if self.first is None or self.encoder is None:
            self.first, self.encoder = part, part.encoder.copy()
        self.first.check_alike(part)
        symbols = {} if part.encoder is self.encoder else self.encoder.add_all(part.encoder)
        labels = np.arange(len(part.label_ids), dtype=np.int32)
        counts = renumber(part.counts, labels, symbols)
        self._sums.append(_Sum(dict(counts), part.label_ids, counts.n_events))
        # Each sum is at least twice as large as the next one, so that tables are merged seldom.
        while len(self._sums) > 1 and self._sums[-1].n_events >= self._sums[-2].n_events // 2:
            self._merge_last()

    def total(self) -> PartialCounts:
        """Return the counts of all parts."""
        if self.first is None or self.encoder is None:
            return PartialCounts.empty()
        while len(self._sums) > 1:
            self._merge_last()
        total, encoder = self._sums[0], self.encoder.copy()
        return PartialCounts(self.first.plan, encoder, total.label_ids, Counts(total.tables))

    def _merge_last(self) -> None:
        b, a = self._sums.pop(), self._sums.pop()
        label_ids, *ranks = a.label_ids.joined(b.label_ids)
        of_a, of_b = map(Renumbering, ranks)
        merged, n_events = {}, 0
        for t in [*a.tables]:
            # Table by table, so that few of them exist twice.
            merged[t] = merge_tables(of_a(t, a.tables.pop(t)), of_b(t, b.tables.pop(t)))
            n_events += len(merged[t].weights)
        self._sums.append(_Sum(merged, label_ids, n_events))


class _Sum(NamedTuple):
    """The counts of a few neighbouring parts; their labels have their place among all of them."""

    tables: dict[Template, Table]
    label_ids: LabelIds
    n_events: int


def merge(*parts: PartialCounts) -> PartialCounts:
    """Merge the counts of all parts of a corpus, which are given in order.

    Merging is associative: in whatever groups neighbouring parts are merged, the result is the
    same, and it is what counting all of them at once would give. Sums of weights are exact if the
    weights are integers, or multiples of the same power of 2, up to 2 ** 53 times that; the last
    bits of other sums depend on the groups.

    Parameters
    ----------
    *parts : PartialCounts
        They do not change.

    Returns
    -------
    PartialCounts

    Raises
    ------
    ValueError
        If the parts differ in their columns, in how tokens are linked, or in the bins of numeric
        columns; or if they were counted for different parameters.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.counts import count, merge
    >>> a = count(EmpiricalCRF(), [["the", "dog"]], [["D", "N"]])
    >>> b = count(EmpiricalCRF(), [["dogs", "sleep"]], [["N", "V"]])
    >>> merge(a, b).labels
    ['D', 'N', 'V']
    """
    there = [part for part in parts if part.plan is not None]
    if len(there) == 1:
        return there[0]
    sums = PartialSums()
    for part in there:
        sums.add(part)
    return sums.total()


class PackedTable(NamedTuple):
    """The rows of a table, in the narrowest types of integers.

    Parameters
    ----------
    steps : ndarray of shape (n_events,), unsigned integers
        By how much the first id of a row exceeds the first id of the row before, which is BOUNDARY
        before the first row.
    ids : list of ndarray of shape (n_events,), unsigned integers
        The other ids, minus BOUNDARY.
    weights : ndarray of shape (n_events,)
        Unsigned integers, or float64 if some of the weights are not integers.
    """

    steps: np.ndarray
    ids: list[np.ndarray]
    weights: np.ndarray


def pack(table: Table) -> PackedTable:
    """Pack a table.

    Examples
    --------
    >>> table = Table(np.array([[-1, 7], [0, 5]], dtype=np.int32), np.array([2.0, 1.0]))
    >>> [part.nbytes for part in (table.events, *pack(table).ids)], pack(table).steps.dtype
    ([16, 2], dtype('uint8'))
    >>> unpack(pack(table)).events.tolist()
    [[-1, 7], [0, 5]]
    """
    events, weights = table
    first, *others = events.T
    steps = np.diff(first, prepend=np.int32(BOUNDARY))
    whole = weights.max(initial=0.0) <= LARGEST and bool((weights == np.floor(weights)).all())
    packed = _narrow(weights.astype(np.uint32)) if whole else weights
    return PackedTable(_narrow(steps), [_narrow(ids - BOUNDARY) for ids in others], packed)


def unpack(packed: PackedTable) -> Table:
    """Return the table again, the same bits."""
    n_events, n_ids = len(packed.weights), 1 + len(packed.ids)
    events = np.empty((n_events, n_ids), dtype=np.int32, order="F")
    np.cumsum(packed.steps, out=events[:, 0])
    for j, ids in enumerate(packed.ids, start=1):
        events[:, j] = ids
    events += BOUNDARY
    return Table(events, packed.weights.astype(np.float64))


def _narrow(values: np.ndarray) -> np.ndarray:
    """Store integers that are not negative in the narrowest type."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
