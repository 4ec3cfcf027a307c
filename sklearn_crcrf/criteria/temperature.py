"""The temperature of scores whose probabilities agree with how often they are right."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

# Temperatures from 1/100 to 100; models of few sequences may be right about all held-out tokens.
LARGEST_LOG = float(np.log(100.0))


def brier_score(marginals: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Return the sum of (p - r)^2 over tokens (Brier 1950).

    Parameters
    ----------
    marginals : ndarray of shape (n_tokens, n_labels)
        The greatest probability of a token is p; r is 1 if its label is the gold label, else 0.
    y : int ndarray of shape (n_tokens,)
    weight : ndarray of shape (n_tokens,)

    Returns
    -------
    float

    Examples
    --------
    >>> marginals = np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> brier_score(marginals, np.array([0, 1]), np.array([4.0, 1.0]))
    0.5
    """
    is_right = marginals.argmax(axis=1) == y
    return float(weight @ (marginals.max(axis=1) - is_right) ** 2)


def best_temperature(error: Callable[[float], float]) -> float:
    """Return the temperature with the least error.

    Parameters
    ----------
    error : callable
        Takes a temperature, which scores are divided by.

    Returns
    -------
    float
        From 0.01 to 100.

    Examples
    --------
    >>> round(best_temperature(lambda temperature: (temperature - 3.0) ** 2), 2)
    3.0
    """
    result = minimize_scalar(
        lambda x: error(float(np.exp(x))),
        bounds=(-LARGEST_LOG, LARGEST_LOG),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(result.x))
