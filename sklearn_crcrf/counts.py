"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ._kernels._counting import count_keys

__all__ = ["BOUNDARY", "Counts", "Table", "Template", "count_tokens"]

BOUNDARY = -1
"""The symbol, and the label, of every position outside the sequence."""


class Template(NamedTuple):
    """Which symbols are counted with which labels.

    Parameters
    ----------
    symbols : tuple of (column, offset)
        The symbols that make an attribute: the column they are from, and where they stand
        relative to the token.
    labels : tuple of int
        Offsets of the labels counted with it: ``(0,)``, or ``(-1, 0)`` for a pair of labels.

    Examples
    --------
    >>> Template((("word", -1), ("word", 0)), labels=(-1, 0))
    Template(symbols=(('word', -1), ('word', 0)), labels=(-1, 0))
    """

    symbols: tuple[tuple[str, int], ...]
    labels: tuple[int, ...] = (0,)


class Table(NamedTuple):
    """The counts of one template.

    Parameters
    ----------
    events : ndarray of shape (n_events, n_symbols + n_labels), int32
        The ids of the symbols and labels that occurred together; rows are unique and sorted.
    weights : ndarray of shape (n_events,), float64
        How often they did, or the sum of the sample weights.
    """

    events: np.ndarray
    weights: np.ndarray


class Counts(Mapping):
    """Tables of co-occurrence counts, one per template; they add up and can be taken away.

    All equal ``(template, ids)`` events of a corpus are one number, so the counts of two parts
    of a corpus, from whatever machine or fold, sum to the counts of the whole.

    Parameters
    ----------
    tables : mapping from Template to Table

    Examples
    --------
    >>> import numpy as np
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

    def __iter__(self):
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __add__(self, other: "Counts") -> "Counts":
        return self._combine(other, 1.0)

    def __sub__(self, other: "Counts") -> "Counts":
        return self._combine(other, -1.0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self._tables.keys() == other._tables.keys() and all(
            np.array_equal(a, b)
            for template in self
            for a, b in zip(self[template], other[template], strict=True)
        )

    __hash__ = None

    def _combine(self, other: "Counts", sign: float) -> "Counts":
        if self._tables.keys() != other._tables.keys():
            raise ValueError("counts can be combined only if they are of the same templates")
        tables = {}
        for template, (events, weights) in self._tables.items():
            more = other[template]
            columns = np.concatenate([events, more.events]).T
            table = _aggregate(columns, np.concatenate([weights, sign * more.weights]))
            tables[template] = _drop_zeros(table)
        return Counts(tables)


def count_tokens(
    columns: Mapping[str, np.ndarray],
    labels: np.ndarray,
    offsets: np.ndarray,
    templates: Iterable[Template],
    weights: np.ndarray | None = None,
) -> Counts:
    """Count the co-occurrences of symbols and labels in a run of sequences.

    Parameters
    ----------
    columns : mapping from column name to int ndarray of shape (n_tokens,)
        Ids of the symbols, not negative.
    labels : int ndarray of shape (n_tokens,)
        Ids of the labels, not negative.
    offsets : array-like of shape (n_sequences + 1,)
        Where the sequences begin and end.
    templates : iterable of Template
    weights : ndarray of shape (n_tokens,), optional
        Weight of each token; by default each counts one.

    Returns
    -------
    Counts

    Examples
    --------
    >>> pair = Template((("word", -1), ("word", 0)), labels=(-1, 0))
    >>> words, labels = np.array([5, 6]), np.array([0, 1])
    >>> count_tokens({"word": words}, labels, [0, 2], [pair])[pair].events.tolist()
    [[-1, 5, -1, 0], [5, 6, 0, 1]]
    """
    weights = np.ones(1) if weights is None else weights
    window = Window(columns, labels, offsets)
    return Counts({t: _aggregate(window.events(t), weights) for t in templates})


class Window:
    """The columns of a run of sequences, and their neighbours at any offset."""

    def __init__(self, columns: Mapping[str, np.ndarray], labels, offsets):
        self._columns = {**columns, None: labels}
        offsets = np.asarray(offsets, dtype=np.int64)
        lengths = np.diff(offsets)
        position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        self._before = position
        self._after = np.repeat(lengths, lengths) - 1 - position

    def symbols(self, template: Template) -> list[np.ndarray]:
        """The symbols of a template, one int32 array of shape (n_tokens,) for each."""
        return [self._shifted(column, offset) for column, offset in template.symbols]

    def events(self, template: Template) -> list[np.ndarray]:
        """The symbols of a template, then its labels."""
        return self.symbols(template) + [self._shifted(None, k) for k in template.labels]

    def _shifted(self, column: str | None, offset: int) -> np.ndarray:
        values = np.asarray(self._columns[column], dtype=np.int32)
        if offset == 0:
            return values
        out = np.full(len(values), BOUNDARY, dtype=np.int32)
        if abs(offset) < len(values):
            if offset < 0:
                out[-offset:] = values[:offset]
                out[self._before < -offset] = BOUNDARY
            else:
                out[:-offset] = values[offset:]
                out[self._after < offset] = BOUNDARY
        return out


def _aggregate(columns: Sequence[np.ndarray], weights: np.ndarray) -> Table:
    """Sum the weights of equal rows; the columns hold ids from BOUNDARY upwards."""
    if len(columns[0]) == 0:
        return Table(np.empty((0, len(columns)), dtype=np.int32), np.empty(0))
    widths = [int(column.max() - BOUNDARY).bit_length() for column in columns]
    if sum(widths) > 64:
        return _aggregate_wide(columns, weights)
    keys, sums = count_keys(_pack(columns, widths), weights, max(1, sum(widths)))
    return Table(_unpack(keys, widths), sums)


def _aggregate_wide(columns: Sequence[np.ndarray], weights: np.ndarray) -> Table:
    """Rows of more than 64 bits: all columns but the last are ranked and become one."""
    *many, last = columns
    first, rank = np.unique(np.stack(many, axis=1), axis=0, return_inverse=True)
    events, sums = _aggregate([rank.astype(np.int32), last], weights)
    return Table(np.concatenate([first[events[:, 0]], events[:, 1:]], axis=1), sums)


def _pack(columns: Sequence[np.ndarray], widths: Sequence[int]) -> np.ndarray:
    keys = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, width in zip(columns, widths, strict=True):
        keys <<= np.uint64(width)
        keys |= (column - np.int32(BOUNDARY)).astype(np.uint64)
    return keys


def _unpack(keys: np.ndarray, widths: Sequence[int]) -> np.ndarray:
    events = np.empty((len(keys), len(widths)), dtype=np.int32)
    for j in reversed(range(len(widths))):
        mask = np.uint64((1 << widths[j]) - 1)
        events[:, j] = (keys & mask).astype(np.int32) + np.int32(BOUNDARY)
        keys = keys >> np.uint64(widths[j])
    return events


def _drop_zeros(table: Table) -> Table:
    # Sums of weights that are not integers cancel only up to rounding.
    left = np.abs(table.weights) > 1e-9
    if (table.weights[left] < 0).any():
        raise ValueError("some of these sequences were never counted, so they cannot be removed")
    return Table(table.events[left], table.weights[left])
