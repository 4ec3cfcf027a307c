"""By how much features would raise the log-likelihood, and the sums that say so."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from ...data.sums import RowSums
from ...linear.designs import observed_pairs

# Steps of Newton's method, after which gains are exact to several digits; the largest weight, in
# units of the typical value of a column; and the least distance of probabilities from 0 and 1.
N_STEPS, LARGEST, LEAST, TINY = 12, 20.0, 1e-9, 1e-30
# About the number of sums that are computed at once.
BLOCK = 2**22


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
    """Return the gains of features, and the weights that have them.

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
    """Return the difference of observed and expected counts that a gain needs at least.

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


class LabelledTokens(NamedTuple):
    """The tokens of the training data.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
        With rising indices in every row.
    y : ndarray of shape (n_tokens,), int32
        Label ids, -1 where the label is not known.
    weight : ndarray of shape (n_tokens,)
        0 where the label is not known.
    n_labels : int
    """

    X: sp.csr_array
    y: np.ndarray
    weight: np.ndarray
    n_labels: int


class ColumnSums:
    """Sums over tokens, of some columns and all labels.

    Parameters
    ----------
    part : CSR of shape (n_tokens, n_columns)
    numbers : ndarray of shape (n_columns,)
        The numbers of the columns.
    tokens : LabelledTokens
    min_freq : int
        Columns of fewer tokens are left out.
    """

    def __init__(
        self, part: sp.csr_array, numbers: np.ndarray, tokens: LabelledTokens, min_freq: int
    ):
        self._is_frequent = np.bincount(part.indices, minlength=len(numbers)) >= min_freq
        self._numbers, self._n_labels = numbers, tokens.n_labels
        size = abs(part)
        weight = tokens.weight.astype(part.dtype)
        self._total = size.T @ weight
        self._squares = (size * size).T @ weight
        if (weight != 1).any():
            part = sp.csr_array(sp.diags_array(weight) @ part)
        self._observed = observed_pairs(part, tokens.y, tokens.n_labels)
        self._rows = RowSums(sp.csr_array(part.T.tocsr()))
        is_signed = part.nnz and part.data.min() < 0
        self._absolute = RowSums(sp.csr_array(abs(part).T.tocsr())) if is_signed else self._rows

    def pairs(self, proba: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, Sums]:
        """Return the pairs of column and label whose observed and expected counts differ enough.

        Parameters
        ----------
        proba : ndarray of shape (n_tokens, n_labels)
            Marginal probabilities, of the type of the columns.
        least : float
            The least difference.

        Returns
        -------
        columns, labels : ndarray of shape (n_pairs,)
        sums : Sums
        """
        found = []
        n_columns, size = len(self._numbers), max(1, BLOCK // self._n_labels)
        for start in range(0, max(n_columns, 1), size):
            stop = min(start + size, n_columns)
            observed = self._observed[start:stop].toarray()
            expected = self._rows.product(proba, start, stop)
            differs = np.abs(observed - expected) > least
            k, label = np.nonzero(differs & self._is_frequent[start:stop, None])
            absolute = expected
            if self._absolute is not self._rows:
                absolute = self._absolute.product(proba, start, stop)
            sums = observed[k, label], expected[k, label], absolute[k, label]
            k += start
            found.append((self._numbers[k], label, *sums, self._total[k], self._squares[k]))
        joined = [np.concatenate(each) for each in zip(*found, strict=True)]
        return joined[0], joined[1], Sums(*(each.astype(float) for each in joined[2:]))
