"""The nodes of graphs whose labels are known, and the edges between them."""

import numpy as np

from ...data.graphs import GraphArray
from ...data.ragged import SequenceArray

__all__ = ["labelled_part"]


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
