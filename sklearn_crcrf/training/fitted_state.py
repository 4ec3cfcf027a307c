"""Fits replace the fitted state of an estimator completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Self

from ..utils.replaced_parts import parameter_names, remember_parts

# Held only while the state of an estimator is exchanged, and while a process forks.
EXCHANGING = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=EXCHANGING.acquire,
        after_in_parent=EXCHANGING.release,
        after_in_child=EXCHANGING.release,
    )


class FittedState:
    """Mixin of estimators whose fitted attributes are replaced all at once.

    A training method trains a twin, and the estimator takes over the fitted attributes of the
    twin when training is complete. So an error or an interrupt leaves the estimator exactly as it
    was, and no attribute of an earlier fit survives, unless the twin started with it.

    Public fitted attributes end with an underscore, and a fit may leave some of them out. Private
    ones do not end with one, so every fit must set all of them. Other attributes, such as
    parameters and scikit-learn's own, are never replaced.

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
        """Return a twin with the same parameters and nothing else, to be fitted anew."""
        return type(self)(**{name: getattr(self, name) for name in parameter_names(type(self))})

    @contextmanager
    def _replaced_by(self, twin: Self, since: dict[str, Any] | None = None) -> Iterator[Self]:
        """Take over the fitted attributes of a twin, if its training in this context succeeds.

        Parameters
        ----------
        twin : estimator of the same class
            Result of ``_unfitted``, or a copy that is trained further. Its parameters may change.
        since : dict, optional
            ``vars(self)`` when training began that goes on from the present state.

        Raises
        ------
        RuntimeError
            If another thread has replaced the state since: then it stays.
        """
        yield twin
        parameters = parameter_names(type(self))
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        fitted = {name: value for name, value in vars(twin).items() if name not in parameters}
        self._exchange({**kept, **fitted}, since)
        remember_parts(self)

    def _exchange(self, state: dict[str, Any], since: dict[str, Any] | None) -> None:
        """Replace all attributes; RuntimeError if another thread has done so meanwhile."""
        with EXCHANGING:
            if since is not None and vars(self) is not since:
                raise RuntimeError(
                    "another thread has changed this model meanwhile, so this data is not in it; "
                    "train one model in one thread at a time, for example under a lock"
                )
            # A single assignment: an interrupt comes before or after it.
            self.__dict__ = state

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__ = dict(vars(self))
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]  # BaseEstimator has it
        remember_parts(self)
