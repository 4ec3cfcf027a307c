"""Count which symbols and labels, around tokens as templates name them, occur together."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..data.ragged import SequenceArray, locate
from ..labels.soft import SoftLabels
from .counts import BOUNDARY, Counts, Table, Template, aggregate, count_events, split, summed
from .links import Links, Walks


class ColumnWindow:
    """The columns of a run of sequences, and their neighbours at any offset.

    Parameters
    ----------
    columns : mapping from column name to int ndarray of shape (n_tokens,)
        Ids of the symbols, at most 2 ** 31 - 1.
    labels : int ndarray of shape (n_tokens,), SoftLabels, or None
        Ids of the labels, or the probability of each id; None if only symbols are needed.
    offsets : array-like of shape (n_sequences + 1,)
        Where the sequences begin and end.
    links : Links, optional
        The links between tokens; by default from each token to the next one of its sequence.

    Examples
    --------
    >>> window = ColumnWindow({"word": np.array([5, 6, 7])}, None, [0, 2, 3])
    >>> window.symbols(Template((("word", -1),)))
    [array([-1,  5, -1], dtype=int32)]
    """

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        labels: Any,
        offsets: Any,
        links: Links | None = None,
    ):
        self._columns, self._labels, self._links = columns, labels, links
        self.offsets = np.asarray(offsets, dtype=np.int64)
        self._outside: dict[int, np.ndarray] = {}
        self._walks: dict[tuple[int, int], Walks] = {}
        self._events: dict[tuple[int, int], np.ndarray] = {}

    def symbols(self, template: Template) -> list[np.ndarray]:
        """Return the symbols of a template, each as an int32 array of shape (n_events,)."""
        return [self._symbol(template, *symbol) for symbol in template.symbols]

    def of_links(self, template: Template) -> list[np.ndarray]:
        """Return the symbols of a template with labels at -1 and 0, for each link in order."""
        reach = template.reach
        if reach not in self._events:
            self._events[reach] = self._events_of_links(template)
        event = self._events[reach]
        return [symbol[event] for symbol in self.symbols(template)]

    def _events_of_links(self, template: Template) -> np.ndarray:
        """Find the event of each link among those of a template with labels at -1 and 0."""
        if self._links is None:
            is_first = np.zeros(self.offsets[-1], dtype=bool)
            is_first[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
            return np.flatnonzero(~is_first)
        link = self._walk(template).links[-1]
        inside = np.flatnonzero(link >= 0)
        return inside[np.argsort(link[inside], kind="stable")]

    def count(
        self, template: Template, weights: np.ndarray, given: Sequence[np.ndarray] = ()
    ) -> Table:
        """Count a template: rows of given ids of the token, of its symbols, and of its labels.

        The weight of an event is the smallest weight of its token and of its labels' tokens, so a
        pair of labels never counts more than either label. If labels have probabilities, it is
        multiplied by the probability of the labels of the event.

        Parameters
        ----------
        template : Template
        weights : ndarray of shape (n_tokens,) or (1,)
        given : sequence of int ndarray of shape (n_tokens,)
        """
        weights = self.weights_of(template, weights)
        if isinstance(self._labels, SoftLabels):
            return self._count_expected(self._labels, template, weights, given)
        labels = [(self._labels, offset) for offset in template.labels]
        if not self._walks_along(template):
            symbols = [(self._columns[name], offset) for name, offset in template.symbols]
            columns = [*((ids, 0) for ids in given), *symbols, *labels]
            return count_events(columns, self.offsets, weights, int(self.offsets[-1]))
        own = (self._at(template, ids, 0, True, 0) for ids in given)
        around = (self._symbol(template, *symbol) for symbol in template.symbols)
        of_labels = (self._at(template, _ids(y), k, True, BOUNDARY) for y, k in labels)
        return aggregate(
            chain(own, around, of_labels), weights, len(self._walk(template).tokens[0])
        )

    def _count_expected(
        self,
        labels: SoftLabels,
        template: Template,
        weights: np.ndarray,
        given: Sequence[np.ndarray],
    ) -> Table:
        """Sum the weights of events times the probabilities of their labels."""
        own = [self._at(template, _ids(ids), 0, True, 0) for ids in given]
        symbols = [*own, *self.symbols(template)]
        every = np.arange(self.offsets[-1])
        tokens = [self._at(template, every, offset, True, -1) for offset in template.labels]
        return expected_counts(labels, symbols, tokens, weights)

    def of_tokens(self, template: Template, values: np.ndarray) -> np.ndarray:
        """Return values of tokens for the token of each event of a template."""
        return self._at(template, values, 0, True, 0)

    def labels_of(self, template: Template) -> list[np.ndarray]:
        """Return the labels of events, for each offset of a template; BOUNDARY outside."""
        y = _ids(self._labels)
        return [self._at(template, y, k, True, BOUNDARY) for k in template.labels]

    def weights_of(self, template: Template, weights: np.ndarray) -> np.ndarray:
        """Return the weight of each event: the smallest of its token and of its labels' tokens."""
        if len(weights) == 1:
            return weights
        offsets = [0, *template.labels]
        return np.minimum.reduce([self._at(template, weights, k, True, np.inf) for k in offsets])

    def _symbol(self, template: Template, column: str, offset: int) -> np.ndarray:
        """Find one symbol of each event; a symbol of links is of the link into the token."""
        if self._links is not None and column in self._links.symbols:
            into = self._walk(template).links[-1]
            return np.append(_ids(self._links.symbols[column]), np.int32(BOUNDARY))[into]
        return self._at(template, _ids(self._columns[column]), offset, template.linked, BOUNDARY)

    def _at(
        self, template: Template, values: np.ndarray, offset: int, along_links: bool, outside: float
    ) -> np.ndarray:
        """Find the value at an offset from the token of each event, or ``outside``."""
        if not self._walks_along(template):
            return self._moved(values, offset, outside)
        tokens = self._walk(template).tokens
        if along_links:
            return np.append(values, np.array(outside, dtype=values.dtype))[tokens[offset]]
        return self._moved(values, offset, outside)[tokens[0]]

    def _walks_along(self, template: Template) -> bool:
        """Tell whether the events of a template are walks along links, not tokens."""
        return self._links is not None and template.reach != (0, 0)

    def _walk(self, template: Template) -> Walks:
        """Find the walks whose tokens, or labels, are in the events of a template."""
        reach = template.reach
        if reach not in self._walks and self._links is not None:
            self._walks[reach] = self._links.walks(*reach)
        return self._walks[reach]

    def _moved(self, values: np.ndarray, offset: int, outside: float) -> np.ndarray:
        """Move to each token the value at an offset from it in its sequence."""
        if offset == 0:
            return values
        moved = np.empty_like(values)
        if offset < 0:
            moved[-offset:] = values[:offset]
        else:
            moved[:-offset] = values[offset:]
        if offset not in self._outside:  # the tokens whose sequence has none at this offset
            lengths = self.offsets[1:] - self.offsets[:-1]
            distances = range(min(abs(offset), int(lengths.max(initial=0))))
            first, step = (self.offsets[:-1], 1) if offset < 0 else (self.offsets[1:] - 1, -1)
            edges = [(first + step * k)[lengths > k] for k in distances]
            self._outside[offset] = np.concatenate([*edges, np.empty(0, dtype=np.int64)])
        moved[self._outside[offset]] = outside
        return moved


