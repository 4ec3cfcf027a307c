"""A random subset of the attributes of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, validate_data

from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences, is_table, sound_table
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Requirement, Sound, indices


@dataclass(eq=False, repr=False)
class RandomAttributes(Sound, TransformerMixin, BaseEstimator):
    """Keep a random subset of the columns of rows of numbers.

    :class:`~sklearn_crcrf.SequenceVectorizer` turns strings or feature dicts into such rows.

    Parameters
    ----------
    fraction : float, default=0.5
        Fraction of the columns to keep, in (0, 1]; at least one column is kept.
    random_state : int, RandomState or None, default=None
        Chooses the columns.

    Attributes
    ----------
    columns_ : ndarray of int
        The kept columns, in increasing order.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str objects
        Names of the columns of X, if it is a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.opinion_pool import RandomAttributes
    >>> some = RandomAttributes(fraction=0.5, random_state=0).fit(np.eye(4))
    >>> some.columns_, some.transform(np.eye(4)).shape
    (array([2, 3]), (4, 2))
    """

    fraction: float = 0.5
    random_state: Any = None

    _parameter_constraints: ClassVar[dict] = {
        "fraction": [Interval(Real, 0, 1, closed="right")],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> "RandomAttributes":
        """Choose the columns.

        Parameters
        ----------
        X : 2-D array, CSR, or list or SequenceArray of these
        y : ignored

        Returns
        -------
        RandomAttributes
        """
        self._rows(X, reset=True)
        rng, n = check_random_state(self.random_state), self.n_features_in_
        n_kept = max(1, round(self.fraction * n))
        self.columns_ = np.sort(rng.choice(n, n_kept, replace=False))
        return self

    def transform(self, X: Any) -> Any:
        """Keep the chosen columns only.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        2-D array or CSR for a table, else SequenceArray
        """
        check_fitted(self)
        rows, sequences = self._rows(X, reset=False)
        kept = rows[:, self.columns_]
        return kept if sequences is None else sequences.with_data(kept)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the kept columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all columns. Default: the names seen in fit, or ``x0``, ``x1``, ...

        Returns
        -------
        ndarray of str objects
        """
        check_fitted(self)
        return _check_feature_names_in(self, input_features)[self.columns_]

    def _requirements(self) -> Iterator[Requirement]:
        yield indices("columns_", self.columns_, (len(self.columns_),), self.n_features_in_)

    def _rows(self, X: Any, reset: bool) -> tuple[Any, SequenceArray | None]:
        """Return the rows of all tokens, and the sequences, None if X is a table."""
        sequences, X = None, sound_table(X)
        if not is_table(X):
            sequences = as_sequences(X).X
            X = sequences.data
            if not (sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2)):
                raise ValueError(
                    "X must have rows of numbers; turn strings or feature dicts into rows with "
                    "SequenceVectorizer"
                )
        return validate_data(self, X, accept_sparse="csr", reset=reset), sequences
