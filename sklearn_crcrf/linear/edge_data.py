"""Types and attributes of edges, as attributes of edges or of the tokens they lead into."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.ragged import SequenceArray
from ..utils.soundness import Array, Fact, Requirement

KINDS = {
    "none": "edges without types or attributes",
    "types": "types of edges",
    "attributes": "attributes of edges",
}


class EdgeEncoder:
    """Encodes the edge data of graphs. In a forest a token gets the attributes of the edge into it.

    Each type of edges that occurs in ``fit`` is an attribute of value 1; types are told apart by
    their str. Attributes of edges stay as they are. Where there is no edge data, there are no
    attributes.

    Attributes
    ----------
    kind : {"none", "types", "attributes"}
    names : ndarray of str objects of shape (n_attributes,)
        Such as ``"edge=left"`` for a type, or ``"edge0"`` for the first attribute.

    Examples
    --------
    >>> from sklearn_crcrf import GraphArray
    >>> from sklearn_crcrf.linear.edge_data import EdgeEncoder
    >>> X = GraphArray.from_parents([["Dogs", "bark", "!"]], [[1, -1, 1]], edge_type="direction")
    >>> encoder = EdgeEncoder().fit(X)
    >>> encoder.transform(X).toarray()
    array([[0., 1.],
           [0., 0.],
           [1., 0.]])
    >>> encoder.names.tolist()
    ['edge=left', 'edge=right']
    """

    def __init__(self):
        self.kind, self.names = "none", np.empty(0, dtype=object)

    def fit(self, X: SequenceArray, extend: bool = False) -> "EdgeEncoder":
        """Learn which types or attributes there are; parameters as of :meth:`fit_transform`."""
        data: Any = getattr(X, "edge_data", None)
        kind, names = _kind(data), self.names.tolist() if extend else []
        if not extend:
            self.kind = kind
        if self.kind == kind == "types":
            names += sorted({f"edge={it}" for it in set(data.tolist())} - set(names))
        elif self.kind == "attributes" and not extend:
            names = [f"edge{k}" for k in range(data.shape[1])]
        self.names = np.array(names, dtype=object)
        return self

    def transform(self, X: SequenceArray) -> sp.csr_array:
        """Encode all tokens of forests; types that were not learned have no attribute.

        Raises
        ------
        ValueError
            If the edge data is not of the kind that was learned.
        """
        of_edges = self.transform_edges(X)
        n_edges, n_tokens = of_edges.shape[0], X.data.shape[0]
        if n_edges == 0:
            return sp.csr_array((n_tokens, len(self.names)))
        child = X.token_edges[:, 1]  # type: ignore[attr-defined]  # a GraphArray, as it has edges
        entries = np.ones(n_edges), (child, np.arange(n_edges))
        return sp.csr_array(sp.csr_array(entries, (n_tokens, n_edges)) @ of_edges)

    def transform_edges(self, X: SequenceArray) -> sp.csr_array:
        """Encode all edges; types that were not learned have no attribute.

        Returns
        -------
        CSR of shape (n_edges, n_attributes)
            Without rows if X is no GraphArray.

        Raises
        ------
        ValueError
            If the edge data is not of the kind that was learned.
        """
        data = getattr(X, "edge_data", None)
        kind = _kind(data)
        if kind != self.kind:
            raise ValueError(f"X has {KINDS[kind]}, but in fit it had {KINDS[self.kind]}")
        shape = getattr(X, "n_edges", 0), len(self.names)
        if data is None:
            return sp.csr_array(shape)
        if kind == "types":
            column = {name: k for k, name in enumerate(self.names)}
            of_type = {it: column.get(f"edge={it}", -1) for it in set(data.tolist())}
            columns = np.array([of_type[it] for it in data.tolist()], dtype=np.int64)
            known = columns >= 0
            indptr = np.append(0, np.cumsum(known))
            return sp.csr_array((np.ones(indptr[-1]), columns[known], indptr), shape)
        if data.shape[1] != shape[1]:
            raise ValueError(
                f"X has {data.shape[1]} attributes of edges, but in fit it had {shape[1]}"
            )
        return sp.csr_array(data, dtype=float)

    def requirements(self) -> Iterator[Requirement]:
        """Return what must hold for an encoder."""
        yield Fact("kind", self.kind in KINDS, f"is {self.kind!r}")
        yield Array("names", self.names, (len(self.names),), kind="OUS")


def _kind(data: Any) -> str:
    if data is None:
        return "none"
    return "types" if data.ndim == 1 else "attributes"
