"""The symbols and labels around tokens, as templates name them."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from .counts import BOUNDARY, Template
from .links import Links, Walks
from .tables import Table, count_events

__all__ = ["ColumnWindow"]


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

    def symbols(self, template: Template) -> list[np.ndarray]:
        """The symbols of a template, each as an int32 array of shape (n_events,)."""
        return [self._symbol(template, *symbol) for symbol in template.symbols]

    def of_links(self, template: Template) -> list[np.ndarray]:
        """The symbols of a template with labels at -1 and 0, for each link in their order."""
        if self._links is None:
            is_first = np.zeros(self.offsets[-1], dtype=bool)
            is_first[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
            event = np.flatnonzero(~is_first)
        else:
            link = self._walk(template).links[-1]
            inside = np.flatnonzero(link >= 0)
            event = inside[np.argsort(link[inside], kind="stable")]
        return [symbol[event] for symbol in self.symbols(template)]

    def count(
        self, template: Template, weights: np.ndarray, given: Sequence[np.ndarray] = ()
    ) -> Table:
        """Count a template: rows of given ids of the token, of its symbols, and of its labels.

        The weight of an event is the smallest weight of its token and of its labels' tokens, so a
        pair of labels never counts more than either label.

        Parameters
        ----------
        template : Template
        weights : ndarray of shape (n_tokens,) or (1,)
        given : sequence of int ndarray of shape (n_tokens,)
        """
        if len(weights) > 1:
            offsets = [0, *template.labels]
            moved = [self._at(template, weights, k, True, np.inf) for k in offsets]
            weights = np.minimum.reduce(moved)
        labels = [(self._labels, offset) for offset in template.labels]
        if not self._walks_along(template):
            symbols = [(self._columns[name], offset) for name, offset in template.symbols]
            columns = [*((ids, 0) for ids in given), *symbols, *labels]
            return count_events(columns, self.offsets, weights, int(self.offsets[-1]))
        own = ((self._at(template, ids, 0, True, 0), 0) for ids in given)
        around = ((self._symbol(template, *symbol), 0) for symbol in template.symbols)
        of_labels = ((self._at(template, _ids(y), k, True, BOUNDARY), 0) for y, k in labels)
        n_events = len(self._walk(template).tokens[0])
        return count_events(chain(own, around, of_labels), self.offsets, weights, n_events)

    def _symbol(self, template: Template, column: str, offset: int) -> np.ndarray:
        """One symbol of each event; a symbol of links is of the link into the token."""
        if self._links is not None and column in self._links.symbols:
            into = self._walk(template).links[-1]
            return np.append(_ids(self._links.symbols[column]), np.int32(BOUNDARY))[into]
        return self._at(template, _ids(self._columns[column]), offset, template.linked, BOUNDARY)

    def _at(
        self,
        template: Template,
        values: np.ndarray,
        offset: int,
        along_links: bool,
        outside: float,
    ) -> np.ndarray:
        """The value at an offset from the token of each event, ``outside`` where there is none."""
        if not self._walks_along(template):
            return self._moved(values, offset, outside)
        tokens = self._walk(template).tokens
        if along_links:
            return np.append(values, np.array(outside, dtype=values.dtype))[tokens[offset]]
        return self._moved(values, offset, outside)[tokens[0]]

    def _walks_along(self, template: Template) -> bool:
        """Whether the events of a template are walks along links, not tokens."""
        return self._links is not None and template.reach != (0, 0)

    def _walk(self, template: Template) -> Walks:
        """The walks whose tokens, or labels, are in the events of a template."""
        reach = template.reach
        if reach not in self._walks:
            assert self._links is not None
            self._walks[reach] = self._links.walks(*reach)
        return self._walks[reach]

    def _moved(self, values: np.ndarray, offset: int, outside: float) -> np.ndarray:
        """The value at an offset from each token in its sequence."""
        if offset == 0:
            return values
        moved = np.empty_like(values)
        if offset < 0:
            moved[-offset:] = values[:offset]
        else:
            moved[:-offset] = values[offset:]
        moved[self._without(offset)] = outside
        return moved

    def _without(self, offset: int) -> np.ndarray:
        """The tokens whose sequence has no token at this offset from them."""
        if offset not in self._outside:
            lengths = np.diff(self.offsets)
            distances = range(min(abs(offset), int(lengths.max(initial=0))))
            first, step = (self.offsets[:-1], 1) if offset < 0 else (self.offsets[1:] - 1, -1)
            edges = [(first + step * k)[lengths > k] for k in distances]
            self._outside[offset] = np.concatenate([*edges, np.empty(0, dtype=np.int64)])
        return self._outside[offset]


def _ids(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.int32)
