"""Which units are chordal with small cliques, and the triangles of these units."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._kernels.graph.messages import eliminate_simplicial
from ..base import Structure


class ChordalUnits(NamedTuple):
    """The units that are chordal and have no clique of four tokens, and their triangles.

    In a chordal graph each cycle of more than three tokens has a chord. Trees are chordal.

    Parameters
    ----------
    is_chordal : ndarray of shape (n_units,), bool
    triangles : ndarray of shape (n_triangles, 3), int64
        The tokens of the triangles of these units; each row increases, and rows are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph
    >>> from sklearn_crcrf.structures.graph.chordal import ChordalUnits
    >>> square = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    >>> with_chord = np.append(square, [[0, 2]], axis=0) + 4
    >>> ChordalUnits.of(Graph(np.array([0, 4, 8]), np.concatenate([square, with_chord])))
    ChordalUnits(is_chordal=array([False,  True]), triangles=array([[4, 5, 6],
           [4, 6, 7]]))
    """

    is_chordal: np.ndarray
    triangles: np.ndarray

    @classmethod
    def of(cls, structure: Structure) -> "ChordalUnits":
        """Return the chordal units of a structure without double links."""
        n, (previous, current) = structure.n_tokens, structure.links()
        ends = np.concatenate([previous, current]), np.concatenate([current, previous])
        linked = sp.csr_array((np.ones(2 * len(previous), dtype=np.int8), ends), shape=(n, n))
        linked.sort_indices()
        is_left, found = np.ones(n, dtype=np.uint8), np.empty((n, 3), dtype=np.int64)
        first, neighbour = (ids.astype(np.int32) for ids in (linked.indptr, linked.indices))
        found = found[: eliminate_simplicial(first, neighbour, is_left, found)]
        left = np.flatnonzero(is_left)
        is_chordal = np.ones(structure.n_units, dtype=bool)
        is_chordal[structure.units_of(left)] = False
        unit = structure.units_of(found[:, 0])
        triangles = np.sort(found[is_chordal[unit]], axis=1)
        return cls(is_chordal, triangles[np.lexsort(triangles.T[::-1])])
