"""The symbols and labels around tokens, as templates name them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .counts import BOUNDARY, Template
from .links import Links, Walks

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
        self._walks: dict[tuple[int, int], Walks] = {}

    def symbols(self, template: Template) -> list[np.ndarray]:
        """The symbols of a template, each as an int32 array of shape (n_events,)."""
        return [
            self._at(template, self._ids(column), offset, template.linked, BOUNDARY)
            for column, offset in template.symbols
        ]

    def events(self, template: Template) -> Iterator[np.ndarray]:
        """The symbols of a template, then its labels, one array at a time."""
        for column, offset in template.symbols:
            yield self._at(template, self._ids(column), offset, template.linked, BOUNDARY)
        for offset in template.labels:
            yield self._at(template, self._ids(None), offset, True, BOUNDARY)

    def n_events(self, template: Template) -> int:
        """The number of events: one for each token, or more if tokens have several links."""
        return len(self.own(template, np.empty(self.offsets[-1], dtype=np.int8)))

    def own(self, template: Template, values: np.ndarray) -> np.ndarray:
        """The value of the token of each event, given a value for each token."""
        return self._at(template, values, 0, True, 0)

    def weights(self, template: Template, weights: np.ndarray) -> np.ndarray:
        """The weight of each event: the smallest weight of its token and of its labels' tokens.

        So a pair of labels never counts more than either label.
        """
        if len(weights) == 1:
            return weights
        offsets = [0, *template.labels]
        return np.minimum.reduce([self._at(template, weights, k, True, np.inf) for k in offsets])

    def _ids(self, column: str | None) -> np.ndarray:
        """The symbols of a column, or the labels."""
        return np.asarray(self._labels if column is None else self._columns[column], dtype=np.int32)

    def _at(
        self,
        template: Template,
        values: np.ndarray,
        offset: int,
        along_links: bool,
        outside: float,
    ) -> np.ndarray:
        """The value at an offset from the token of each event, ``outside`` where there is none."""
        if self._links is None:
            return self._moved(values, offset, outside)
        reach = template.reach
        if reach == (0, 0):
            return self._moved(values, offset, outside)
        if reach not in self._walks:
            self._walks[reach] = self._links.walks(*reach)
        tokens = self._walks[reach].tokens
        if along_links:
            return np.append(values, np.array(outside, dtype=values.dtype))[tokens[offset]]
        return self._moved(values, offset, outside)[tokens[0]]

    def _moved(self, values: np.ndarray, offset: int, outside: float) -> np.ndarray:
        """The value at an offset from each token in its sequence."""
        if offset == 0:
            return values
        moved = np.roll(values, -offset)
        lengths = np.diff(self.offsets)
        for distance in range(min(abs(offset), int(lengths.max(initial=0)))):
            reaches_out = lengths > distance
            edge = self.offsets[:-1] + distance if offset < 0 else self.offsets[1:] - 1 - distance
            moved[edge[reaches_out]] = outside
        return moved
