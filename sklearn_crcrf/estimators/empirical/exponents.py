"""The exponents of all experts: names, defaults, and the slots where they apply."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...counts.rows import FREQUENT, SELDOM, UNSEEN

__all__ = ["Entry", "Exponents"]

N_KINDS = 3


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
    slots = range(len(spelling.names))
    word_slot = len(spelling.names)
    entries = [
        Entry(
            f"{name}/unseen",
            defaults.get(f"{name}/unseen", defaults["word"] * float(value)),
            [(UNSEEN, slot)],
            [mu_oov],
        )
        for slot, name, value in zip(slots, spelling.names, spelling.exponents, strict=True)
    ]

    def add(name, cells, factors=(1.0,)):
        entries.append(Entry(name, defaults.get(name, 0.0), cells, factors))

    for suffix, kind in (("", FREQUENT), ("/seldom", SELDOM)):
        add("word" + suffix, [(kind, word_slot)])
        add("spelling" + suffix, [(kind, slot) for slot in slots], spelling.exponents)
        for slot, expert in enumerate(experts, word_slot + 1):
            add(expert.name + suffix, [(kind, slot)])
    for slot, expert in enumerate(experts, word_slot + 1):
        add(expert.name + "/unseen", [(UNSEEN, slot)])
    return entries
