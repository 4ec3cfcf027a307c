"""Forests: trees of labels, in which the parent of a token is the token before it."""

import numpy as np

from ...data.ragged import joined_ranges
from ..chain.chain import Chain
from ..pieces import Pieces
from ..rooted import Rooted
from ..scaled_sums import TreeSums
from ..scores import Scores


class Forest(Rooted):
    """Trees of labels over the tokens of a batch: each token has at most one parent.

    A unit may have several roots. A link is from a parent to its child: roots have begin scores,
    leaves have end scores, and the transition scores of a token are for the link from its parent.
    All recursions of chains hold, from the leaves to the roots and back (Pearl 1988); a path is a
    chain.

    A forest has all capabilities but spans and the k best labellings. Each method is documented
    where it is declared, in :class:`~sklearn_crcrf.structures.Structure` or
    :class:`~sklearn_crcrf.structures.capabilities.Capabilities`.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,), int64
    parent : ndarray of shape (n_tokens,), int64
        The number of the parent among all tokens, -1 for a root.

    Raises
    ------
    ValueError
        If a parent is not a token of the same unit, or the parents make a cycle.

    References
    ----------
    Pearl, *Probabilistic Reasoning in Intelligent Systems*, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Forest, Scores
    >>> forest = Forest(np.array([0, 3]), np.array([1, -1, 1]))
    >>> scores = Scores.of(np.array([[0.0, 0.5], [1.0, 0.0], [0.0, 0.5]]), np.eye(2))
    >>> forest.maximum(scores)
    (array([3.]), array([0, 0, 0], dtype=int32))
    >>> log_z, marginals = forest.marginals(scores)
    >>> np.round(marginals, 3)
    array([[0.461, 0.539],
           [0.633, 0.367],
           [0.461, 0.539]])
    """

    def __init__(self, offsets: np.ndarray, parent: np.ndarray):
        super().__init__(offsets)
        self.parent = np.ascontiguousarray(parent, dtype=np.int64)
        _check_parents(self.offsets, self.parent)
        _ = self.order  # raises an error for cycles

    @classmethod
    def _of(cls, offsets: np.ndarray, parent: np.ndarray) -> "Forest":
        """Of parents that are known to make trees."""
        forest = cls.__new__(cls)
        forest.offsets, forest.parent = offsets, parent
        return forest

    @property
    def before(self) -> np.ndarray:
        return self.parent

    def take(self, units: slice | np.ndarray) -> "Forest":
        if isinstance(units, slice):
            start, stop, _ = units.indices(self.n_units)
            offsets = self.offsets[start : stop + 1]
            parent, origin = self.parent[offsets[0] : offsets[-1]], offsets[0]
            return Forest._of(offsets - origin, np.where(parent < 0, -1, parent - origin))
        starts, lengths = self.offsets[units], self.offsets[units + 1] - self.offsets[units]
        offsets = np.append(0, np.cumsum(lengths))
        parent = self.parent[joined_ranges(starts, lengths)]
        moved = parent + np.repeat(offsets[:-1] - starts, lengths)
        return Forest._of(offsets, np.where(parent < 0, -1, moved))

    def sums(self, scores: Scores) -> TreeSums:
        return TreeSums(self, scores)

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.maximum`; of ties, the lowest labels of the nodes next to a root."""
        return self._maximum(scores, None)

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Pieces:
        return Pieces(self, scores, with_tokens, Chain)


def _check_parents(offsets: np.ndarray, parent: np.ndarray) -> None:
    """Raise ValueError if a parent is not a token of the same unit."""
    if len(parent) != offsets[-1]:
        raise ValueError(f"parent has {len(parent)} elements, but there are {offsets[-1]} tokens")
    lengths = np.diff(offsets)
    start, stop = (np.repeat(ends, lengths) for ends in (offsets[:-1], offsets[1:]))
    wrong = (parent != -1) & ((parent < start) | (parent >= stop))
    if wrong.any():
        token = int(wrong.argmax())
        unit = int(np.searchsorted(offsets, token, side="right")) - 1
        raise ValueError(
            f"parent: token {token - start[token]} of unit {unit} has the parent {parent[token]}, "
            "which is no token of the unit"
        )
