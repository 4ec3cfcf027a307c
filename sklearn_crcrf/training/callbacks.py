"""Notifies scikit-learn's callbacks during fit (scikit-learn 1.9 or newer)."""

from collections.abc import Callable, Mapping
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


__all__ = ["CallbackSupportMixin", "FitProgress"]


class FitProgress:
    """The iterations of one fit, as tasks of the callbacks of an estimator.

    Parameters
    ----------
    estimator : CallbackSupportMixin
    max_iter : int
    X, y, sample_weight : as passed to ``fit``
    """

    def __init__(self, estimator: Any, max_iter: int, X: Any, y: Any, sample_weight: Any):
        self._task = None
        if getattr(estimator, "_skl_callbacks", None):
            metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
            self._data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
            self._task = estimator._init_callback_context(max_subtasks=max_iter)
            self._task.call_on_fit_task_begin(**self._data)

    def iterated(self, fitted: Callable[[], Mapping[str, Any]]) -> bool:
        """Report an iteration; return whether a callback wants training to stop.

        Parameters
        ----------
        fitted : callable
            Returns the attributes that a fitted estimator would have now.
        """
        if self._task is None:
            return False
        step = self._task.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(**self._data)
        return bool(step.call_on_fit_task_end(**self._data, reconstruction_attributes=fitted))

    def finish(self, fitted: Callable[[], Mapping[str, Any]]) -> None:
        """Report the end of training."""
        if self._task is not None:
            self._task.call_on_fit_task_end(**self._data, reconstruction_attributes=fitted)
