"""Estimates that are postponed until somebody looks at them."""

from collections.abc import Callable
from copy import copy
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..utils.replaced_parts import remember_parts
from .parts import PartialCounts, merge

__all__ = ["PENDING", "Pending", "PostponesEstimates", "has_counts", "with_part"]

PENDING = "_pending_"
"""The attribute of an estimator whose last counts were not estimated from yet."""


class Pending:
    """Counts that no estimates were made from yet; copies of an estimator share them.

    Parameters
    ----------
    fitted : estimator
        Fitted to some of the counts, with the parameters to estimate with.
    counts : list of PartialCounts
        The counts of all data, in order.
    """

    def __init__(self, fitted: Any, counts: list[PartialCounts]):
        self._fitted, self._counts, self._lock = fitted, counts, Lock()

    def content(self) -> tuple[Any, list[PartialCounts]]:
        """The last estimates, and the counts of all data; none if they are the ``counts_``."""
        with self._lock:
            return self._fitted, self._counts

    def estimate(self) -> Any:
        """An estimator that is fitted to all counts; only the first call computes it."""
        with self._lock:
            if self._counts:
                fitted = copy(self._fitted)
                fitted._take(merge(*self._counts))
                self._fitted, self._counts = fitted, []
            return self._fitted


class PostponesEstimates:
    """Mixin of estimators whose fitted attributes are computed when one of them is read.

    Until then the estimator has none of them, but ``_pending_``.

    Attributes
    ----------
    _private_estimates : tuple of str
        The names of fitted attributes that do not end with an underscore.
    """

    get_params: Callable[..., dict[str, Any]]
    _exchange: Callable[..., None]
    _private_estimates: tuple[str, ...] = ()

    if not TYPE_CHECKING:  # mypy would take it that every attribute exists

        def __getattr__(self, name: str) -> Any:
            is_public = name.endswith("_") and not name.startswith("__")
            if name != PENDING and (is_public or name in self._private_estimates):
                self._settle()
                if name in vars(self):  # even if another thread was faster
                    return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _postpone(self, pending: Pending, since: dict[str, Any]) -> None:
        """Replace all estimates by the counts that they will be made from.

        ``since`` is ``vars(self)`` before the data was counted.
        """
        kept = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") and name not in self._private_estimates
        }
        self._exchange({**kept, PENDING: pending}, since)

    def _settle(self) -> None:
        """Compute the fitted attributes, if that was postponed."""
        state = vars(self)  # another thread may replace it by a newer one, which then stays
        pending = state.get(PENDING)
        if pending is None:
            return
        parameters, fitted = self.get_params(deep=False), vars(pending.estimate())
        state.update({name: value for name, value in fitted.items() if name not in parameters})
        state.pop(PENDING, None)
        remember_parts(self)

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return dict(super().__getstate__())  # type: ignore[call-overload]


def with_part(counts: list[PartialCounts], part: PartialCounts) -> list[PartialCounts]:
    """Counts with one more part at the end; small ones are merged, so that there are few."""
    longer = [*counts, part]
    while len(longer) > 2 and longer[-1].counts.n_events >= longer[-2].counts.n_events // 2:
        longer[-2:] = [merge(*longer[-2:])]
    return longer


def has_counts(estimator: Any) -> bool:
    """Whether an estimator has counted data, which it need not have estimated from."""
    return not {"counts_", PENDING}.isdisjoint(vars(estimator))
