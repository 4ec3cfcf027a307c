"""Edges as users give them: parents, heads, lists of pairs, matrices, NetworkX and images."""

from collections.abc import Iterable, Mapping
from numbers import Integral, Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from .csr import sound_csr
from .edges import Edges, check_parents
from .layout import Ragged
from .ragged import SequenceArray, join_sequences, object_array, token_name
from .sequences import as_sequences

# Nodes, and the edges of each sample.
Graphs = tuple[SequenceArray, Edges]

_DIRECTIONS = np.array(["left", "right"], dtype=object)
_ORIENTATIONS = np.array(["horizontal", "vertical"], dtype=object)


def _samples(X: Any) -> SequenceArray:
    """Read the tokens of all samples."""
    if getattr(X, "ndim", 1) > 1 and not isinstance(X, SequenceArray):
        raise _not_listed(X, "X")
    return join_sequences(X, "X")


def from_parents(X: Any, parents: Any, edge_type: Any) -> Graphs:
    """Find the edges of forests from the positions of parents; -1 stands for none."""
    nodes = _samples(X)
    values = Ragged(nodes.offsets).flat(parents, "parents")
    numbers = _whole_numbers(values, "parents")
    return nodes, _forest_edges(nodes, numbers, edge_type, "parents", root=-1)


def from_heads(X: Any, head: str, edge_type: Any) -> Graphs:
    """Find the tokens without their heads, and the edges from heads to dependents."""
    if isinstance(X, list | tuple) and X and all(hasattr(sample, "iloc") for sample in X):
        import pandas as pd

        X = pd.concat(X, keys=range(len(X)))
    nodes, heads = _split_frame(X, head) if hasattr(X, "iloc") else _split_dicts(X, head)
    return nodes, _forest_edges(nodes, _whole_numbers(heads, head), edge_type, head, root=0)


def from_edges(X: Any, edges: Any, edge_data: Any = None) -> Graphs:
    """Find the edges from pairs, and the types or attributes, of each sample."""
    nodes = _samples(X)
    if not isinstance(edges, SequenceArray):
        lists = _listed(edges, "edges")
        edges = SequenceArray.from_sequences([_pairs(pairs, i) for i, pairs in enumerate(lists)])
    _check_count(nodes, len(edges), "edges")
    if edge_data is None:
        return nodes, Edges(edges.data, edges.offsets)
    edge_data = join_sequences(edge_data, "edge_data")
    _check_count(nodes, len(edge_data), "edge_data")
    differ = np.flatnonzero(edges.lengths != edge_data.lengths)
    if len(differ):
        i = differ[0]
        raise ValueError(
            f"sample {i} has {edges.lengths[i]} edges, but {edge_data.lengths[i]} in edge_data"
        )
    return nodes, Edges(edges.data, edges.offsets, edge_data.data)


def from_adjacency(X: Any, matrices: Iterable[Any]) -> Graphs:
    """Find the edges from matrices; each edge of a symmetric matrix is there once."""
    nodes = _samples(X)
    matrices = _listed(matrices, "matrices")
    _check_count(nodes, len(matrices), "matrices")
    lengths = nodes.lengths
    entries = [
        _entries(matrix, n, f"matrices, sample {i}")
        for i, (matrix, n) in enumerate(zip(matrices, lengths.tolist(), strict=True))
    ]
    if not entries:
        return from_edges(nodes, [])
    rows, columns, values = map(np.concatenate, zip(*entries, strict=True))
    sample = np.repeat(np.arange(len(nodes)), [len(found) for found, _, _ in entries])
    starts, n_tokens = nodes.offsets[sample], nodes.offsets[-1]

    # Transposing is a stable sort by columns, so a symmetric matrix has its entries in the same
    # places again.
    indptr = np.append(0, np.cumsum(np.bincount(rows + starts, minlength=n_tokens)))
    matrix = sp.csr_array((values, columns + starts, indptr), shape=(n_tokens, n_tokens))
    opposite = matrix.T.tocsr().tocoo()
    differs = (opposite.row != rows + starts) | (opposite.col != columns + starts)
    differs |= opposite.data != values
    is_symmetric = np.bincount(sample, differs, minlength=len(nodes)) == 0

    kept = np.flatnonzero((rows <= columns) | ~is_symmetric[sample])
    offsets = np.searchsorted(sample[kept], np.arange(len(nodes) + 1))
    data = values[kept, np.newaxis] if (values != 1).any() else None
    return nodes, Edges(np.column_stack([rows[kept], columns[kept]]), offsets, data)


