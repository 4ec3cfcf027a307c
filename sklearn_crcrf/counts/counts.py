"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._kernels.sparse.keys import count_rows, merge_events
from ..utils.memory import require_memory
from ..utils.soundness import Array, Fact, Requirement, indices, setting_state

BOUNDARY = -1
"""The symbol, and the label, of every position outside the sequence."""

NEVER_COUNTED = "some of these sequences were never counted, so they cannot be removed"
# Sums of weights that are not integers cancel only up to rounding.
_ROUNDING = 1e-9


class Table(NamedTuple):
    """The counts of one template.

    Parameters
    ----------
    events : ndarray of shape (n_events, n_symbols + n_labels), int32
        The ids of the symbols and labels that occurred together; rows are unique and sorted.
    weights : ndarray of shape (n_events,), float64
        How often they occurred together, or the sum of the weights of the tokens; positive.
    """

    events: np.ndarray
    weights: np.ndarray


def aggregate(columns: Iterable[np.ndarray], weights: np.ndarray, n_events: int) -> Table:
    """Sum the weights of equal rows; the columns hold ids from BOUNDARY upwards.

    Rows whose weights are zero are left out.
    """
    return count_events(((ids, 0) for ids in columns), np.zeros(1, np.int64), weights, n_events)


def count_events(
    columns: Iterable[tuple[np.ndarray, int]],
    offsets: np.ndarray,
    weights: np.ndarray,
    n_events: int,
) -> Table:
    """Count rows of the ids at an offset from each token, BOUNDARY outside its sequence.

    Parameters
    ----------
    columns : iterable of (ndarray of shape (n_events,), int)
        Ids of tokens, and an offset. An array that no other offset needs is made by an iterator
        when it is its turn, so that only one of them is in memory.
    offsets : ndarray of shape (n_sequences + 1,), int64
    weights : ndarray of shape (n_events,) or (1,)
    n_events : int
    """
    ids = ((np.ascontiguousarray(ids, dtype=np.int32), shift) for ids, shift in columns)
    return Table(*count_rows(ids, offsets, np.ascontiguousarray(weights, np.float64), n_events))


def summed(tables: Iterable[Table], n_ids: int) -> Table:
    """Merge tables of as many ids, each with few others; ValueError without memory."""
    sums = [Table(np.empty((0, n_ids), dtype=np.int32, order="F"), np.empty(0))]
    for table in tables:
        sums.append(table)
        # Each sum is at least twice as large as the next one, so that tables are merged seldom.
        while len(sums) > 1 and len(sums[-1].weights) >= len(sums[-2].weights) // 2:
            sums[-2:] = [_merged(sums[-2], sums[-1])]
    return reduce(_merged, sums)


def _merged(a: Table, b: Table) -> Table:
    """Merge two tables, if there is memory for a third one."""
    n_bytes = sum(float(part.nbytes) for table in (a, b) for part in table)
    require_memory(n_bytes, "y: the counts of all labels", "set small probabilities to zero")
    return merge(a, b)


def split(table: Table, n_parts: int) -> list[Table]:
    """One table for each first id 0, 1, ...: its rows, without that id."""
    bounds = np.searchsorted(table.events[:, 0], np.arange(n_parts + 1))
    return [Table(table.events[a:b, 1:], table.weights[a:b]) for a, b in pairwise(bounds)]


def cut(table: Table, n_ids: int, size: int) -> Iterator[Table]:
    """Neighbouring rows, at least ``size`` at a time; equal first ``n_ids`` ids stay together.

    At least one table is yielded.
    """
    events, weights = table
    start, keys = 0, events[:, :n_ids]
    while True:
        stop = min(start + size, len(events))
        while 0 < stop < len(events) and (keys[stop] == keys[stop - 1]).all():
            stop += 1
        yield Table(events[start:stop], weights[start:stop])
        if stop == len(events):
            return
        start = stop


def merge(a: Table, b: Table, sign: float = 1.0) -> Table:
    """Return the rows of both tables with summed weights; weights of ``b`` count times ``sign``."""
    return Table(*merge_events(*_sorted(a), *_sorted(b), sign))


