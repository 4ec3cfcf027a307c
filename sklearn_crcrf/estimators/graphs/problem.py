"""What graphs have in training: edges with weights of their own, and nodes without a label."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data.graphs import GraphArray
from ...data.ragged import SequenceArray
from ...linear.link_tables import different_rows
from ...linear.terms import TransitionTables


def labelled_part(
    X: SequenceArray, y: SequenceArray
) -> tuple[SequenceArray, SequenceArray, np.ndarray]:
    """Leave out the nodes whose label is None, and their edges.

    Parameters
    ----------
    X, y : SequenceArray
        Of the same lengths.

    Returns
    -------
    X, y : SequenceArray
        The same samples, with fewer nodes.
    kept : bool ndarray of shape (n_tokens,)
        The nodes that have a label.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> X = GraphArray.from_edges([["a", "b", "c"]], [[(0, 1), (1, 2)]])
    >>> nodes, labels, _ = labelled_part(X, SequenceArray.from_sequences([["A", None, "C"]]))
    >>> nodes, labels.tolist()
    (<GraphArray of 1 samples, 2 tokens, 0 edges>, [['A', 'C']])
    """
    kept = np.array([label is not None for label in y.data.tolist()], dtype=bool)
    if kept.all():
        return X, y, kept
    before = np.append(0, np.cumsum(kept))  # how many nodes before each are kept
    offsets = before[X.offsets]
    labels, rows = SequenceArray(y.data[kept], offsets), X.data[kept]
    if not isinstance(X, GraphArray):
        return SequenceArray(rows, offsets), labels, kept
    ends = X.token_edges
    inside = kept[ends].all(axis=1)
    sample = np.repeat(np.arange(len(X)), np.diff(X.edge_offsets))[inside]
    edge_offsets = np.append(0, np.cumsum(np.bincount(sample, minlength=len(X))))
    edges = before[ends[inside]] - offsets[sample][:, None]
    data = None if X.edge_data is None else X.edge_data[inside]
    return GraphArray(rows, offsets, edges, edge_offsets, data), labels, kept


class LinkFeature(TransitionTables):
    """A weight for each attribute of links and each pair of labels, or each group of tied pairs.

    The attributes are the ``link_attributes`` of the structure.

    Parameters
    ----------
    n_attributes : int
    weight_of : ndarray of int of shape (n_labels, n_labels)
        The number of the weight of each pair of labels, as in
        :class:`~sklearn_crcrf.linear.terms.Term`.
    """

    def __init__(self, n_attributes: int, weight_of: np.ndarray):
        super().__init__(n_attributes, len(weight_of), weight_of)

    def _different_rows(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        return different_rows(chunk.structure.link_attributes)


def check_not_negative(link_attributes: sp.csr_array) -> None:
    """Raise ValueError if an attribute of a link is negative: it would punish equal labels."""
    negative = link_attributes.data < 0
    if negative.any():
        column = int(link_attributes.indices[np.argmax(negative)])
        raise ValueError(
            f"X.edge_data, column {column}: attributes of edges must not be negative if "
            "associative=True"
        )


def tied_pairs(n_labels: int, *, symmetric: bool, associative: bool) -> np.ndarray:
    """Return which pairs of labels share a weight, as in :class:`~sklearn_crcrf.linear.terms.Term`.

    Parameters
    ----------
    n_labels : int
    symmetric : bool
        Whether the pairs (i, j) and (j, i) share a weight.
    associative : bool
        Whether only pairs of equal labels have a weight.

    Returns
    -------
    ndarray of int of shape (n_labels, n_labels)

    Examples
    --------
    >>> tied_pairs(2, symmetric=True, associative=False)
    array([[0, 1],
           [1, 2]])
    >>> tied_pairs(2, symmetric=True, associative=True)
    array([[ 0, -1],
           [-1,  1]])
    """
    first, second = np.indices((n_labels, n_labels))
    if associative:
        return np.where(first == second, first, -1)
    if symmetric:
        first, second = np.minimum(first, second), np.maximum(first, second)
    _, numbers = np.unique(first * n_labels + second, return_inverse=True)
    return numbers.reshape(n_labels, n_labels)
