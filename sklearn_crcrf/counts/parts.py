"""Counts of parts of a corpus, which know the names of what they counted, so that they add up."""

from typing import Any, NamedTuple

import numpy as np

from ..labels.encoding import LabelIds
from .counts import Counts, Table, Template
from .counts import merge as merge_tables
from .observations import Encoder
from .packing import pack, unpack
from .renumbering import Renumbering, merge_renumbered, renumber
from .tabulator import Tabulator

__all__ = ["PartialCounts", "PartialSums", "Plan", "merge"]


class Plan(NamedTuple):
    """How data is counted; the same for all parts of a corpus.

    Parameters
    ----------
    tabulator : Tabulator
        With the bins of numeric columns.
    names : tuple of str
        The columns; the first one holds the words.
    n_attributes : int or None
        Number of columns of a sparse X.
    links : {"next", "children", "any"}
        How tokens are linked.
    has_types : bool
        Whether links have types.
    inputs : dict
        ``n_features_in_`` and ``feature_names_in_``, if X has them.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.counts import count
    >>> plan = count(HMM(), [["the", "dog"]], [["D", "N"]]).plan
    >>> plan.names, plan.links
    (('token',), 'next')
    """

    tabulator: Tabulator
    names: tuple[str, ...]
    n_attributes: int | None
    links: str
    has_types: bool
    inputs: dict[str, Any]

    def difference(self, other: "Plan") -> str | None:
        """What differs in another plan, for an error message; None if nothing does."""
        fields = ("names", "n_attributes", "links", "has_types")
        pairs = {field: (getattr(self, field), getattr(other, field)) for field in fields}
        for name in sorted(self.inputs.keys() | other.inputs.keys()):
            pairs[name] = _plain(self.inputs.get(name)), _plain(other.inputs.get(name))
        for field, (mine, theirs) in pairs.items():
            if mine != theirs:
                return f"{field}, {mine} and {theirs}"
        if self.tabulator is other.tabulator or self.tabulator.agrees(other.tabulator):
            return None
        return "the bins of numeric columns"


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
    <PartialCounts of 2 words and 2 labels, 40 events>
    >>> part.labels
    ['D', 'N']
    """

    def __init__(
        self, plan: Plan | None, encoder: Encoder | None, label_ids: LabelIds, counts: Counts
    ):
        self.plan: Any = plan
        self.encoder: Any = encoder
        self.label_ids, rank = label_ids.in_order(counts.labels())
        self.counts = renumber(counts, {}, rank)

    @classmethod
    def empty(cls) -> "PartialCounts":
        """The counts of no tokens: merged with others they change nothing."""
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
        """These counts minus the counts of data that they contain; ValueError if they do not."""
        self.check_alike(other)
        encoder = self.encoder.copy()
        symbols = encoder.add_all(other.encoder)
        label_ids, rank, other_rank = self.label_ids.joined(other.label_ids)
        removed = renumber(other.counts, symbols, other_rank)
        left = renumber(self.counts, {}, rank) - removed
        return PartialCounts(self.plan, encoder, label_ids, left)

    def check_alike(self, other: "PartialCounts") -> None:
        """Raise ValueError if parts, which both have tokens, were counted in different ways."""
        if self.plan is None or other.plan is None:
            return
        difference = self.plan.difference(other.plan)
        if difference is not None:
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
        counts = renumber(part.counts, symbols, labels)
        self._sums.append(_Sum(dict(counts), part.label_ids, counts.n_events))
        # Each sum is at least twice as large as the next one, so that tables are merged seldom.
        while len(self._sums) > 1 and self._sums[-1].n_events >= self._sums[-2].n_events // 2:
            self._merge_last()

    def total(self) -> PartialCounts:
        """The counts of all parts."""
        if self.first is None or self.encoder is None:
            return PartialCounts.empty()
        while len(self._sums) > 1:
            self._merge_last()
        total, encoder = self._sums[0], self.encoder.copy()
        return PartialCounts(self.first.plan, encoder, total.label_ids, Counts(total.tables))

    def _merge_last(self) -> None:
        b, a = self._sums.pop(), self._sums.pop()
        label_ids, *ranks = a.label_ids.joined(b.label_ids)
        of_a, of_b = (Renumbering({}, rank) for rank in ranks)
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
    """The counts of all parts of a corpus, which are given in order.

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
    if len(there) < 2:
        return there[0] if there else PartialCounts.empty()
    first, others = there[0], there[1:]
    encoder, label_ids = first.encoder.copy(), first.label_ids
    symbols: list[dict[str, np.ndarray]] = [{}]
    for part in others:
        first.check_alike(part)
        symbols.append(encoder.add_all(part.encoder))
        label_ids = label_ids.joined(part.label_ids)[0]
    labels = [label_ids.joined(part.label_ids)[2] for part in there]
    renumberings = list(map(Renumbering, symbols, labels))
    counts = {
        t: merge_renumbered(t, [part.counts[t] for part in there], renumberings)
        for t in first.counts
    }
    return PartialCounts(first.plan, encoder, label_ids, Counts(counts))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