def _sorted(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Lay out the arrays of a table as kernels take them."""
    return np.asfortranarray(table.events, dtype=np.int32), np.ascontiguousarray(table.weights)


def subtract(a: Table, b: Table) -> Table:
    """``a`` minus ``b``; an event is dropped if only a rounding error of its weight is left."""
    left = merge(a, b, -1.0)
    # If b has no event that a lacks, left has the rows of a.
    if len(left.weights) > len(a.weights) or (left.weights < -_ROUNDING * a.weights).any():
        raise ValueError(NEVER_COUNTED)
    kept = left.weights > _ROUNDING * a.weights
    return _some(left, kept)


def frequent(table: Table, n_ids: int, least: float) -> Table:
    """Return the rows whose first ``n_ids`` ids have a sum of weights of at least ``least``.

    Sums of probabilities that are 1 may be less by a rounding error.
    """
    events, weights = table
    begins = np.append(True, (events[1:, :n_ids] != events[:-1, :n_ids]).any(axis=1))
    starts = np.flatnonzero(begins[: len(events)])
    sums = np.add.reduceat(weights, starts) if len(starts) else weights
    return _some(
        table, np.repeat(sums >= least * (1.0 - _ROUNDING), np.diff([*starts, len(events)]))
    )


def _some(table: Table, chosen: np.ndarray) -> Table:
    """Choose some of the rows, in the layout of all tables."""
    return Table(np.asfortranarray(table.events[chosen]), table.weights[chosen])


class Template(NamedTuple):
    """Which symbols are counted with which labels.

    Parameters
    ----------
    symbols : tuple of (column, offset)
        The symbols that make up an attribute: the column of each, and its position relative to
        the token.
    labels : tuple of int
        Offsets of the labels counted with the attribute: ``(0,)``, or ``(-1, 0)`` for a pair. They
        are along the links between tokens: -1 is the token that links into the token.
    linked : bool
        Whether the offsets of symbols are along the links too; else they are in the sequence.

    Examples
    --------
    >>> Template((("word", -1), ("word", 0)), labels=(-1, 0))
    Template(symbols=(('word', -1), ('word', 0)), labels=(-1, 0), linked=False)
    """

    symbols: tuple[tuple[str, int], ...]
    labels: tuple[int, ...] = (0,)
    linked: bool = False

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the largest offset along links."""
        offsets = [0, *self.labels]
        if self.linked:
            offsets += [offset for _, offset in self.symbols]
        return min(offsets), max(offsets)


class Counts(Mapping):
    """Tables of co-occurrence counts, one per template; they can be added and subtracted.

    Counts of the pieces of a corpus, such as folds or the shares of machines, sum to the counts
    of the whole. With integer weights, counts are exact up to 2 ** 53. With other weights, a
    subtraction removes an event if less than a billionth of its count is left: that is taken for
    a rounding error.

    Parameters
    ----------
    tables : mapping from Template to Table

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.counts import count_tokens
    >>> word = Template((("word", 0),))
    >>> a = count_tokens({"word": np.array([0, 1, 0])}, np.array([2, 3, 2]), [0, 3], [word])
    >>> a[word].events.tolist(), a[word].weights.tolist()
    ([[0, 2], [1, 3]], [2.0, 1.0])
    >>> (a + a - a) == a
    True
    """

    def __init__(self, tables: Mapping[Template, Table]):
        self._tables = dict(tables)

    def __getitem__(self, template: Template) -> Table:
        return self._tables[template]

    def __iter__(self) -> Iterator[Template]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __add__(self, other: "Counts") -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts({t: merge(a, b) for t, a, b in self._pairs(other)})

    def __sub__(self, other: "Counts") -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts({t: subtract(a, b) for t, a, b in self._pairs(other)})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.keys() == other.keys() and all(
            np.array_equal(a.events, b.events) and np.array_equal(a.weights, b.weights)
            for _, a, b in self._pairs(other)
        )

    __hash__ = None  # type: ignore[assignment]  # mutable objects have no hash

    def __repr__(self) -> str:
        return f"<Counts of {len(self)} templates, {self.n_events} events>"

    def __sizeof__(self) -> int:
        """Bytes of the tables, by which engines that move counts between machines plan."""
        return sum(t.events.nbytes + t.weights.nbytes for t in self.values())

    @property
    def n_events(self) -> int:
        """The number of different events, of all templates."""
        return sum(len(table.weights) for table in self.values())

    def without_rare(self, templates: Iterable[Template], min_count: float) -> "Counts":
        """Leave out symbols that rarely occurred together, with whatever labels.

        Parameters
        ----------
        templates : iterable of Template
            The templates of the symbols; all other tables stay as they are.
        min_count : float
            The least number of occurrences, or sum of weights, that is kept.

        Returns
        -------
        Counts
        """
        pruned = {t: frequent(self[t], len(t.symbols), min_count) for t in templates}
        return Counts({**self, **pruned})

    def labels(self) -> np.ndarray:
        """Return the ids of all labels that were counted, in increasing order."""
        last = [table.events[:, -1] for template, table in self.items() if template.labels]
        n_labels = max((int(ids.max(initial=BOUNDARY)) + 1 for ids in last), default=0)
        counted = np.zeros(n_labels + 1, dtype=bool)  # the last one stands for BOUNDARY, -1
        for ids in last:
            counted[ids] = True
        return np.flatnonzero(counted[:-1])

    def requirements(
        self, encoder: Any, n_labels: int, needed: Iterable[Template] = ()
    ) -> Iterator[Requirement]:
        """Yield the requirements of counts of symbols that an encoder knows.

        Parameters
        ----------
        encoder : Encoder
        n_labels : int
        needed : iterable of Template
            The templates that must have been counted.
        """
        missing = [template for template in needed if template not in self]
        yield Fact("templates", not missing, f"must have {missing}")
        for template, (events, weights) in self.items():
            name = f"tables[{template}]"
            sizes = [*encoder.sizes(template), *[n_labels] * len(template.labels)]
            yield Array(f"{name}.weights", weights, (len(weights),), np.finfo(float).tiny)
            yield indices(f"{name}.events", events, (len(weights), len(sizes)), 2**31, BOUNDARY)
            for ids, size in zip(events.T, sizes, strict=True):
                yield indices(f"{name}.events", ids, ids.shape, size, BOUNDARY)

    def __getstate__(self) -> dict:
        # Not every format can store a dict whose keys are tuples.
        return {"templates": list(self), "tables": list(self.values())}

    def __setstate__(self, state: dict) -> None:
        with setting_state("Counts"):
            Counts.__init__(self, dict(zip(state["templates"], state["tables"], strict=True)))

    def _pairs(self, other: "Counts") -> Iterator[tuple[Template, Table, Table]]:
        if self.keys() != other.keys():
            raise ValueError("counts can be combined only if they have the same templates")
        return ((template, self[template], other[template]) for template in self)
