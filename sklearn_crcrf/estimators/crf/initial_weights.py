"""Where training starts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ...base.weights import NamedWeights, Weights
from ...counts.classifier import CountingClassifier
from ...criteria import log_loss
from ...data.csr import sound_csr
from ...linear.corpus import label_counts, transition_counts
from ...linear.designs import observed_pairs
from ...linear.encoder import AttributeEncoder
from ...linear.problem import Problem
from ...training import nested_fits
from .solving import solve

# Smoothing, as a number of observations of each label.
PRIOR = 1.0
# With k attributes per token, empirical weights have the factor SHARE / (k + ALONE). The loss is
# least along these weights at twice this factor; starts nearer zero save more iterations.
SHARE, ALONE = 1.25, 4.0


def _zeros(problem: Problem) -> Weights:
    terms = problem.terms()
    return terms.named(np.zeros(terms.n_weights, dtype=problem.corpus.X.dtype))


def _empirical(problem: Problem) -> Weights:
    """Co-occurrence rates of attributes and labels, and of labels, smoothed.

    The weight of an attribute a and a label y is ``log(1 + c(a, y) / (k p(y)))``, as in
    :class:`~sklearn_crcrf.EmpiricalCRF`, times a factor: the more attributes a token has, the more
    of what they say is said several times.
    """
    corpus, n = problem.corpus, problem.n_labels
    prior = label_counts(corpus, n) + PRIOR
    prior /= prior.sum()
    pairs, independent = transition_counts(corpus, n), np.outer(prior, prior)
    rate = (pairs + PRIOR * independent) / ((pairs.sum() + PRIOR) * independent)
    X = abs(sp.csr_array(corpus.X))
    factor = SHARE / (X.sum() / max(1, X.shape[0]) + ALONE)
    counts = observed_pairs(X, corpus.labels, n)
    counts.data = factor * np.log1p(counts.data / (PRIOR * prior[counts.indices]))
    zeros = _zeros(problem)
    return zeros._replace(state=_flat(counts, problem), transition=factor * np.log(rate))


def _log_loss(problem: Problem) -> Weights:
    """Return the optimum of the log loss, with sigma = 1."""
    likelihood = problem._replace(criterion=log_loss, sigma=1.0)
    options = {"c1": 0.0, "stochastic": {}, "max_iter": 1000, "tol": 1e-5, "callback": None}
    x0 = problem.vector(_zeros(problem))
    return problem.terms().named(solve("lbfgs", likelihood, x0, **options).x)


STARTS: dict[str, Callable[[Problem], Weights]] = {
    "zeros": _zeros,
    "empirical": _empirical,
    "log_loss": _log_loss,
}
"""Starting points by name."""


def trained_weights(
    estimator: Any, encoder: AttributeEncoder, X: Any, y: Any, sample_weight: Any
) -> NamedWeights:
    """Return the weights of another estimator that is trained on the same data.

    Parameters
    ----------
    estimator : LinearClassifier or CountingClassifier
    encoder : AttributeEncoder
        Fitted to X.
    X, y, sample_weight : as in ``fit``

    Raises
    ------
    ValueError
        If weights are not finite, or no attribute that has weights is known to the encoder.
    """
    with nested_fits():
        named = clone(estimator).fit(X, y, sample_weight)._named_weights()
    if isinstance(estimator, CountingClassifier) and not encoder.has_columns:
        named = named.without_column("token")
    name = f"init: {type(estimator).__name__}"
    if not named.are_finite():
        raise ValueError(f"{name} finds events impossible that may occur: smooth its counts")
    if len(encoder.names) and not np.isin(named.names, encoder.names).any():
        raise ValueError(
            f"{name} has none of the attributes of X, such as {encoder.names[0]!r}, but "
            f"{named.names[:1].tolist()}; counting estimators discretise numbers"
        )
    return named


def given_weights(weights: Weights, problem: Problem) -> Weights:
    """Weights given as arrays of the fitted shapes, checked and in the layout of a problem.

    Raises
    ------
    ValueError
        If a shape is not what the problem has, or the arrays of a sparse matrix contradict each
        other.
    """
    of_state = problem.corpus.X.shape[1], problem.n_labels
    shapes = [of_state, *(np.shape(part) for part in _zeros(problem)[1:])]
    for name, part, shape in zip(Weights._fields, weights, shapes, strict=True):
        if np.shape(part) != shape:
            raise ValueError(f"init.{name} has shape {np.shape(part)}, but it must be {shape}")
    if any(np.iscomplexobj(part) for part in weights):
        raise ValueError("init must hold real numbers, not complex ones")
    others = (np.asarray(part, dtype=float) for part in weights[1:])
    state = weights.state
    if sp.issparse(state):
        state = sound_csr(state, "init.state", "init.state, row {}".format)
    return Weights(_flat(sp.csr_array(state), problem), *others)


def _flat(coef: sp.csr_array, problem: Problem) -> np.ndarray:
    """Return the entries of a matrix that are weights of a problem, in one dimension."""
    if problem.pairs is None:
        dense = coef.astype(problem.corpus.X.dtype).toarray()
        dense[problem.only_edges] = 0
        return dense.reshape(-1)
    attribute = np.repeat(np.arange(coef.shape[0]), np.diff(problem.pairs.indptr))
    found = coef[attribute, problem.pairs.indices]
    # For an empty selection, scipy returns a sparse array.
    return np.ravel(found.toarray() if sp.issparse(found) else found)
