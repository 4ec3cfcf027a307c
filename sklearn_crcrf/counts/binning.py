"""Numbers as a few bins of about equal frequency."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Array, Fact, Requirement, Sound


class EqualFrequencyBins(Sound, TransformerMixin, BaseEstimator):
    """Bins of about equal frequency for each column, or one bin per value if values are few.

    Unlike quantiles, it never puts all values of a column into one bin because one of them is
    very frequent.

    Parameters
    ----------
    n_bins : int, default=10
        Maximum number of bins of a column.

    Attributes
    ----------
    thresholds_ : list of ndarray of shape (n_bins - 1,)
        Bin k of a column holds the values up to and including threshold k.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.counts.binning import EqualFrequencyBins
    >>> bins = EqualFrequencyBins(n_bins=2).fit(np.array([[0.0], [0.1], [0.2], [9.0]]))
    >>> bins.transform([[-1.0], [0.12], [0.2], [5.0]]).ravel()
    array([0, 0, 1, 1])
    """

    def __init__(self, n_bins: int = 10):
        self.n_bins = n_bins

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "EqualFrequencyBins":
        """Find the thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        EqualFrequencyBins
        """
        X = validate_data(self, X, dtype=np.float64)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        self.thresholds_ = [_thresholds(column, weights, self.n_bins) for column in X.T]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the bin of every value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)

        Returns
        -------
        int ndarray of shape (n_samples, n_columns)
        """
        check_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        bins = [np.searchsorted(t, column) for t, column in zip(self.thresholds_, X.T, strict=True)]
        return np.stack(bins, axis=1)

    def _requirements(self) -> Iterator[Requirement]:
        n_columns = len(self.thresholds_)
        yield Fact("thresholds_", n_columns == self.n_features_in_, "must be one array per column")
        for j, thresholds in enumerate(self.thresholds_):
            yield Array(f"thresholds_[{j}]", thresholds, (len(thresholds),))
            yield Fact(f"thresholds_[{j}]", bool((np.diff(thresholds) >= 0).all()), "must rise")


def _thresholds(column: np.ndarray, weights: np.ndarray, n_bins: int) -> np.ndarray:
    values, which = np.unique(column, return_inverse=True)
    between = values[:-1] / 2 + values[1:] / 2
    if len(values) <= n_bins:
        return between
    below = np.cumsum(np.bincount(which, weights))
    wanted = np.arange(1, n_bins) * below[-1] / n_bins
    cuts = np.searchsorted(below[:-1], wanted)
    return between[np.unique(np.minimum(cuts, len(between) - 1))]
