"""Triangles of chordal graphs: three tokens that are linked to each other, and their counts.

The kind of a triangle is the types and directions of its three links. It depends on the order of
the three tokens, so they are put into the order with the least codes; where several orders have
these, a triangle counts equally in each.
"""

from itertools import permutations

import numpy as np

from ..labels.soft import SoftLabels
from ..structures import Structure
from ..structures.graph.chordal import ChordalUnits
from .counting import expected_counts
from .counts import Table, Template, aggregate

TRIANGLE = "<triangle>"
TRIANGLES = Template(tuple((TRIANGLE, offset) for offset in (-2, -1, 0)), (-2, -1, 0))
"""The template of the labels of triangles, given the codes of their links."""

PER_TRIANGLE = 6
"""The counts of a triangle in all its orders; a multiple of their number, so that counts add up."""

# Which tokens of a triangle each of its three links joins.
SIDES = ((0, 1), (1, 2), (0, 2))
ORDERS = tuple(permutations(range(3)))


def link_codes(structure: Structure, triangles: np.ndarray, types: np.ndarray | None) -> np.ndarray:
    """Return the codes of the links of triangles: of tokens 0 and 1, of 1 and 2, and of 0 and 2.

    A code is twice the type, counted from 1, plus one if the link leads to the earlier of both
    tokens. Links without a known type have the type 0.

    Parameters
    ----------
    structure : Structure
    triangles : ndarray of shape (n_triangles, 3)
        Tokens.
    types : ndarray of shape (n_links,), optional
        Ids of the types of links, negative if unknown.

    Returns
    -------
    ndarray of shape (n_triangles, 3), int64
    """
    n, (previous, current) = structure.n_tokens, structure.links()
    keys = np.minimum(previous, current) * n + np.maximum(previous, current)
    order = np.argsort(keys)
    codes = np.empty((len(triangles), 3), dtype=np.int64)
    for side, (a, b) in enumerate(SIDES):
        first, second = triangles[:, a], triangles[:, b]
        wanted = np.minimum(first, second) * n + np.maximum(first, second)
        link = order[np.searchsorted(keys, wanted, sorter=order)]
        kind = 0 if types is None else np.maximum(types[link].astype(np.int64), -1) + 1
        codes[:, side] = 2 * kind + (previous[link] != first)
    return codes


def arranged(
    codes: np.ndarray, corners: np.ndarray, is_directed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triangles in all their orders with the least codes.

    Parameters
    ----------
    codes : ndarray of shape (n, 3)
        As of :func:`link_codes`.
    corners : ndarray of shape (n, 3)
        A number for each token, such as its label.
    is_directed : bool
        Whether the direction of links matters; if not, they have the direction 0.

    Returns
    -------
    triangle : ndarray of shape (n_orders,)
        Increasing; each triangle has 1, 2, 3 or 6 orders.
    codes, corners : ndarray of shape (n_orders, 3)

    Examples
    --------
    >>> codes, corners = np.array([[2, 2, 0]]), np.array([[7, 8, 9]])  # a type for 7, 8 and 8, 9
    >>> triangle, codes, corners = arranged(codes, corners, is_directed=False)
    >>> codes.tolist(), corners.tolist()
    ([[0, 2, 2], [0, 2, 2]], [[7, 9, 8], [9, 7, 8]])
    """
    between = {}
    for side, (a, b) in enumerate(SIDES):
        code = codes[:, side]
        between[a, b], between[b, a] = (code, code ^ 1) if is_directed else (code & ~1, code & ~1)
    each = np.array([[between[x, y], between[y, z], between[x, z]] for x, y, z in ORDERS])
    base = int(each.max(initial=0)) + 1
    key = (each[:, 0] * base + each[:, 1]) * base + each[:, 2]
    triangle, order = np.nonzero((key == key.min(axis=0, initial=base**3)).T)
    return triangle, each[order, :, triangle], corners[triangle[:, None], np.array(ORDERS)[order]]


def count_triangles(
    structure: Structure,
    types: np.ndarray | None,
    labels: np.ndarray | SoftLabels,
    weights: np.ndarray,
) -> Table:
    """How often three labels occur in the triangles of chordal units without larger cliques.

    Parameters
    ----------
    structure : Structure
    types : ndarray of shape (n_links,), optional
        Ids of the types of links.
    labels : ndarray of shape (n_tokens,), or SoftLabels
    weights : ndarray of shape (n_tokens,)
        A triangle has the smallest weight of its tokens.

    Returns
    -------
    Table
        Events are three codes of links and three labels; a triangle has ``PER_TRIANGLE`` times its
        weight in all its orders together.
    """
    triangles = ChordalUnits.of(structure).triangles
    codes = link_codes(structure, triangles, types)
    triangle, codes, corners = arranged(codes, triangles, is_directed=True)
    n_orders = np.bincount(triangle, minlength=len(triangles))
    weight = PER_TRIANGLE // n_orders[triangle] * weights[triangles].min(axis=1)[triangle]
    if isinstance(labels, SoftLabels):
        return expected_counts(labels, [*codes.T.astype(np.int32)], [*corners.T], weight)
    return aggregate([*codes.T, *labels[corners].T], weight, len(triangle))


def with_types(table: Table, types: np.ndarray) -> Table:
    """Return the counts of triangles with other ids of the types of links.

    The rows of a triangle are all its orders with the least codes, which are equal. So are the new
    codes, and one order that makes them least leads from each row to another one of these orders.

    Parameters
    ----------
    table : Table
    types : ndarray of shape (n_types + 1,)
        The new id of each type, and -1 at the end.
    """
    codes, labels = table.events[:, :3].astype(np.int64), table.events[:, 3:]
    codes = 2 * (types[codes // 2 - 1].astype(np.int64) + 1) + (codes & 1)
    triangle, codes, labels = arranged(codes, labels, is_directed=True)
    first = np.searchsorted(triangle, np.arange(len(table.weights)))
    return aggregate([*codes[first].T, *labels[first].T], table.weights, len(first))
