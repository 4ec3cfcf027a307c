"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..utils.soundness import setting_state
from .tables import BOUNDARY, Table, frequent, merge, subtract

__all__ = ["BOUNDARY", "Counts", "Table", "Template"]


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
        """Without the symbols that occurred less often together, with whatever labels.

        Parameters
        ----------
        templates : iterable of Template
            Whose symbols; the tables of all others stay as they are.
        min_count : float
            The least number of occurrences, or sum of weights, that is kept.

        Returns
        -------
        Counts
        """
        pruned = {t: frequent(self[t], len(t.symbols), min_count) for t in templates}
        return Counts({**self, **pruned})

    def labels(self) -> np.ndarray:
        """The ids of all labels that were counted, in increasing order."""
        last = [table.events[:, -1] for template, table in self.items() if template.labels]
        n_labels = max((int(ids.max(initial=BOUNDARY)) + 1 for ids in last), default=0)
        counted = np.zeros(n_labels + 1, dtype=bool)  # the last one stands for BOUNDARY, -1
        for ids in last:
            counted[ids] = True
        return np.flatnonzero(counted[:-1])

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
