"""Where training starts."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..criteria import log_loss
from ..linear import Weights, observed_pairs, transition_counts
from .problem import Problem
from .solving import solve

__all__ = ["STARTS", "NamedWeights", "given_weights"]

# Counts as many observations of each label as this, and trusts associations so much.
PRIOR, TRUST = 1.0, 0.4


def _zeros(problem: Problem) -> Weights:
    n, n_edges = problem.n_labels, len(problem.edge_attributes)
    state = np.zeros(problem.layout.n_state, dtype=problem.corpus.X.dtype)
    return Weights(state, np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros((n_edges, n, n)))


def _empirical(problem: Problem) -> Weights:
    """Co-occurrence rates of attributes and labels, and of labels, smoothed.

    The weight of an attribute a and a label y is ``log(1 + c(a, y) / (k p(y)))``, as in
    :class:`~sklearn_crcrf.EmpiricalCRF`, times a factor, as attributes are not independent.
    """
    corpus, n = problem.corpus, problem.n_labels
    known = corpus.y >= 0
    prior = np.bincount(corpus.y[known], minlength=n) + PRIOR
    prior /= prior.sum()
    pairs, independent = transition_counts(corpus, n), np.outer(prior, prior)
    rate = (pairs + PRIOR * independent) / ((pairs.sum() + PRIOR) * independent)
    counts = observed_pairs(abs(sp.csr_array(corpus.X)), corpus.y, n)
    counts.data = TRUST * np.log1p(counts.data / (PRIOR * prior[counts.indices]))
    zeros = _zeros(problem)
    return zeros._replace(state=_flat(counts, problem), transition=TRUST * np.log(rate))


def _log_loss(problem: Problem) -> Weights:
    """The maximum of the likelihood, with a standard deviation of the weights of 1."""
    likelihood = problem._replace(criterion=log_loss, sigma=1.0)
    options = {"c1": 0.0, "stochastic": {}, "max_iter": 1000, "tol": 1e-5, "callback": None}
    x0 = problem.vector(_zeros(problem))
    return problem.layout.split(solve("lbfgs", likelihood, x0, **options).x)


STARTS: dict[str, Callable[[Problem], Weights]] = {
    "zeros": _zeros,
    "empirical": _empirical,
    "log_loss": _log_loss,
}
"""Starting points by name."""


def given_weights(weights: Weights, problem: Problem) -> Weights:
    """Weights of the shapes of the fitted attributes, in the layout of a problem.

    Raises
    ------
    ValueError
        If a shape is not what the problem has.
    """
    n, n_edges = problem.n_labels, len(problem.edge_attributes)
    shapes = [(problem.corpus.X.shape[1], n), (n, n), (n,), (n,), (n_edges, n, n)]
    for name, part, shape in zip(Weights._fields, weights, shapes, strict=True):
        if np.shape(part) != shape:
            raise ValueError(f"init.{name} has shape {np.shape(part)}, but it must be {shape}")
    others = (np.asarray(part, dtype=float) for part in weights[1:])
    return Weights(_flat(sp.csr_array(weights.state), problem), *others)


def _flat(coef: sp.csr_array, problem: Problem) -> np.ndarray:
    """The weights of a matrix that a problem has, in one dimension."""
    if problem.pairs is None:
        dense = np.zeros(coef.shape, dtype=problem.corpus.X.dtype)
        coef = sp.coo_array(coef)
        dense[coef.row, coef.col] = coef.data
        return dense.reshape(-1)
    attribute = np.repeat(np.arange(coef.shape[0]), np.diff(problem.pairs.indptr))
    return np.asarray(coef[attribute, problem.pairs.indices]).ravel()


class NamedWeights(NamedTuple):
    """Fitted weights with the names of attributes and labels.

    Parameters
    ----------
    names : ndarray of shape (n_attributes,)
    edge_attributes : ndarray of int
    classes : ndarray of shape (n_labels,)
    weights : Weights
        Those of the state as a matrix.
    """

    names: np.ndarray
    edge_attributes: np.ndarray
    classes: np.ndarray
    weights: Weights

    def matching(
        self, names: np.ndarray, edge_attributes: np.ndarray, classes: np.ndarray
    ) -> Weights:
        """The weights of other attributes and labels, none or zero for those that are new."""
        label = _find(self.classes.tolist(), classes.tolist())
        attribute = _find(self.names.tolist(), names.tolist())
        edge = _find(self.names[self.edge_attributes].tolist(), names[edge_attributes].tolist())
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


def _find(known: list, wanted: list) -> np.ndarray:
    """Where each of the wanted is among the known, -1 if it is not."""
    place = {item: i for i, item in enumerate(known)}
    return np.array([place.get(item, -1) for item in wanted], dtype=np.int64)


def _inverse(places: np.ndarray, n: int) -> np.ndarray:
    inverse = np.full(n, -1)
    inverse[places[places >= 0]] = np.flatnonzero(places >= 0)
    return inverse


def _take(array: np.ndarray, *places: np.ndarray) -> np.ndarray:
    """Entries at these places along each axis, zero at -1."""
    for axis, place in enumerate(places):
        array = np.take(np.append(array, np.zeros_like(array.take([], axis)), axis), place, axis)
        shape = [1] * array.ndim
        shape[axis] = -1
        array = np.where((place >= 0).reshape(shape), array, 0.0)
    return array
