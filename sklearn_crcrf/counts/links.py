"""Walks along the links between tokens."""

import numpy as np

__all__ = ["Links"]

Ends = tuple[np.ndarray, np.ndarray]
"""The tokens at the other ends of the links of each token: where they start, and the tokens."""


class Links:
    """The links from token to token, such as from parents to children, for walks along them.

    Parameters
    ----------
    previous, current : ndarray of shape (n_links,)
        The tokens that each link leads from and into.
    n_tokens : int

    Examples
    --------
    >>> links = Links(np.array([0, 0]), np.array([1, 2]), 3)  # token 0 has two children
    >>> links.walks(-1, 0)
    {0: array([0, 1, 2]), -1: array([-1,  0,  0])}
    >>> links.walks(0, 1)
    {0: array([0, 0, 1, 2]), 1: array([ 1,  2, -1, -1])}
    """

    def __init__(self, previous: np.ndarray, current: np.ndarray, n_tokens: int):
        self._n_tokens = n_tokens
        self._before = _ends(current, previous, n_tokens)
        self._after = _ends(previous, current, n_tokens)

    def walks(self, first: int, last: int) -> dict[int, np.ndarray]:
        """All walks over the tokens at the offsets from ``first`` to ``last`` of a token.

        Parameters
        ----------
        first : int
            At most 0.
        last : int
            At least 0.

        Returns
        -------
        dict from offset to int64 ndarray of shape (n_walks,)
            The token at each offset, -1 where the walk would leave a token that has no link
            there. For each token there are as many walks as choices of links.
        """
        walks = {0: np.arange(self._n_tokens)}
        for offset in range(-1, first - 1, -1):
            walks = _extended(walks, offset + 1, offset, self._before)
        for offset in range(1, last + 1):
            walks = _extended(walks, offset - 1, offset, self._after)
        return walks


def _ends(own: np.ndarray, other: np.ndarray, n_tokens: int) -> Ends:
    """The other ends of the links, in the order of the own ends, then of the links."""
    starts = np.append(0, np.cumsum(np.bincount(own, minlength=n_tokens)))
    return starts, other[np.argsort(own, kind="stable")]


def _extended(walks: dict[int, np.ndarray], last: int, new: int, ends: Ends) -> dict:
    """The walks with one more offset, next to the offset ``last``."""
    starts, others = ends
    token = walks[last]
    inside = token >= 0
    n_links = np.where(inside, np.diff(starts)[token], 0)
    n_walks = np.maximum(n_links, 1)
    if (n_walks > 1).any():
        which = np.repeat(np.arange(len(token)), n_walks)
        walks = {offset: tokens[which] for offset, tokens in walks.items()}
        nth = np.arange(len(which)) - np.repeat(np.cumsum(n_walks) - n_walks, n_walks)
    else:
        which, nth = np.arange(len(token)), np.zeros(len(token), dtype=np.int64)
    linked = n_links[which] > 0
    place = np.where(linked, starts[walks[last]] + nth, -1)
    return {**walks, new: np.append(others, -1)[place]}
