"""The links between tokens: how they are, and their types."""

import numpy as np

from ..data.graphs import GraphArray
from ..data.ragged import SequenceArray
from ..structures import Structure
from .counts import Template

__all__ = ["EDGE_TYPE", "KINDS_OF_LINKS", "TYPED_PAIRS", "edge_types", "kind_of_links"]

KINDS_OF_LINKS = ("next", "children", "any")
"""Links from each token to the next one, to any tokens with no other link into them, or any links.

A model of one kind takes the kinds before it too.
"""

EDGE_TYPE = "<edge>"
"""The column of the types of links, in templates and in the names of attributes."""

TYPED_PAIRS = Template(((EDGE_TYPE, 0),), (-1, 0), linked=True)
"""The template of the labels of links with types."""


def kind_of_links(structure: Structure) -> str:
    """How tokens of such structures are linked, one of ``KINDS_OF_LINKS``."""
    if structure.always_sequential:
        return "next"
    return "children" if structure.is_directed else "any"


def edge_types(X: SequenceArray, structure: Structure) -> list[str] | None:
    """The type of each link of a structure.

    Parameters
    ----------
    X : SequenceArray
    structure : Structure
        The structure of X.

    Returns
    -------
    list of str, or None
        In the order of ``structure.links()``; None if X has no types.

    Raises
    ------
    ValueError
        If the edges have attributes instead of types.
    """
    if not isinstance(X, GraphArray) or X.edge_data is None:
        return None
    if X.edge_data.ndim != 1:
        raise ValueError(
            "X: edge_data has attributes of edges, but only a type of each edge can be counted; "
            "make types of them, as an array of shape (n_edges,)"
        )
    # The same pairs of tokens, each only once, in two orders.
    of_edges = np.lexsort(X.token_edges.T)
    of_links = np.lexsort(structure.links())
    types = np.empty(len(of_edges), dtype=object)
    types[of_links] = X.edge_data[of_edges]
    return [str(kind) for kind in types.tolist()]
