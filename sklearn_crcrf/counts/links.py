"""The links between tokens: how they are, their types, and walks along them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from .counts import Template


class Walks(NamedTuple):
    """Walks through tokens: for each token as many as there are choices of links.

    Parameters
    ----------
    tokens : dict from offset to int64 ndarray of shape (n_walks,)
        The token at each offset, -1 where the walk would leave a token that has no link there.
    links : dict from offset to int64 ndarray of shape (n_walks,)
        The number of the link to the token at each offset but 0, -1 where there is none.
    """

    tokens: dict[int, np.ndarray]
    links: dict[int, np.ndarray]


class Links:
    """The links from token to token, such as from parents to children, for walks along them.

    Parameters
    ----------
    previous, current : ndarray of shape (n_links,)
        The tokens that each link leads from and into.
    n_tokens : int
    symbols : mapping from column name to int ndarray of shape (n_links,), optional
        Ids of symbols that links have, such as their types.

    Examples
    --------
    >>> links = Links(np.array([0, 0]), np.array([1, 2]), 3)  # token 0 has two children
    >>> links.walks(-1, 0).tokens
    {0: array([0, 1, 2]), -1: array([-1,  0,  0])}
    >>> links.walks(0, 1).tokens
    {0: array([0, 0, 1, 2]), 1: array([ 1,  2, -1, -1])}
    """

    def __init__(
        self,
        previous: np.ndarray,
        current: np.ndarray,
        n_tokens: int,
        symbols: Mapping[str, np.ndarray] = MappingProxyType({}),
    ):
        self._n_tokens, self.symbols = n_tokens, symbols
        self._before = _Ends(current, previous, n_tokens)
        self._after = _Ends(previous, current, n_tokens)

    def walks(self, first: int, last: int) -> Walks:
        """All walks over the tokens at the offsets from ``first`` to ``last`` of a token.

        Parameters
        ----------
        first : int
            At most 0.
        last : int
            At least 0.

        Returns
        -------
        Walks
            In the order of the tokens at offset 0.
        """
        walks = Walks({0: np.arange(self._n_tokens)}, {})
        for offset in range(-1, first - 1, -1):
            walks = self._before.extend(walks, offset + 1, offset)
        for offset in range(1, last + 1):
            walks = self._after.extend(walks, offset - 1, offset)
        return walks


class _Ends:
    """The links of each token in one direction, and the tokens at their other ends."""

    def __init__(self, own: np.ndarray, other: np.ndarray, n_tokens: int):
        self._n_links = np.bincount(own, minlength=n_tokens)
        self._starts = np.cumsum(self._n_links) - self._n_links
        # The last entry stands for a token without links.
        self._links = np.append(np.argsort(own, kind="stable"), -1)
        self._tokens = np.append(other[self._links[:-1]], -1)

    def extend(self, walks: Walks, last: int, new: int) -> Walks:
        """Return the walks with an offset more, after the offset ``last``."""
        token = walks.tokens[last]
        n_links = np.where(token < 0, 0, self._n_links[token])
        n_walks = np.maximum(n_links, 1)
        place = np.where(n_links == 0, -1, self._starts[token])
        if (n_walks > 1).any():
            which = np.repeat(np.arange(len(token)), n_walks)
            nth = np.arange(len(which)) - (np.cumsum(n_walks) - n_walks)[which]
            place = place[which] + nth
            tokens, links = ({k: ids[which] for k, ids in part.items()} for part in walks)
            walks = Walks(tokens, links)
        tokens, links = walks
        return Walks({**tokens, new: self._tokens[place]}, {**links, new: self._links[place]})


KINDS_OF_LINKS = ("next", "children", "any")
"""Links from each token to the next one, to any tokens with no other link into them, or any links.

A model of one kind takes the kinds before it too.
"""

EDGE_TYPE = "\0edge"
"""Stands for the types of links, in place of a column; no column of X has this name."""

TYPED_PAIRS = Template(((EDGE_TYPE, 0),), (-1, 0), linked=True)
"""The template of the labels of links with types."""