def from_networkx(graphs: Iterable[Any], attribute: Any, edge_attribute: Any) -> Graphs:
    """Find the nodes and edges of graphs of NetworkX."""
    graphs, edges = _listed(graphs, "graphs"), []
    for i, graph in enumerate(graphs):
        if not hasattr(graph, "nodes"):
            raise ValueError(f"graphs, sample {i}: it must be a graph of NetworkX")
        number = {node: k for k, node in enumerate(graph.nodes)}
        edges.append([(number[a], number[b]) for a, b in graph.edges()])
    tokens = _attributes([graph.nodes.items() for graph in graphs], attribute, "node")
    nodes = _with_rows(tokens, (Number, list, np.ndarray), "nodes")
    if edge_attribute is None:
        return from_edges(nodes, edges)
    edge_data = _attributes([graph.edges.items() for graph in graphs], edge_attribute, "edge")
    return from_edges(nodes, edges, _with_rows(edge_data, (float, list, np.ndarray), "edges"))


def from_grid(images: Iterable[Any]) -> Graphs:
    """Find the pixels of images, and the edges between neighbours."""
    pixels, edges, types = [], [], []
    for i, image in enumerate(_listed(images, "images")):
        try:
            image = np.asarray(image)
        except ValueError as error:
            raise ValueError(f"images, sample {i}: {error}") from None
        if image.ndim not in (2, 3):
            raise ValueError(
                f"images, sample {i}: it must be of shape (height, width) or (height, width, "
                f"n_attributes), but is of shape {image.shape}"
            )
        height, width = image.shape[:2]
        is_symbols = image.ndim == 2 and image.dtype.kind not in "biufc"
        n_attributes = image.shape[2] if image.ndim == 3 else 1
        pixels.append(image.ravel() if is_symbols else image.reshape(height * width, n_attributes))
        numbers = np.arange(height * width).reshape(height, width)
        across = np.stack([numbers[:, :-1], numbers[:, 1:]], axis=-1).reshape(-1, 2)
        down = np.stack([numbers[:-1], numbers[1:]], axis=-1).reshape(-1, 2)
        edges.append(np.concatenate([across, down]))
        types.append(np.repeat(_ORIENTATIONS, [len(across), len(down)]))
    return from_edges(join_sequences(pixels, "images"), edges, types)


def _forest_edges(
    nodes: SequenceArray, parents: np.ndarray, edge_type: Any, name: str, root: int
) -> Edges:
    """Return the edges from parents to children; ``root`` is the parent of a root."""
    parents = parents - (root + 1)
    check_parents(parents, nodes.offsets, name, root)
    is_child = parents >= 0
    positions = np.arange(len(parents)) - np.repeat(nodes.offsets[:-1], nodes.lengths)
    pairs = np.column_stack([parents[is_child], positions[is_child]])
    edge_offsets = np.append(0, np.cumsum(is_child))[nodes.offsets]
    if edge_type is None:
        return Edges(pairs, edge_offsets)
    if not isinstance(edge_type, str):
        types = Ragged(nodes.offsets).flat(edge_type, "edge_type").data
        return Edges(pairs, edge_offsets, types[is_child])
    if edge_type != "direction":
        raise ValueError(f"edge_type must be 'direction' or types of tokens, got {edge_type!r}")
    return Edges(pairs, edge_offsets, _DIRECTIONS[(pairs[:, 0] > pairs[:, 1]).astype(np.intp)])


def _split_frame(X: Any, head: str) -> tuple[SequenceArray, SequenceArray]:
    """Return the columns of a DataFrame as sequences, and the heads."""
    if X.ndim == 1 or head not in X.columns:
        raise ValueError(f"X has no column {head!r}")
    if X.index.nlevels == 1:
        raise ValueError("X must have an index of two levels: sample and position")
    nodes, _, mirror = as_sequences(X.drop(columns=head))
    return nodes, mirror.flat(X[head], head)


