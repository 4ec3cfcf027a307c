"""How a fit replaces the fitted state of an estimator: completely or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

__all__ = ["FittedState"]


class FittedState:
    """Mixin of estimators whose fitted attributes are replaced all at once.

    A method that trains an estimator trains a twin of it, and the estimator takes over the fitted
    attributes of the twin when its training is complete. So an error or an interrupt leaves the
    estimator exactly as it was, and of the model before nothing survives but what the training of
    the twin was given.

    Public fitted attributes end with an underscore, and any fit may leave some of them out.
    Private ones do not, so every fit must set all of them. All other attributes, such as
    parameters and what scikit-learn keeps in an estimator, are never replaced.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Mean(FittedState, BaseEstimator):
    ...     def fit(self, X):
    ...         with self._replaced_by(self._unfitted()) as twin:
    ...             twin.n_ = len(X)
    ...             twin.mean_ = sum(X) / twin.n_
    ...         return self
    >>> mean = Mean().fit([1.0, 2.0])
    >>> mean.fit([])
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    >>> mean.n_, mean.mean_
    (2, 1.5)
    """

    def _unfitted(self) -> Self:
        """A twin with the same parameters and nothing else, to be fitted anew."""
        return type(self)(**self.get_params(deep=False))

    @contextmanager
    def _replaced_by(self, twin: Self) -> Iterator[Self]:
        """Take over the fitted attributes of a twin, if its training in this context succeeds.

        Parameters
        ----------
        twin : estimator of the same class
            From ``_unfitted``, or a copy whose training goes on. Its parameters may be changed.
        """
        yield twin
        parameters = self.get_params(deep=False)
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        fitted = {name: value for name, value in vars(twin).items() if name not in parameters}
        # One assignment, before or after which an interrupt comes.
        self.__dict__ = {**kept, **fitted}

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__ = dict(vars(self))
        return twin
