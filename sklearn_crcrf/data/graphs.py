"""The container of graphs: tokens, and edges between the tokens of a sample."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import edge_inputs
from .edges import Edges, checked_edges, forest_parents, token_edges
from .ragged import SequenceArray, join_rows, same_rows


class GraphArray(SequenceArray):
    """Graphs, stored flat: the nodes of all graphs in one array, the edges in another one.

    A GraphArray is a :class:`SequenceArray` whose samples also hold edges between their tokens,
    the nodes. Splitters, searches and the transformers of this package keep the edges with their
    nodes. Labels of the nodes are given as for sequences.

    Parameters
    ----------
    data : ndarray of shape (n_tokens,) or (n_tokens, n_attributes), CSR or SymbolTable
        One row per node. It is not copied.
    offsets : array-like of int of shape (n_samples + 1,)
        Sample ``i`` has the nodes ``data[offsets[i]:offsets[i + 1]]``.
    edges : array-like of int of shape (n_edges, 2)
        The two ends of each edge, as positions within the sample, counted from 0. Where edges have
        a direction, the first end is the parent and the second one the child.
    edge_offsets : array-like of int of shape (n_samples + 1,)
        Sample ``i`` has the edges ``edges[edge_offsets[i]:edge_offsets[i + 1]]``.
    edge_data : array of shape (n_edges,) or (n_edges, n_edge_attributes), or CSR, optional
        The type of each edge, of any hashable kind but float; or numbers, its attributes.

    Attributes
    ----------
    data, offsets, edges, edge_offsets
        As given; offsets and edges are arrays of int64.
    edge_data : ndarray, CSR or None
        As given; types are an array of objects.

    Raises
    ------
    ValueError
        If an edge leaves its sample, is a self-loop, or is there twice, where ``(a, b)`` and
        ``(b, a)`` are the same; the message names sample and edge. If the arrays do not fit
        together, or attributes are not finite.

    See Also
    --------
    SequenceArray : Samples whose tokens follow one another.

    Examples
    --------
    A sentence as a tree; the first word depends on the second one:

    >>> from sklearn_crcrf import GraphArray
    >>> trees = GraphArray.from_parents([["Dogs", "bark"], ["Run"]], [[1, -1], [-1]])
    >>> trees
    <GraphArray of 2 samples, 3 tokens, 1 edges>
    >>> trees.edges.tolist(), trees.parents.tolist()
    ([[1, 0]], [1, -1, -1])
    >>> trees[1:]
    <GraphArray of 1 samples, 1 tokens, 0 edges>
    """

    __slots__ = ("edge_data", "edge_offsets", "edges")

    def __init__(
        self, data: Any, offsets: Any, edges: Any, edge_offsets: Any, edge_data: Any = None
    ):
        super().__init__(data, offsets)
        checked = checked_edges(Edges(edges, edge_offsets, edge_data), self.offsets)
        self.edges, self.edge_offsets, self.edge_data = checked

    @classmethod
    def from_parents(cls, X: Any, parents: Any, edge_type: Any = None) -> "GraphArray":
        """Make forests from the parent of each token.

        Parameters
        ----------
        X : list of sequences of str or dict, list of 2-D arrays or CSR, or SequenceArray
            The tokens of each sample.
        parents : list of lists of int, or SequenceArray
            The position of the parent of each token within the sample, counted from 0, and -1 for
            a root. A sample may have several roots.
        edge_type : "direction", list of lists, or SequenceArray, optional
            The type of the edge into each token; ignored for roots. "direction" makes it
            ``"left"`` where the parent comes before the child, and ``"right"`` where it comes
            after it.

        Returns
        -------
        GraphArray
            With edges from parent to child, in the order of the children.

        Raises
        ------
        ValueError
            If there is not one parent for every token, a parent is not a token of the sample, or
            parents form a cycle; the message names the sample.

        Examples
        --------
        >>> X = [["Dogs", "chase", "cats"]]
        >>> trees = GraphArray.from_parents(X, [[1, -1, 1]], edge_type="direction")
        >>> trees.edges.tolist(), trees.edge_data.tolist()
        ([[1, 0], [1, 2]], ['right', 'left'])
        """
        return cls._unchecked(*edge_inputs.from_parents(X, parents, edge_type))

    @classmethod
    def from_heads(cls, X: Any, head: str = "head", edge_type: Any = None) -> "GraphArray":
        """Make forests from tokens that have the number of their head, as in treebanks.

        Parameters
        ----------
        X : list of sequences of dict or of DataFrames, SequenceArray of dicts, or DataFrame
            The tokens of each sample; one DataFrame for all has an index of two levels, (sample,
            position). The dicts, or the DataFrames, have the number of the head of a token among
            the tokens of its sample, counted from 1, and 0 for a root; a number or a str, as
            :func:`~sklearn_crcrf.datasets.read_conll` reads it.
        head : str, default="head"
            The key, or the column, of the head. The tokens of the result do not have it.
        edge_type : "direction", list of lists, or SequenceArray, optional
            The type of the edge into each token, as in :meth:`from_parents`.

        Returns
        -------
        GraphArray
            With edges from head to dependent, in the order of the dependents.

        Raises
        ------
        ValueError
            If a token has no head, or a head is not a token of the sample, or heads form a cycle;
            the message names the sample.

        See Also
        --------
        sklearn_crcrf.datasets.read_conllu : Reads a treebank.

        Examples
        --------
        >>> import io
        >>> from sklearn_crcrf.datasets import read_conll
        >>> file = io.StringIO("Dogs N 2 nsubj\\nbark V 0 root\\n")
        >>> X, y = read_conll(file, columns=["form", "tag", "head", "label"])
        >>> trees = GraphArray.from_heads(X)
        >>> trees.parents.tolist(), trees.data.tolist()
        ([1, -1], [{'form': 'Dogs', 'tag': 'N'}, {'form': 'bark', 'tag': 'V'}])

        The trees and labels of a DataFrame:

        >>> import pandas as pd
        >>> from sklearn_crcrf import as_sequences
        >>> frame = pd.DataFrame(
        ...     {"form": ["Dogs", "bark"], "head": [2, 0], "label": ["nsubj", "root"]},
        ...     index=pd.MultiIndex.from_tuples([(0, 1), (0, 2)]),
        ... )
        >>> trees = GraphArray.from_heads(frame[["form", "head"]])
        >>> y = as_sequences(frame, frame["label"]).y
        >>> trees.parents.tolist(), y.tolist()
        ([1, -1], [['nsubj', 'root']])
        """
        return cls._unchecked(*edge_inputs.from_heads(X, head, edge_type))

    @classmethod
    def from_edges(cls, X: Any, edges: Any, edge_data: Any = None) -> "GraphArray":
        """Make graphs from lists of edges.

        Parameters
        ----------
        X : list of sequences of str or dict, list of 2-D arrays or CSR, or SequenceArray
            The tokens of each sample; a single graph is a list of one.
        edges : list of array-likes of int of shape (n_edges, 2), or SequenceArray
            The edges of each sample, as pairs of positions within the sample, counted from 0.
        edge_data : list of lists, 2-D arrays or CSR, or SequenceArray, optional
            Types or attributes of the edges of each sample.

        Returns
        -------
        GraphArray

        Raises
        ------
        ValueError
            As of the constructor; and if edges are not pairs of integers, or X, ``edges`` and
            ``edge_data`` do not have the same samples and edges.

        Examples
        --------
        >>> graph = GraphArray.from_edges([["a", "b", "c"]], [[(0, 1), (1, 2), (2, 0)]])
        >>> graph.n_edges, graph.is_forest
        (3, False)
        """
        return cls._unchecked(*edge_inputs.from_edges(X, edges, edge_data))

    @classmethod
    def from_adjacency(cls, X: Any, matrices: Iterable[Any]) -> "GraphArray":
        """Make graphs from sparse matrices.

        Parameters
        ----------
        X : list of sequences of str or dict, list of 2-D arrays or CSR, or SequenceArray
            The tokens of each sample; a single graph is a list of one.
        matrices : list of sparse matrices or arrays of shape (n_tokens, n_tokens)
            A matrix for each sample; a value other than 0 in row ``a`` and column ``b`` is an edge
            ``(a, b)``. A symmetric matrix has one edge ``(a, b)`` with ``a < b`` for each pair of
            equal values. A matrix that is not symmetric has edges from parents to children.

        Returns
        -------
        GraphArray
            If any value of any matrix is other than 0 and 1, such as a weight, ``edge_data`` is an
            array of shape (n_edges, 1) of all values; else it is None.

        Raises
        ------
        ValueError
            If a matrix is not of this shape, or has a value on its diagonal or one that is not
            finite, or if it is not symmetric and has values in both directions between two tokens;
            the message names the sample.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> matrix = sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
        >>> GraphArray.from_adjacency([["a", "b", "c"]], [matrix]).edges.tolist()
        [[0, 1], [0, 2]]
        """
        return cls._unchecked(*edge_inputs.from_adjacency(X, matrices))

    @classmethod
    def from_networkx(
        cls, graphs: Iterable[Any], attribute: Any = None, edge_attribute: Any = None
    ) -> "GraphArray":
        """Make graphs from graphs of NetworkX.

        Parameters
        ----------
        graphs : list of networkx.Graph or networkx.DiGraph
            The tokens of a sample are the nodes of a graph, in its order. Edges of a DiGraph are
            from parent to child.
        attribute : hashable, optional
            The attribute of the nodes that is the token: a str, a dict or a vector of numbers. By
            default a token is the dict of all attributes of a node.
        edge_attribute : hashable, optional
            The attribute of the edges that is their type, or if it is a float or a vector of
            numbers, their attributes.

        Returns
        -------
        GraphArray

        Raises
        ------
        ValueError
            If a node or edge does not have the attribute, or the edges are not as the constructor
            takes them; the message names the sample.

        Examples
        --------
        >>> import networkx as nx
        >>> graph = nx.DiGraph([("b", "a"), ("b", "c")])
        >>> nx.set_node_attributes(graph, {"a": "Dogs", "b": "chase", "c": "cats"}, "word")
        >>> trees = GraphArray.from_networkx([graph], attribute="word")
        >>> trees.data.tolist(), trees.edges.tolist()
        (['chase', 'Dogs', 'cats'], [[0, 1], [0, 2]])
        """
        return cls._unchecked(*edge_inputs.from_networkx(graphs, attribute, edge_attribute))

    @classmethod
    def from_grid(cls, images: Iterable[Any]) -> "GraphArray":
        """Make graphs from images: each pixel is a node, with edges to its neighbours.

        Parameters
        ----------
        images : list of arrays of shape (height, width, n_attributes) or (height, width)
            Images may differ in height and width. In two dimensions a number is one attribute, and
            a str is a symbol.

        Returns
        -------
        GraphArray
            With the pixels of an image row by row; flatten labels in the same way, with
            ``labels.ravel()``. Each pixel has an edge of the type ``"horizontal"`` to its right
            neighbour, and one of the type ``"vertical"`` to its lower neighbour.

        Raises
        ------
        ValueError
            If an image is not an array of this shape; the message names it.

        Examples
        --------
        >>> graph = GraphArray.from_grid([np.array([[0.1, 0.2], [0.3, 0.4]])])
        >>> for (a, b), kind in zip(graph.edges.tolist(), graph.edge_data, strict=True):
        ...     print(a, b, kind)
        0 1 horizontal
        2 3 horizontal
        0 2 vertical
        1 3 vertical
        """
        return cls._unchecked(*edge_inputs.from_grid(images))

    @classmethod
    def from_lengths(cls, data: Any, lengths: Any) -> "GraphArray":
        """Cut ``data`` into graphs without edges, as :meth:`SequenceArray.from_lengths` does."""
        nodes = SequenceArray.from_lengths(data, lengths)
        return cls.from_edges(nodes, [[]] * len(nodes))

    @classmethod
    def from_sequences(cls, sequences: Iterable[Any]) -> "GraphArray":
        """Make graphs without edges, as :meth:`SequenceArray.from_sequences` does."""
        nodes = SequenceArray.from_sequences(sequences)
        return cls.from_edges(nodes, [[]] * len(nodes))

    @classmethod
    def _unchecked(cls, nodes: SequenceArray, edges: Edges) -> "GraphArray":
        """Make graphs of edges that are not checked yet."""
        return cls(nodes.data, nodes.offsets, *edges)

    @property
    def n_edges(self) -> int:
        """Number of edges of all samples."""
        return len(self.edges)

    @property
    def is_forest(self) -> bool:
        """Whether each node is the second end of at most one edge, and there is no cycle."""
        try:
            forest_parents(self._edges, self.offsets)
        except ValueError:
            return False
        return True

    @property
    def parents(self) -> np.ndarray:
        """The position of the parent of each node within its sample, and -1 for a root.

        It is an array of int64 of shape (n_tokens,); ValueError if a sample is not a forest.
        """
        return forest_parents(self._edges, self.offsets)

    @property
    def token_edges(self) -> np.ndarray:
        """The two ends of each edge as numbers among all tokens, int64 of shape (n_edges, 2)."""
        return token_edges(self._edges, self.offsets)

    @property
    def _edges(self) -> Edges:
        return Edges(self.edges, self.edge_offsets, self.edge_data)

    def __getitem__(self, key: Any) -> Any:
        nodes = super().__getitem__(key)
        if not isinstance(nodes, SequenceArray):  # the rows of one sample
            return nodes
        edges = SequenceArray._of(self.edges, self.edge_offsets)[key]
        data = self.edge_data
        if data is not None:
            data = SequenceArray._of(data, self.edge_offsets)[key].data
        return _graphs(nodes, Edges(edges.data, edges.offsets, data))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequenceArray):
            return NotImplemented
        return (
            isinstance(other, GraphArray)
            and super().__eq__(other)
            and _same_edges(self._edges, other._edges)
        )

    def __repr__(self) -> str:
        return (
            f"<GraphArray of {len(self)} samples, {self.data.shape[0]} tokens, "
            f"{self.n_edges} edges>"
        )

    def __reduce__(self):
        return GraphArray, (self.data, self.offsets, *self._edges)

    def copy(self) -> "GraphArray":
        """Return a copy that shares no memory with the original."""
        data = None if self.edge_data is None else self.edge_data.copy()
        return _graphs(super().copy(), Edges(self.edges.copy(), self.edge_offsets.copy(), data))

    def with_data(self, data: Any) -> "GraphArray":
        """Return the same graphs with other data.

        Parameters
        ----------
        data : ndarray, CSR or SymbolTable with n_tokens rows

        Returns
        -------
        GraphArray

        Examples
        --------
        >>> trees = GraphArray.from_parents([["Dogs", "bark"], ["Run"]], [[1, -1], [-1]])
        >>> trees.with_data(np.eye(3)).edges.tolist()
        [[1, 0]]
        """
        return _graphs(super().with_data(data), self._edges)

    def checked(self, name: str) -> "GraphArray":
        """Return the array, checked again with its edges; see :meth:`SequenceArray.checked`."""
        nodes = super().checked(name)
        edges = checked_edges(self._edges, nodes.offsets)
        same = nodes is self and all(a is b for a, b in zip(edges, self._edges, strict=True))
        return self if same else _graphs(nodes, edges)

    @staticmethod
    def _concatenated(parts: list, axis: int) -> "GraphArray":
        if not all(isinstance(part, GraphArray) for part in parts):
            raise TypeError("a GraphArray can be joined only with another GraphArray")
        nodes = SequenceArray._concatenated(parts, axis)
        if axis == 0:
            return _graphs(nodes, _joined_edges([part._edges for part in parts]))
        first = parts[0]._edges
        if not all(_same_edges(part._edges, first) for part in parts):
            raise ValueError("attributes of graphs can be joined only if the edges are the same")
        return _graphs(nodes, first)


def _graphs(nodes: SequenceArray, edges: Edges) -> GraphArray:
    """Graphs from nodes and edges that have been checked."""
    graphs = object.__new__(GraphArray)
    graphs.data, graphs.offsets = nodes.data, nodes.offsets
    graphs.edges, graphs.edge_offsets, graphs.edge_data = edges
    return graphs


def _same_edges(a: Edges, b: Edges) -> bool:
    if not (np.array_equal(a.offsets, b.offsets) and np.array_equal(a.pairs, b.pairs)):
        return False
    if a.data is None or b.data is None:
        return a.data is b.data
    return a.data.shape == b.data.shape and same_rows(a.data, b.data)


def _joined_edges(parts: list[Edges]) -> Edges:
    """Return the edges of all parts; their data must be of the same kind."""
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    pairs = np.concatenate([part.pairs for part in parts])
    offsets = np.append(0, np.cumsum(counts))
    kinds = {_kind(part.data) for part in parts}
    if len(kinds) > 1:
        raise ValueError(
            f"graphs can be joined only if their edge_data are of one kind, not {sorted(kinds)}"
        )
    if kinds == {"None"}:
        return Edges(pairs, offsets)
    return Edges(pairs, offsets, join_rows([part.data for part in parts], axis=0))


def _kind(data: Any) -> str:
    if data is None:
        return "None"
    if data.ndim == 1:
        return "types"
    return f"{data.shape[1]} attributes" + (" in CSR" if sp.issparse(data) else "")