def _split_dicts(X: Any, head: str) -> tuple[SequenceArray, SequenceArray]:
    """Return the tokens without the key of the head, and the heads."""
    nodes = _samples(X)
    tokens: list[Any] = nodes.data.tolist() if isinstance(nodes.data, np.ndarray) else [None]
    for i, token in enumerate(tokens):
        if not isinstance(token, Mapping) or head not in token:
            where = token_name("X", nodes.offsets, i, "sample")
            raise ValueError(f"{where}: the token must be a dict with the key {head!r}")
    heads = object_array([token[head] for token in tokens])
    others = [{key: value for key, value in t.items() if key != head} for t in tokens]
    return nodes.with_data(object_array(others)), nodes.with_data(heads)


def _whole_numbers(values: SequenceArray, name: str) -> np.ndarray:
    """Return one integer for each token; strings of digits are integers too."""
    if values.data.dtype.kind in "iu":
        return values.data.astype(np.int64)
    given = values.data.tolist()
    try:
        number = {value: _whole_number(value) for value in set(given)}
        return np.array([number[value] for value in given], dtype=np.int64)
    except TypeError:  # a value is not hashable, or its number is None
        pass
    i = next(i for i, value in enumerate(given) if _whole_number(value) is None)
    raise ValueError(f"{token_name(name, values.offsets, i, 'sample')}: {given[i]!r} is no integer")


def _whole_number(value: Any) -> int | None:
    """Return the value of an integer of 64 bits, or of a str of digits; else None."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return int(value) if is_integer and -(2**63) <= value < 2**63 else None


def _listed(samples: Any, name: str) -> list:
    """Return the items of all samples."""
    if sp.issparse(samples) or hasattr(samples, "nodes") or not isinstance(samples, Iterable):
        raise _not_listed(samples, name)
    return list(samples)


def _not_listed(samples: Any, name: str) -> ValueError:
    return ValueError(
        f"{name} must be a list with an item for each sample, but is of type "
        f"{type(samples).__name__}; to pass a single sample, put it into a list: [{name}]"
    )


def _check_count(nodes: SequenceArray, n_samples: int, name: str) -> None:
    if n_samples != len(nodes):
        raise ValueError(f"X has {len(nodes)} samples, but {name} has {n_samples}")


def _pairs(edges: Any, sample: int) -> np.ndarray:
    """Return the edges of one sample as an array of two columns."""
    try:
        pairs = np.asarray(edges if hasattr(edges, "shape") else list(edges))
    except (TypeError, ValueError):  # no list, or the items differ in length
        pairs = np.array(None)
    if pairs.shape == (0,):
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"edges, sample {sample}: they must be pairs of integers")
    return pairs


def _entries(matrix: Any, n_tokens: int, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows, columns and values of the entries of a matrix other than 0, row by row."""
    matrix = sp.csr_array(matrix) if isinstance(matrix, np.ndarray) else matrix
    if not sp.issparse(matrix) or matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name}: it must be a sparse matrix of real numbers")
    if matrix.shape != (n_tokens, n_tokens):
        raise ValueError(
            f"{name}: it must be of shape {(n_tokens, n_tokens)}, but is of shape {matrix.shape}"
        )
    matrix = sound_csr(matrix, name, f"{name}, row {{}}".format)
    rows = np.repeat(np.arange(n_tokens), np.diff(matrix.indptr))
    kept = np.flatnonzero(matrix.data)
    return rows[kept], matrix.indices[kept].astype(np.int64), matrix.data[kept].astype(float)


def _attributes(samples: list, attribute: Any, noun: str) -> list[list]:
    """Return one attribute, or all of them as a dict, of each node or edge of each graph."""
    found: list[list] = []
    for i, items in enumerate(samples):
        found.append([])
        for item, attributes in items:
            if attribute is not None and attribute not in attributes:
                raise ValueError(
                    f"graphs, sample {i}: {noun} {item!r} has no attribute {attribute!r}"
                )
            found[-1].append(dict(attributes) if attribute is None else attributes[attribute])
    return found


def _with_rows(samples: list[list], kinds: tuple[type, ...], name: str) -> list:
    """Return the values of each sample; as rows of an array if a value is of one of these kinds."""
    if not any(isinstance(value, kinds) for values in samples for value in values):
        return samples
    rows: list[Any] = []
    for i, values in enumerate(samples):
        try:
            rows.append(np.array(values, dtype=float).reshape(len(values), -1) if values else [])
        except (TypeError, ValueError) as error:
            raise ValueError(f"graphs, {name} of sample {i}: {error}") from None
    return rows
