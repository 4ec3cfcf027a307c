"""The training problem of graphs, whose edges have weights of their own."""

from typing import cast

import numpy as np
import scipy.sparse as sp

from ...linear import Term, Transition
from ...structures import Graph
from ..crf.problem import Problem
from .link_feature import LinkFeature

__all__ = ["AssociativeProblem", "GraphProblem", "check_not_negative", "tied_pairs"]


class GraphProblem(Problem):
    """The training problem of a corpus whose structure is a :class:`Graph`."""

    @property
    def n_edge_attributes(self) -> int:
        """The number of attributes of edges."""
        return cast(Graph, self.corpus.structure).link_attributes.shape[1]

    def shared_terms(self) -> list[Term]:
        """The terms of the weights that all units share."""
        terms: list[Term] = [Transition(self.transitions)]
        if self.n_edge_attributes:
            terms.append(LinkFeature(self.n_edge_attributes, self.transitions))
        return terms


class AssociativeProblem(GraphProblem):
    """A :class:`GraphProblem` in which no weight of a transition may be negative."""

    def lower_bounds(self) -> np.ndarray:
        terms = self.terms()
        bounds = np.zeros(terms.n_weights)
        bounds[: terms.n_node_weights] = -np.inf
        return bounds


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
    """Which pairs of labels share a weight, as in :class:`~sklearn_crcrf.linear.terms.Term`.

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
