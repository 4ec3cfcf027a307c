"""The training loop of all iterative estimators."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

from ..utils.warning import warn_caller
from .monitor import Training

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


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


def train(
    estimator: Any,
    iterate: Callable[[Training], OptimizeResult],
    set_weights: Callable[[Any, Any], None],
    *,
    progress: FitProgress | None = None,
    validate: Callable[[Any], float] | None = None,
    is_part: bool = False,
) -> OptimizeResult:
    """Run the iterations of a fit, set the fitted attributes, and warn unless training converged.

    Parameters
    ----------
    estimator : estimator
        Gets the curves of training, ``n_iter_`` and ``converged_``.
    iterate : callable
        Takes what is to be called with an OptimizeResult after each iteration, and returns one;
        StopIteration is convergence.
    set_weights : callable
        Takes an estimator that has its curves, and x: sets all other fitted attributes.
    progress : FitProgress, optional
    validate : callable, optional
        Takes x, and returns the loss on held-out data.
    is_part : bool
        Whether more training is meant to follow, so that there is no need to warn.

    Returns
    -------
    OptimizeResult
        What ``iterate`` returned.

    Raises
    ------
    ValueError
        If the weights or the loss are not finite; then the estimator is as it was.
    """

    def fitted(training: Training, x: Any) -> Any:
        twin = copy(estimator)
        twin.loss_curve_, twin.n_iter_ = training.losses, training.n_iter
        if hasattr(estimator, "n_iter_no_change"):
            twin.validation_curve_ = training.validation_losses
        set_weights(twin, x)
        return twin

    training = Training(
        estimator.verbose,
        validate,
        getattr(estimator, "n_iter_no_change", 1),
        fitted,
        lambda model: progress is not None and progress.iterated(lambda: vars(model())),
    )
    result = OptimizeResult(x=None, success=False, message="it was interrupted")
    try:
        result = iterate(training)
    except StopIteration:
        result.success = True
    except KeyboardInterrupt:
        if not training.may_end:
            raise
    x = result.x if training.x is None else training.x
    weights = x.learned() if hasattr(x, "learned") else x
    if not all(np.isfinite(array).all() for array in _floats((weights, training.losses[-1:]))):
        raise ValueError(
            "training led to weights or a loss that are not finite: scale the attributes or the "
            "weights of sequences"
        )
    vars(estimator).update(vars(fitted(training, x)), converged_=bool(result.success))
    if progress is not None:
        progress.finish(lambda: vars(estimator))
    if not estimator.converged_ and not is_part:
        warn_caller(f"training did not converge: {result.message}", ConvergenceWarning)
    return result


def hold_out(
    sequences: np.ndarray, fraction: float | None, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray | None]:
    """Split sequences at random into training and held-out sequences.

    Parameters
    ----------
    sequences : ndarray of int
    fraction : float in (0, 1), or None
        Fraction to hold out, at least one sequence; None holds out nothing.
    rng : RandomState

    Returns
    -------
    trained : ndarray of int
        In the order of ``sequences``, which is increasing.
    held_out : ndarray of int, or None

    Raises
    ------
    ValueError
        If there is nothing to train on.
    """
    if len(sequences) == 0:
        raise ValueError("sample_weight and class_weight leave no sequence with any weight")
    if fraction is None:
        return sequences, None
    n_held_out = max(1, round(fraction * len(sequences)))
    if n_held_out >= len(sequences):
        raise ValueError(
            f"validation_fraction leaves nothing of {len(sequences)} sequences to train on: it is "
            f"{fraction}, and n_samples={len(sequences)}"
        )
    order = rng.permutation(sequences)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def hold_out_of(corpus: Any, fraction: float | None, rng: np.random.RandomState) -> tuple[Any, Any]:
    """Return what is trained on, and what is held out, of sequences that all have a weight.

    Parameters
    ----------
    corpus : object with ``weight`` and ``take``, such as :class:`~sklearn_crcrf.linear.Corpus`
    fraction, rng : as in :func:`hold_out`

    Returns
    -------
    trained : as corpus
    held_out : as corpus, or None

    Raises
    ------
    ValueError
        If there is nothing to train on.
    """
    trained, held_out = hold_out(np.arange(len(corpus.weight)), fraction, rng)
    return (corpus, None) if held_out is None else (corpus.take(trained), corpus.take(held_out))


def _floats(values: Any) -> Iterator[np.ndarray]:
    """Return all arrays of floats in nested tuples and lists; numbers are such arrays too."""
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from _floats(value)
    elif np.asarray(values).dtype.kind == "f":
        yield np.asarray(values)
