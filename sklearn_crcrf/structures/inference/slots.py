"""Where the messages between linked tokens are stored, and in which order they are sent."""

from typing import NamedTuple

import numpy as np

from ..._kernels.graph.messages import breadth_first, links_of_tokens, make_slots

__all__ = ["Slots"]


class Slots(NamedTuple):
    """The slots of all tokens, one for each of their links; see ``_graph_order.pyx``.

    Parameters
    ----------
    order : ndarray of shape (n_tokens,), int64
        The tokens in the order by which they are numbered here.
    start : ndarray of shape (n_tokens + 1,), int64
        The first slot of each token.
    middle : ndarray of shape (n_tokens,), int64
        The first slot of each token whose link leads to a later token.
    neighbour, reverse, link : ndarray of shape (n_slots,), int64
        The token at the other end, its slot for the same link, and that link.
    is_current : ndarray of shape (n_slots,), uint8
        Whether the token is the second end of the link.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.inference.slots import Slots
    >>> slots = Slots.of(np.array([0, 3]), np.array([[0, 2], [2, 1]]))
    >>> slots.order, slots.neighbour, slots.link
    (array([0, 2, 1]), array([1, 0, 2, 1]), array([0, 0, 1, 1]))
    """

    order: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    neighbour: np.ndarray
    reverse: np.ndarray
    link: np.ndarray
    is_current: np.ndarray

    @classmethod
    def of(cls, offsets: np.ndarray, ends: np.ndarray) -> "Slots":
        """The slots of some units.

        Parameters
        ----------
        offsets : ndarray of shape (n_units + 1,), int64
        ends : ndarray of shape (2, n_links), int64
        """
        n_tokens, n_slots = int(offsets[-1]), ends.size
        first, link = np.empty(n_tokens + 1, dtype=np.int64), np.empty(n_slots, dtype=np.int64)
        links_of_tokens(ends, first, link)
        order, middle = np.empty((2, n_tokens), dtype=np.int64)
        breadth_first(offsets, ends, first, link, order)
        neighbour, reverse, link_of = np.empty((3, n_slots), dtype=np.int64)
        start, is_current = np.empty_like(first), np.empty(n_slots, dtype=np.uint8)
        slots = cls(order, start, middle, neighbour, reverse, link_of, is_current)
        make_slots(ends, first, link, *slots)
        return slots

    @property
    def n_earlier(self) -> np.ndarray:
        """The number of links of each token to earlier tokens."""
        return self.middle - self.start[:-1]