def expected_counts(
    labels: SoftLabels,
    symbols: Sequence[np.ndarray],
    tokens: Sequence[np.ndarray],
    weights: np.ndarray,
) -> Table:
    """Count the events that tokens with probabilities of labels are expected to have.

    Parameters
    ----------
    labels : SoftLabels
    symbols : sequence of int32 ndarray of shape (n_events,)
    tokens : sequence of ndarray of shape (n_events,)
        The tokens whose labels each event has, -1 outside of their sequence.
    weights : ndarray of shape (n_events,) or (1,)

    Returns
    -------
    Table
        Events are the symbols and then the labels.
    """
    weights = np.broadcast_to(weights, tokens[0].shape)
    counted = np.flatnonzero(weights)
    if len(counted) < len(weights):
        symbols, tokens = ([ids[counted] for ids in columns] for columns in (symbols, tokens))
        weights = weights[counted]
    return summed(
        (
            aggregate(
                [*(ids[events][event] for ids in symbols), *ids_of_labels],
                weights[events][event] * probability,
                len(event),
            )
            for events, event, ids_of_labels, probability in labels.expand(tokens)
        ),
        len(symbols) + len(tokens),
    )


def _ids(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.int32)


_LARGEST_ID = np.iinfo(np.int32).max


def count_tokens(
    columns: Mapping[str, np.ndarray],
    labels: np.ndarray,
    offsets: np.ndarray,
    templates: Iterable[Template],
    weights: np.ndarray | None = None,
    links: Links | None = None,
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
        What is counted.
    weights : array-like of shape (n_tokens,) or (1,), optional
        Weight of each token, or one weight for all; not negative, by default one. A token of
        weight zero is not counted. An event with the labels of several tokens has the smallest of
        their weights.
    links : Links, optional
        The links between tokens; by default from each token to the next one of its sequence. A
        template is counted for every walk along links: for a token with several links out of it,
        an event with the offsets 0 and 1 occurs several times.

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
    window, weights = _check_input(columns, labels, offsets, templates, weights, links)
    return Counts({template: window.count(template, weights) for template in templates})


def count_folds(
    columns: Mapping[str, np.ndarray],
    labels: np.ndarray,
    offsets: np.ndarray,
    templates: Iterable[Template],
    fold_of_sequence: np.ndarray,
    weights: np.ndarray | None = None,
    links: Links | None = None,
) -> list[Counts]:
    """Count the co-occurrences in every fold of a corpus, in one pass over it.

    The counts of all folds sum to the counts of the corpus. A model that is tested on one fold is
    trained on this sum minus the counts of that fold.

    Parameters
    ----------
    columns, labels, offsets, templates : as in :func:`count_tokens`
    fold_of_sequence : int array-like of shape (n_sequences,)
        Fold of each sequence, not negative.
    weights, links : as in :func:`count_tokens`

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
    window, weights = _check_input(columns, labels, offsets, templates, weights, links)
    numbers = np.arange(len(window.offsets))
    fold = _check_ids("fold_of_sequence", fold_of_sequence, numbers)
    return count_folds_of(window, templates, fold, weights)


def count_folds_of(
    window: ColumnWindow, templates: Sequence[Template], fold: np.ndarray, weights: np.ndarray
) -> list[Counts]:
    """Return the same for checked columns and weights, and the fold of each sequence."""
    n_folds = int(fold.max(initial=-1)) + 1
    fold = np.repeat(fold, np.diff(window.offsets))
    # The fold is the first id of every event, so the events of one fold are consecutive.
    tables = {t: split(window.count(t, weights, [fold]), n_folds) for t in templates}
    return [Counts({t: tables[t][k] for t in templates}) for k in range(n_folds)]


def _check_input(
    columns, labels, offsets, templates, weights, links
) -> tuple[ColumnWindow, np.ndarray]:
    offsets = SequenceArray(np.asarray(labels), offsets).offsets
    named = {column for template in templates for column, _ in template.symbols}
    of_links = {} if links is None else links.symbols
    if missing := named - columns.keys() - of_links.keys():
        raise ValueError(f"columns has no {min(missing, key=str)!r}, which a template names")
    ids = {
        name: _check_ids(f"columns[{name!r}]", columns[name], offsets)
        for name in named - of_links.keys()
    }
    window = ColumnWindow(ids, _check_ids("labels", labels, offsets), offsets, links)
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
