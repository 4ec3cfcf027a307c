"""By how much a feature would raise the log-likelihood."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

__all__ = ["Sums", "gain", "least_difference"]

# Steps of Newton's method, after which gains are exact to several digits; the largest weight, in
# units of the typical value of a column; and the least distance of probabilities from 0 and 1.
N_STEPS, LARGEST, LEAST, TINY = 12, 20.0, 1e-9, 1e-30


class Sums(NamedTuple):
    """Sums over tokens, for pairs of column and label.

    The sums are over the values f of the column, with the weight of each token. Where the label of
    a token is known, p is its marginal probability.

    Parameters
    ----------
    observed : ndarray of shape (n_pairs,)
        sum_t f_t [y_t = label]
    expected : ndarray of shape (n_pairs,)
        sum_t f_t p_t
    absolute : ndarray of shape (n_pairs,)
        sum_t |f_t| p_t
    total : ndarray of shape (n_pairs,)
        sum_t |f_t|
    squares : ndarray of shape (n_pairs,)
        sum_t f_t ** 2
    """

    observed: np.ndarray
    expected: np.ndarray
    absolute: np.ndarray
    total: np.ndarray
    squares: np.ndarray

    @property
    def difference(self) -> np.ndarray:
        """The gradient of the log-likelihood by the weights, which are 0."""
        return self.observed - self.expected


def gain(sums: Sums, sigma: float, c1: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The gains of features, and the weights that have them.

    All other weights are held fixed, and so are the marginals of the neighbours (McCallum 2003,
    "Efficiently Inducing Features of Conditional Random Fields"). With the mean marginal p at the n
    tokens that have a column, of which c have the label, a weight mu raises the log-likelihood by

        G(mu) = c mu - n log(1 - p + p exp(mu)) - mu^2 / (2 sigma^2) - c1 |mu|,

    which is concave. Its maximum is found by Newton's method, for all features at once. Values f
    other than 1 are taken for n = (sum |f|)^2 / sum f^2 tokens of value v = sum f^2 / sum |f|; this
    keeps both derivatives at 0, which are c - sum f p and about - sum f^2 p (1 - p).

    Parameters
    ----------
    sums : Sums
    sigma : float
        May be inf.
    c1 : float, default=0.0

    Returns
    -------
    gains, weights : ndarray of shape (n_pairs,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.induction.gains import Sums, gain
    >>> five, nine, ten = np.array([[5.0], [9.0], [10.0]])
    >>> gains, weights = gain(Sums(nine, five, five, ten, ten), sigma=np.inf)
    >>> gains.round(3), weights.round(3)
    (array([3.681]), array([2.197]))
    """
    value = sums.squares / sums.total
    n = sums.total / value
    p = np.clip(sums.absolute / sums.total, LEAST, 1 - LEAST)
    slope = np.sign(sums.difference) * np.maximum(np.abs(sums.difference) - c1, 0)
    precision = 0.0 if np.isinf(sigma) else sigma**-2.0
    # By u = mu v, the derivative is slope / v + n (p - q(u)) - u / (v sigma)^2.
    slope, precision = slope / value, precision / value**2
    with np.errstate(divide="ignore"):
        farthest = np.minimum(np.abs(slope) / precision, LARGEST)
    low, high = np.where(slope < 0, -farthest, 0.0), np.where(slope > 0, farthest, 0.0)
    odds = np.log(p) - np.log1p(-p)
    margin = 0.5 / (n + 1)  # so that the start is not far out, where all derivatives are 0
    wanted = np.clip(p + slope / n, margin, 1 - margin)
    u = np.clip(np.log(wanted) - np.log1p(-wanted) - odds, low, high)
    for _ in range(N_STEPS):
        q = expit(odds + u)
        derivative = slope + n * (p - q) - precision * u
        low, high = np.where(derivative > 0, u, low), np.where(derivative < 0, u, high)
        step = u + derivative / (n * q * (1 - q) + precision + TINY)
        u = np.where((step < low) | (step > high), (low + high) / 2, step)
    gains = slope * u + n * (p * u - np.log1p(p * np.expm1(u))) - precision * u * u / 2
    return gains, u / value


def least_difference(least_gain: float, sigma: float, c1: float = 0.0) -> float:
    """What observed and expected counts must differ by for a gain of at least ``least_gain``.

    The gain is concave and has the derivative g = |c - sum f p| - c1 at 0, so it is at most
    g |mu| - mu^2 / (2 sigma^2), whose maximum is g^2 sigma^2 / 2.

    Parameters
    ----------
    least_gain, sigma, c1 : float

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_crcrf.estimators.induction.gains import least_difference
    >>> least_difference(2.0, sigma=0.5)
    4.0
    """
    return float(c1 + np.sqrt(2 * least_gain) / sigma)
