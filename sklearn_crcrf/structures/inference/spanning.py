"""Forests that span graphs, and the appearance probabilities of links in them."""

from typing import NamedTuple

import numpy as np

from ..._kernels.graph.messages import root_forest, spanning_forest
from .slots import Slots

__all__ = ["Forests"]

# The number of forests of a unit with cycles, unless more are needed to contain every link.
N_FORESTS = 8


class Forests(NamedTuple):
    """Spanning forests of each unit, which together contain all of its links.

    Each further forest prefers the links that the forests before it contain least often, so that
    the appearance probabilities of links, the shares of the forests that contain them, are about
    as equal as they can be. Of a unit without cycles there is one forest: the unit itself.

    Parameters
    ----------
    share : ndarray of shape (n_links,)
        The appearance probabilities.
    first : ndarray of shape (n_units + 1,), int64
        The first forest of each unit.
    place : ndarray of shape (n_forests,), int64
        Where the tokens of each forest begin in ``order``.
    order : ndarray of shape (n,), int64
        The tokens of all forests, each after its parent, in the numbers of the slots.
    up : ndarray of shape (n,), int64
        The slots of the messages from the parents, -1 for roots.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.inference.slots import Slots
    >>> from sklearn_crcrf.structures.inference.spanning import Forests
    >>> offsets, ends = np.array([0, 4]), np.array([[0, 1, 2, 0], [1, 2, 3, 3]])
    >>> Forests.of(offsets, ends, Slots.of(offsets, ends)).share
    array([0.75, 0.75, 0.75, 0.75])
    """

    share: np.ndarray
    first: np.ndarray
    place: np.ndarray
    order: np.ndarray
    up: np.ndarray

    @classmethod
    def of(cls, offsets: np.ndarray, ends: np.ndarray, slots: Slots) -> "Forests":
        """The forests of some units.

        Parameters
        ----------
        offsets : ndarray of shape (n_units + 1,), int64
        ends : ndarray of shape (2, n_links), int64
        slots : Slots
        """
        n_units, lengths = len(offsets) - 1, np.diff(offsets)
        unit_of_link = np.searchsorted(offsets, ends[0], side="right") - 1
        n_uses, n_forests = np.zeros(ends.shape[1]), np.zeros(n_units, dtype=np.int64)
        units, rounds = np.flatnonzero(lengths > 0), []
        while len(units):
            is_open = np.zeros(n_units, dtype=bool)
            is_open[units] = True
            links = np.flatnonzero(is_open[unit_of_link])
            chosen = np.zeros(ends.shape[1], dtype=np.uint8)
            least_first = links[np.argsort(n_uses[links], kind="stable")]
            spanning_forest(ends, least_first, int(offsets[-1]), chosen)
            order, up = np.empty((2, int(lengths[units].sum())), dtype=np.int64)
            structure = slots.start, slots.neighbour, slots.reverse, slots.link
            root_forest(offsets, units, *structure, chosen, order, up)
            rounds.append((units, order, up))
            n_uses += chosen
            n_forests[units] += 1
            is_open[:] = False
            is_open[unit_of_link[n_uses == 0]] = True
            has_cycles = np.zeros(n_units, dtype=bool)
            has_cycles[unit_of_link[n_uses < n_forests[unit_of_link]]] = True
            units = units[is_open[units] | (has_cycles[units] & (n_forests[units] < N_FORESTS))]
        return cls(n_uses / n_forests[unit_of_link], *_joined(rounds, lengths, n_units))


def _joined(
    rounds: list[tuple[np.ndarray, np.ndarray, np.ndarray]], lengths: np.ndarray, n_units: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The forests of all rounds: ``first``, ``place``, ``order`` and ``up``."""
    nothing = np.empty(0, dtype=np.int64)
    unit, order, up = (
        np.concatenate([nothing, *(forests[i] for forests in rounds)]) for i in range(3)
    )
    place = np.cumsum(lengths[unit]) - lengths[unit]
    by_unit = np.argsort(unit, kind="stable")
    return np.searchsorted(unit[by_unit], np.arange(n_units + 1)), place[by_unit], order, up
