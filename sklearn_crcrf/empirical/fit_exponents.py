"""Exponents by maximum likelihood on sequences that were not counted.

The score of a path is linear in the exponents, so the conditional log-likelihood is concave in
them: a small problem, whatever the size of the corpus.
"""

import numpy as np
from scipy.optimize import minimize

from ..criteria import log_loss
from ..structures import Chain
from .model import Prepared
from .smoothed import SmoothedModel

__all__ = ["fit_exponents"]

# Standard deviation of the prior around the defaults, relative to sigma.
PRIOR_WIDTH = 0.3
# The common exponent of all edges stays positive: an edge may only raise a transition.
SMALLEST_EDGE_EXPONENT = 1e-3


def fit_exponents(
    model: SmoothedModel,
    prepared: Prepared,
    y: np.ndarray,
    offsets: np.ndarray,
    *,
    sigma: float,
    max_iter: int = 50,
) -> dict[str, float]:
    """Fit all exponents of a model.

    Minimises the negative log-likelihood of ``y`` plus ``||a - a0||^2 / (2 s^2)``, where a0
    are the current exponents of the model, and s is 0.3 sigma.

    Parameters
    ----------
    model : SmoothedModel
        Its exponents are the initial values; it does not change.
    prepared : Prepared
        Tokens that were not counted.
    y : ndarray of shape (n_tokens,)
        Label ids of the tokens.
    offsets : ndarray of shape (n_sequences + 1,)
    sigma : float
        Width of the Gaussian prior around the initial values.
    max_iter : int

    Returns
    -------
    dict
        Exponents by name.
    """
    objective = _Objective(model, prepared, y, offsets, sigma)
    bounds = [
        (SMALLEST_EDGE_EXPONENT, None) if name == "edges" else (None, None)
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
            options={"maxiter": max_iter, "ftol": 1e-6},
        )
    finally:
        model.set_exponents(start)
    return dict(zip(model.exponents.names, fitted.x.tolist(), strict=True))


class _Objective:
    """The penalised negative log-likelihood and its gradient in the exponents."""

    def __init__(self, model, prepared, y, offsets, sigma):
        self._model, self._prepared, self._y = model, prepared, y
        self._structure = Chain(offsets)
        self._prior, self._penalty = model.exponents.values.copy(), (PRIOR_WIDTH * sigma) ** -2

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        self._model.set_exponents(values)
        scores = self._model.scores(self._prepared)
        loss, pullback = log_loss(self._structure, scores, self._y)
        surplus = pullback(np.ones_like(loss))
        away = values - self._prior
        gradient = self._model.pullback(self._prepared, scores, surplus) + self._penalty * away
        return loss.sum() + 0.5 * self._penalty * away @ away, gradient
