"""The order in which a search goes through the tokens of chains and trees."""

from typing import NamedTuple

import numpy as np

from ..structures import Structure
from ..structures.scores import ends


class MessageOrder(NamedTuple):
    """The order of the tokens of each unit, in which each sends a message to one linked token.

    A chain sends messages to the next token, as Viterbi's recursion does, and so finds the same one
    of several best labellings. Other forests send them to the parents.

    Parameters
    ----------
    order : ndarray of shape (n_tokens,), int64
        The tokens of the first unit in their order, then the tokens of the second one, and so on;
        all as positions within their unit. A token comes after all that send to it.
    to : ndarray of shape (n_tokens,), int64
        The position of the token that each token sends to, -1 for none.
    previous : ndarray of shape (n_tokens,), int64
        The position of the token that the link into each token leads from, -1 for none.
    is_last : ndarray of shape (n_tokens,), int8
        Whether no link leads from a token.
    upwards : bool
        Whether ``to`` is ``previous``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.linear.message_order import MessageOrder
    >>> from sklearn_crcrf.structures import Chain
    >>> found = MessageOrder.of(Chain(np.array([0, 3, 4])))
    >>> found.to, found.previous
    (array([ 1,  2, -1, -1]), array([-1,  0,  1, -1]))
    """

    order: np.ndarray
    to: np.ndarray
    previous: np.ndarray
    is_last: np.ndarray
    upwards: bool

    @classmethod
    def of(cls, structure: Structure) -> "MessageOrder | None":
        """Find the order for a structure; None if its links make no forest or it has own scores."""
        if structure.own_scores:
            return None
        n_tokens, offsets = structure.n_tokens, structure.offsets
        first = np.repeat(offsets[:-1], np.diff(offsets))
        if structure.is_sequential():
            position, (_, last) = np.arange(n_tokens) - first, ends(offsets)
            to, is_last = position + 1, np.zeros(n_tokens, dtype=np.int8)
            to[last], is_last[last] = -1, 1
            return cls(position, to, position - 1, is_last, False)
        source, target = structure.links()
        if np.bincount(target, minlength=1).max() > 1:
            return None
        previous, is_last = np.full(n_tokens, -1), np.ones(n_tokens, dtype=np.int8)
        previous[target] = source
        is_last[source] = 0
        depth = _depths(previous)
        if depth is None:
            return None
        order = np.lexsort((-depth, first)) - first
        previous = np.where(previous < 0, -1, previous - first)
        return cls(order, previous, previous, is_last, True)


def _depths(parent: np.ndarray) -> np.ndarray | None:
    """Return the number of ancestors of each token, None if parents make a cycle.

    Parameters
    ----------
    parent : ndarray of shape (n_tokens,)
        -1 for none.
    """
    ancestor, depth = parent.copy(), (parent >= 0).astype(np.int64)
    # Each round doubles the distance of the ancestor.
    for _ in range(len(parent).bit_length() + 1):
        below = np.flatnonzero(ancestor >= 0)
        if len(below) == 0:
            return depth
        depth[below] += depth[ancestor[below]]
        ancestor[below] = ancestor[ancestor[below]]
    return None
