"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..data.ragged import SequenceArray, locate
from ..utils.soundness import setting_state
from .tables import BOUNDARY, Table, aggregate, merge, positive, split, subtract

__all__ = ["BOUNDARY", "ColumnWindow", "Counts", "Table", "Template", "count_folds", "count_tokens"]

_LARGEST_ID = np.iinfo(np.int32).max


class Template(NamedTuple):
    """Which symbols are counted with which labels.

    Parameters
    ----------
    symbols : tuple of (column, offset)
        The symbols that make up an attribute: the column of each, and its position relative to
        the token.
    labels : tuple of int
        Offsets of the labels counted with the attribute: ``(0,)``, or ``(-1, 0)`` for a pair.

    Examples
    --------
    >>> Template((("word", -1), ("word", 0)), labels=(-1, 0))
    Template(symbols=(('word', -1), ('word', 0)), labels=(-1, 0))
    """

    symbols: tuple[tuple[str, int], ...]
    labels: tuple[int, ...] = (0,)


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
        n_events = sum(len(table.weights) for table in self.values())
        return f"<Counts of {len(self)} templates, {n_events} events>"

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
        Ids of the symbols, from 0 to 2 ** 31 - 1.
    labels : int ndarray of shape (n_tokens,)
        Ids of the labels, from 0 to 2 ** 31 - 1.
    offsets : array-like of shape (n_sequences + 1,)
        Where the sequences begin and end.
    templates : iterable of Template
    weights : array-like of shape (n_tokens,) or (1,), optional
        Weight of each token, or one weight for all; not negative, by default one. A token of
        weight zero is not counted. An event with the labels of several tokens has the smallest of
        their weights.

    Returns
    -------
    Counts

    Raises
    ------
    ValueError
        If a template names a column that is missing, the shapes do not agree, or an id or a
        weight is out of range; the message names the sequence and the position in it.

    Examples
    --------
    >>> pair = Template((("word", -1), ("word", 0)), labels=(-1, 0))
    >>> words, labels = np.array([5, 6]), np.array([0, 1])
    >>> count_tokens({"word": words}, labels, [0, 2], [pair])[pair].events.tolist()
    [[-1, 5, -1, 0], [5, 6, 0, 1]]
    """
    templates = list(templates)
    window, weights = _check_input(columns, labels, offsets, templates, weights)
    n_tokens = len(labels)
    tables = {
        t: aggregate(window.events(t), window.weights(t, weights), n_tokens) for t in templates
    }
    return Counts({t: positive(table) for t, table in tables.items()})


def count_folds(
    columns: Mapping[str, np.ndarray],
    labels: np.ndarray,
    offsets: np.ndarray,
    templates: Iterable[Template],
    fold_of_sequence: np.ndarray,
    weights: np.ndarray | None = None,
) -> list[Counts]:
    """Count the co-occurrences in every fold of a corpus, in one pass over it.

    The counts of all folds sum to the counts of the corpus. A model that is tested on one fold is
    trained on this sum minus the counts of that fold.

    Parameters
    ----------
    columns, labels, offsets, templates, weights
        As in :func:`count_tokens`.
    fold_of_sequence : int array-like of shape (n_sequences,)
        Fold of each sequence, not negative.

    Returns
    -------
    list of Counts
        One for every fold up to the largest fold number; a fold without sequences has empty tables.

    Raises
    ------
    ValueError
        As in :func:`count_tokens`, or if ``fold_of_sequence`` has not one fold for each sequence.

    Examples
    --------
    >>> word = Template((("word", 0),))
    >>> words, labels = np.array([5, 6, 5]), np.array([0, 1, 0])
    >>> folds = count_folds({"word": words}, labels, [0, 2, 3], [word], [0, 1])
    >>> [fold[word].events.tolist() for fold in folds]
    [[[5, 0], [6, 1]], [[5, 0]]]
    """
    templates = list(templates)
    window, weights = _check_input(columns, labels, offsets, templates, weights)
    lengths = np.diff(window.offsets)
    fold = _check_ids("fold_of_sequence", fold_of_sequence, np.arange(len(lengths) + 1))
    n_folds = int(fold.max(initial=-1)) + 1
    fold = np.repeat(fold, lengths)
    # The fold is the first id of every event, so the events of one fold are consecutive.
    tables = {}
    for template in templates:
        events = chain([fold], window.events(template))
        table = aggregate(events, window.weights(template, weights), len(fold))
        tables[template] = split(positive(table), n_folds)
    return [Counts({t: tables[t][k] for t in templates}) for k in range(n_folds)]


class ColumnWindow:
    """The columns of a run of sequences, and their neighbours at any offset.

    Parameters
    ----------
    columns : mapping from column name to int ndarray of shape (n_tokens,)
        Ids of the symbols, at most 2 ** 31 - 1.
    labels : int ndarray of shape (n_tokens,), or None
        Ids of the labels; None if only symbols are needed.
    offsets : array-like of shape (n_sequences + 1,)
        Where the sequences begin and end.

    Examples
    --------
    >>> window = ColumnWindow({"word": np.array([5, 6, 7])}, None, [0, 2, 3])
    >>> window.symbols(Template((("word", -1),)))
    [array([-1,  5, -1], dtype=int32)]
    """

    def __init__(self, columns: Mapping[str, np.ndarray], labels: Any, offsets: Any):
        self._columns, self._labels = columns, labels
        self.offsets = np.asarray(offsets, dtype=np.int64)

    def symbols(self, template: Template) -> list[np.ndarray]:
        """The symbols of a template, each as an int32 array of shape (n_tokens,)."""
        return [self._ids_at(column, offset) for column, offset in template.symbols]

    def events(self, template: Template) -> Iterator[np.ndarray]:
        """The symbols of a template, then its labels, one array at a time."""
        for column, offset in (*template.symbols, *((None, k) for k in template.labels)):
            yield self._ids_at(column, offset)

    def weights(self, template: Template, weights: np.ndarray) -> np.ndarray:
        """The weight of each event: the smallest weight of its token and of its labels' tokens.

        So a pair of labels never counts more than either label.
        """
        if len(weights) == 1:
            return weights
        label_weights = [self._moved(weights, offset, np.inf) for offset in template.labels]
        return np.minimum.reduce([weights, *label_weights])

    def _ids_at(self, column: str | None, offset: int) -> np.ndarray:
        """The symbols of a column, or the labels, at an offset from each token."""
        ids = self._labels if column is None else self._columns[column]
        ids = np.asarray(ids, dtype=np.int32)
        return self._moved(ids, offset, BOUNDARY)

    def _moved(self, values: np.ndarray, offset: int, outside: float) -> np.ndarray:
        """The value at an offset from each token, ``outside`` where there is no token."""
        if offset == 0:
            return values
        moved = np.roll(values, -offset)
        lengths = np.diff(self.offsets)
        for distance in range(min(abs(offset), int(lengths.max(initial=0)))):
            reaches_out = lengths > distance
            edge = self.offsets[:-1] + distance if offset < 0 else self.offsets[1:] - 1 - distance
            moved[edge[reaches_out]] = outside
        return moved


def _check_input(columns, labels, offsets, templates, weights) -> tuple[ColumnWindow, np.ndarray]:
    offsets = SequenceArray(np.asarray(labels), offsets).offsets
    named = {column for template in templates for column, _ in template.symbols}
    if missing := named - columns.keys():
        raise ValueError(f"columns has no {min(missing, key=str)!r}, which a template names")
    ids = {name: _check_ids(f"columns[{name!r}]", columns[name], offsets) for name in named}
    window = ColumnWindow(ids, _check_ids("labels", labels, offsets), offsets)
    return window, _check_weights(weights, offsets)


def _check_ids(name: str, ids: Any, offsets: np.ndarray) -> np.ndarray:
    ids = np.asarray(ids)
    if ids.shape != (offsets[-1],) or (ids.dtype.kind not in "iu" and ids.size):
        raise ValueError(
            f"{name} must hold {offsets[-1]} integers, got shape {ids.shape} and type {ids.dtype}"
        )
    if ids.min(initial=0) < 0 or ids.max(initial=0) > _LARGEST_ID:
        token = int(np.argmax((ids < 0) | (ids > _LARGEST_ID)))
        raise _invalid(name, offsets, token, f"{ids[token]} is not from 0 to {_LARGEST_ID}")
    return np.ascontiguousarray(ids, dtype=np.int32)


def _check_weights(weights: Any, offsets: np.ndarray) -> np.ndarray:
    if weights is None:
        return np.ones(1)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape not in ((offsets[-1],), (1,)):
        raise ValueError(f"weights must have shape ({offsets[-1]},), got {weights.shape}")
    proper = (weights >= 0) & (weights < np.inf)
    if not proper.all():
        token = int(np.argmin(proper))
        raise _invalid("weights", offsets, token, f"{weights[token]} is negative or not finite")
    return weights


def _invalid(name: str, offsets: np.ndarray, token: int, problem: str) -> ValueError:
    sequence, position = locate(offsets, token)
    return ValueError(f"{name}, sequence {sequence}, position {position}: {problem}")
