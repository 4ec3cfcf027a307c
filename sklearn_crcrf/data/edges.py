"""Edges between the tokens of a sample: their checks, and the parents in a forest."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .csr import sound_csr
from .missing import unhashable
from .numbers import first_not_finite
from .ragged import as_integers, checked_offsets, locate, object_array, token_name


class Edges(NamedTuple):
    """The edges of all samples.

    Parameters
    ----------
    pairs : ndarray of int64 of shape (n_edges, 2)
        The positions of the two ends within their sample.
    offsets : ndarray of int64 of shape (n_samples + 1,)
        Where the edges of each sample begin among all edges.
    data : ndarray of shape (n_edges,) or (n_edges, n_edge_attributes), CSR or None
        Types of edges as objects, or their attributes as numbers.
    """

    pairs: np.ndarray
    offsets: np.ndarray
    data: Any = None


def checked_edges(edges: Edges, offsets: np.ndarray) -> Edges:
    """Edges of sound arrays, between different tokens of the same sample, each only once.

    Parameters
    ----------
    edges : Edges
        Its arrays may be any array-likes.
    offsets : ndarray of int64 of shape (n_samples + 1,)
        Where each sample begins among all tokens.

    Returns
    -------
    Edges

    Raises
    ------
    ValueError
        If an array is of another type or shape; if an edge leaves its sample, is a self-loop, or
        is there twice, in any direction. The message names the sample and the edge.
    """
    pairs = as_integers(edges.pairs, "edges")
    if pairs.shape == (0,):
        pairs = pairs.reshape(0, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges must be of shape (n_edges, 2), but are of shape {pairs.shape}")
    edge_offsets = checked_offsets(edges.offsets, len(pairs), "edge_offsets", "edges")
    if len(edge_offsets) != len(offsets):
        raise ValueError(
            f"edge_offsets are of {len(edge_offsets) - 1} samples, "
            f"but offsets of {len(offsets) - 1}"
        )
    _check_ends(pairs, edge_offsets, offsets)
    return Edges(pairs, edge_offsets, _checked_data(edges.data, edge_offsets))


def token_edges(edges: Edges, offsets: np.ndarray) -> np.ndarray:
    """Return the ends of all edges as numbers among all tokens, int64 of shape (n_edges, 2)."""
    return edges.pairs + np.repeat(offsets[:-1], np.diff(edges.offsets))[:, np.newaxis]


def forest_parents(edges: Edges, offsets: np.ndarray) -> np.ndarray:
    """Return the position of the parent of each token within its sample, -1 for a root.

    Parameters
    ----------
    edges : Edges
        From parent to child.
    offsets : ndarray of int64 of shape (n_samples + 1,)

    Returns
    -------
    ndarray of int64 of shape (n_tokens,)

    Raises
    ------
    ValueError
        If a node is the second end of several edges, or there is a cycle; the message names the
        sample.
    """
    ends = token_edges(edges, offsets)
    children = ends[:, 1]
    n_parents = np.bincount(children, minlength=offsets[-1])
    several = np.flatnonzero(n_parents > 1)
    if len(several):
        sample, position = locate(offsets, several[0])
        first, second = np.flatnonzero(children == several[0])[:2] - edges.offsets[sample]
        raise ValueError(
            f"sample {sample} is not a forest of edges from parent to child: node {position} is "
            f"the second end of edge {first} and of edge {second}"
        )
    parents = np.full(offsets[-1], -1)
    parents[children] = edges.pairs[:, 0]
    _check_no_cycle(parents, offsets, "")
    return parents


def check_parents(parents: np.ndarray, offsets: np.ndarray, name: str, root: int) -> None:
    """Raise ValueError unless these are parents in forests; the message says where.

    Parameters
    ----------
    parents : ndarray of int64 of shape (n_tokens,)
        The position of the parent of each token within its sample, -1 for a root.
    offsets : ndarray of int64 of shape (n_samples + 1,)
    name : str
        Name of the parents in the message.
    root : int
        The number that was given for a root, by which all numbers differ from positions.
    """
    lengths = np.diff(offsets)
    sizes = np.repeat(lengths, lengths)
    outside = np.flatnonzero((parents < -1) | (parents >= sizes))
    if len(outside):
        token = outside[0]
        raise ValueError(
            f"{token_name(name, offsets, token, 'sample')}: {parents[token] + root + 1} is neither "
            f"{root} for a root nor one of {root + 1} to {root + sizes[token]}"
        )
    _check_no_cycle(parents, offsets, f"{name}, ")


def _check_ends(pairs: np.ndarray, edge_offsets: np.ndarray, offsets: np.ndarray) -> None:
    """Raise ValueError unless all edges join different tokens of their sample, each only once."""
    lengths, n_edges = np.diff(offsets), np.diff(edge_offsets)
    first, second = pairs.T
    low, high = np.minimum(first, second), np.maximum(first, second)
    sizes = np.repeat(lengths, n_edges)
    wrong = np.flatnonzero((low < 0) | (high >= sizes))
    if len(wrong):
        raise _wrong_edge(
            pairs, edge_offsets, wrong[0], f"leaves the sample, which has {sizes[wrong[0]]} tokens"
        )
    wrong = np.flatnonzero(low == high)
    if len(wrong):
        raise _wrong_edge(pairs, edge_offsets, wrong[0], "is a self-loop")
    keys = (np.repeat(offsets[:-1], n_edges) + low) * lengths.max(initial=0) + high
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        edge, again = np.flatnonzero(keys == twice[0])[:2]
        raise _wrong_edge(
            pairs, edge_offsets, again, f"is double, as edge {locate(edge_offsets, edge)[1]}"
        )


def _wrong_edge(pairs: np.ndarray, edge_offsets: np.ndarray, edge: int, what: str) -> ValueError:
    a, b = pairs[edge].tolist()
    return ValueError(f"{_place('edges', edge_offsets, edge)}: ({a}, {b}) {what}")


def _place(name: str, edge_offsets: np.ndarray, edge: int) -> str:
    return token_name(name, edge_offsets, edge, "sample", "edge")


def _check_no_cycle(parents: np.ndarray, offsets: np.ndarray, name: str) -> None:
    lengths = np.diff(offsets)
    starts = np.repeat(offsets[:-1], lengths)
    token = _token_on_cycle(
        np.where(parents < 0, -1, parents + starts), lengths.max(initial=0).item()
    )
    if token is None:
        return
    cycle = [token]
    while (parent := parents[cycle[-1]] + starts[token]) != token:
        cycle.append(int(parent))
    at = cycle.index(min(cycle))
    sample, first = locate(offsets, cycle[at])
    cycle = [t - offsets[sample] for t in cycle[at:] + cycle[:at]]
    shown = [*map(str, cycle if len(cycle) <= 8 else [*cycle[:7], "..."]), str(first)]
    raise ValueError(
        f"{name}sample {sample} has a cycle; from child to parent: {' -> '.join(shown)}"
    )


def _token_on_cycle(parent: np.ndarray, longest: int) -> int | None:
    """Return a token of the first sample with a cycle, on the cycle; None if there is no cycle.

    ``parent`` has numbers among all tokens. Each round doubles the distance of the ancestors: the
    ancestors at distance 2 d of a token are those at distance d of its ancestor at distance d.
    """
    above_roots = len(parent)
    ancestor = np.append(np.where(parent < 0, above_roots, parent), above_roots)
    below = np.flatnonzero(parent >= 0)
    for _ in range(longest.bit_length()):
        ancestor[below] = ancestor[ancestor[below]]
        below = below[ancestor[below] < above_roots]
        if not len(below):
            return None
    return int(ancestor[below[0]]) if len(below) else None


def _checked_data(data: Any, edge_offsets: np.ndarray) -> Any:
    """Types as an array of objects, or sound attributes."""
    if data is None:
        return None
    if isinstance(data, str) or not isinstance(data, Iterable):
        kind = type(data).__name__
        raise ValueError(f"edge_data must be a list or an array, but is of type {kind}")
    if sp.issparse(data):
        data = sound_csr(data, "edge_data", lambda edge: _place("edge_data", edge_offsets, edge))
    elif getattr(data, "ndim", 1) > 1:
        data = np.asarray(data)
    elif isinstance(data, np.ndarray):
        data = data.astype(object, copy=False)
    else:
        data = object_array([*data])
    if data.ndim not in (1, 2):
        raise ValueError(
            f"edge_data must have one or two dimensions, but its shape is {data.shape}"
        )
    if data.shape[0] != edge_offsets[-1]:
        raise ValueError(f"edge_data is of {data.shape[0]} edges, but there are {edge_offsets[-1]}")
    if data.ndim == 1:
        _check_types(data.tolist(), edge_offsets)
    elif data.dtype.kind not in "biuf":
        raise ValueError(
            f"edge_data of two dimensions must be real numbers, not of type {data.dtype}"
        )
    elif (found := first_not_finite(data)) is not None:
        edge, value = found
        raise ValueError(f"{_place('edge_data', edge_offsets, edge)}: {value} is not finite")
    return data


def _check_types(types: list, edge_offsets: np.ndarray) -> None:
    """Raise ValueError unless types can be told apart."""
    edge, what = unhashable(types), "is not hashable"
    if edge is None:
        edge = next((i for i, t in enumerate(types) if isinstance(t, float | np.floating)), None)
        what = "is no type; attributes of edges are an array of shape (n_edges, n_edge_attributes)"
    if edge is not None:
        raise ValueError(f"{_place('edge_data', edge_offsets, edge)}: {types[edge]!r} {what}")
