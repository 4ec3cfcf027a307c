"""The weights of a model, by name."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Weights(NamedTuple):
    """All weights of a model, by name.

    Parameters
    ----------
    state : ndarray or CSR of shape (n_attributes, n_labels), or (n_weights,)
        One-dimensional if only some pairs of attribute and label have a weight.
    transition : ndarray of shape (n_labels, n_labels), row = previous label
        For each pair of a label and the next one.
    begin, end : ndarray of shape (n_labels,)
        For the first and the last labels of sequences.
    edges : ndarray of shape (n_edge_attributes, n_labels, n_labels)
        A table of transitions for each attribute on which transitions depend.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.base.weights import Weights
    >>> none = np.zeros(2)
    >>> weights = Weights(np.ones((3, 2)), np.eye(2), none, none, np.zeros((0, 2, 2)))
    >>> weights.state.shape, weights.edges.size
    ((3, 2), 0)
    """

    state: Any
    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    edges: np.ndarray


class NamedWeights(NamedTuple):
    """Fitted weights with the names of attributes and labels.

    Parameters
    ----------
    names : ndarray of shape (n_attributes,)
    edge_names : ndarray of shape (n_edge_attributes,)
        The names of the attributes on which transitions depend.
    classes : ndarray of shape (n_labels,)
    weights : Weights
        With ``state`` as a matrix.
    own : optional
        Weights that only models of its class have.
    """

    names: np.ndarray
    edge_names: np.ndarray
    classes: np.ndarray
    weights: Weights
    own: Any = None

    def without_column(self, column: str) -> "NamedWeights":
        """Return the same weights, with ``column=`` removed from the names of attributes."""
        names = [name.removeprefix(f"{column}=") for name in self.names.tolist()]
        return self._replace(names=np.array(names, dtype=object))

    def are_finite(self) -> bool:
        """Return whether all weights are finite."""
        state = self.weights.state
        values = state.data if sp.issparse(state) else state
        return all(np.isfinite(part).all() for part in (values, *self.weights[1:]))

    def matching(self, names: np.ndarray, edge_names: np.ndarray, classes: np.ndarray) -> Weights:
        """Weights rearranged for other attributes and labels; zero, or no entry, for new ones."""
        label, attribute = places_of(classes, self.classes), places_of(names, self.names)
        edge = places_of(edge_names, self.edge_names)
        old = sp.coo_array(self.weights.state)
        row, column = _inverse(attribute, len(self.names)), _inverse(label, len(self.classes))
        kept = (row[old.row] >= 0) & (column[old.col] >= 0)
        coef = sp.csr_array(
            (old.data[kept], (row[old.row[kept]], column[old.col[kept]])),
            shape=(len(names), len(classes)),
        )
        _, transition, begin, end, edges = self.weights
        return Weights(
            coef,
            _take(transition, label, label),
            _take(begin, label),
            _take(end, label),
            _take(edges, edge, label, label),
        )


def places_of(wanted: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the place of each wanted item among the known items, -1 if it is not there."""
    place = {item: i for i, item in enumerate(known.tolist())}
    return np.array([place.get(item, -1) for item in wanted.tolist()], dtype=np.int64)


def _inverse(places: np.ndarray, n: int) -> np.ndarray:
    inverse = np.full(n, -1)
    inverse[places[places >= 0]] = np.flatnonzero(places >= 0)
    return inverse


def _take(array: np.ndarray, *places: np.ndarray) -> np.ndarray:
    """Entries at the given places along each axis; zero for place -1."""
    for axis, place in enumerate(places):
        # A zero is appended along the axis, so that place -1 finds it.
        nothing = np.zeros((*array.shape[:axis], 1, *array.shape[axis + 1 :]), array.dtype)
        array = np.take(np.append(array, nothing, axis), place, axis)
    return array
