"""Exponents by maximum likelihood on sequences that were not counted.

The score of a path is linear in the exponents, so the conditional log-likelihood is concave in
them: a small problem for a corpus of any size.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ..criteria import log_loss
from ..structures import Structure
from .prepared import Prepared
from .smoothed import RAISING, SmoothedModel

__all__ = ["MAX_ITER", "fit_exponents"]

MAX_ITER = 50

# Standard deviation of the prior around the defaults, relative to sigma.
PRIOR_WIDTH = 0.3
# Rates that may only raise a transition keep a positive exponent.
SMALLEST_EDGE_EXPONENT = 1e-3


def fit_exponents(
    model: SmoothedModel,
    prepared: Prepared,
    y: np.ndarray,
    structure: Structure,
    *,
    sigma: float,
    weight: np.ndarray | None = None,
    max_iter: int = MAX_ITER,
    callback: Callable[[OptimizeResult], None] | None = None,
) -> tuple[dict[str, float], bool]:
    """Fit all exponents of a model.

    Minimises the weighted sum of the negative log-likelihoods of the sequences, plus
    ``||a - a0||^2 / (2 s^2)``, where a0 are the current exponents of the model, and s is 0.3
    sigma.

    Parameters
    ----------
    model : SmoothedModel
        Its exponents are the initial values; it does not change.
    prepared : Prepared
        Tokens that were not counted.
    y : ndarray of shape (n_tokens,)
        Label ids of the tokens.
    structure : Structure
    sigma : float
        Width of the Gaussian prior around the initial values.
    weight : ndarray of shape (n_units,), optional
    max_iter : int
    callback : callable, optional
        Called with an OptimizeResult (x, fun), its argument ``intermediate_result``, after every
        iteration.

    Returns
    -------
    exponents : dict
        By name.
    converged : bool
        Whether they had come to rest after ``max_iter`` iterations.
    """
    structure.require(log_loss.requires, "fitting exponents")
    weight = np.ones(structure.n_units) if weight is None else weight
    objective = _Objective(model, prepared, y, structure, weight, sigma)
    bounds = [
        (SMALLEST_EDGE_EXPONENT, None) if name in RAISING else (None, None)
        for name in model.exponents.names
    ]
    start = model.exponents.values
    try:
        fitted = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=callback,
            options={"maxiter": max_iter, "ftol": 1e-6},
        )
    finally:
        model.set_exponents(start)
    exponents = dict(zip(model.exponents.names, fitted.x.tolist(), strict=True))
    return exponents, bool(fitted.success)


class _Objective:
    """The penalised negative log-likelihood and its gradient in the exponents."""

    def __init__(self, model, prepared, y, structure, weight, sigma):
        self._model, self._prepared, self._y, self._weight = model, prepared, y, weight
        self._structure, self._gains = structure, model.link_gains(prepared)
        self._prior, self._penalty = model.exponents.values.copy(), (PRIOR_WIDTH * sigma) ** -2

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        self._model.set_exponents(values)
        scores = self._model.scores(self._prepared, self._gains)
        loss, pullback = log_loss(self._structure, scores, self._y)
        surplus = pullback(self._weight)
        away = values - self._prior
        gradient = self._model.pullback(self._prepared, scores, surplus, self._gains)
        gradient += self._penalty * away
        return (self._weight * loss).sum() + 0.5 * self._penalty * away @ away, gradient
