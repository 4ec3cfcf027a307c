"""TrainingDisplay: the objective, and a score on test data, against training time."""

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring

from ._axes import grid_in, new_axes, plain


class TrainingCurve(NamedTuple):
    """Objective and score of one estimator after several numbers of iterations.

    Attributes
    ----------
    seconds : ndarray of shape (n_points,)
        Time of training.
    objective : ndarray of shape (n_points,)
        The training objective; NaN if the estimator has no ``loss_curve_``.
    score : ndarray of shape (n_points,)
        Score on test data.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.display import TrainingCurve, TrainingDisplay
    >>> curve = TrainingCurve(np.array([0.1, 0.2]), np.array([9.0, 7.0]), np.array([0.8, 0.9]))
    >>> display = TrainingDisplay({"CRF": curve}, "F1")
    >>> display.plot().axes_.shape
    (2,)
    """

    seconds: np.ndarray
    objective: np.ndarray
    score: np.ndarray


class TrainingDisplay:
    """The objective, and a score on test data, against training time.

    Parameters
    ----------
    curves : mapping from str to TrainingCurve
        One for each estimator, by name.
    score_name : str, default="score"
        Name of the score on test data.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that surround the panels.
    axes_ : ndarray of matplotlib Axes
        The panels of the objective and of the score.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.display import TrainingDisplay
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> models = {"lbfgs": CRF(), "sgd": CRF(solver="sgd", random_state=0)}
    >>> display = TrainingDisplay.from_fits(models, X, y, X, y, max_iter=[1, 2])
    >>> list(display.curves), len(display.curves["sgd"].seconds)
    (['lbfgs', 'sgd'], 2)
    """

    def __init__(self, curves: Mapping[str, TrainingCurve], score_name: str = "score"):
        self.curves, self.score_name = curves, score_name

    @classmethod
    def from_fits(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        scoring: Any = None,
        max_iter: Sequence[int] = (1, 2, 5, 10, 20, 50, 100),
        score_name: str = "score",
        ax: Any = None,
        **options: Any,
    ) -> "TrainingDisplay":
        """Fit several estimators, and draw objective and score against training time.

        Each is fitted anew for every number of iterations, so that only training is timed; the
        cost is the sum of all these fits. An estimator without iterations, such as
        :class:`~sklearn_crcrf.EmpiricalCRF`, is a single point.

        Parameters
        ----------
        estimators : mapping from str to estimator
            Sequence classifiers, or pipelines that end in one. They are not changed.
        X, y : training data
        X_test, y_test : test data
        scoring : callable, optional
            For example ``get_sequence_scorer("segment_f1")``; by default ``score`` of the
            estimator.
        max_iter : sequence of int, default=(1, 2, 5, 10, 20, 50, 100)
            Numbers of iterations, in increasing order; numbers after convergence are skipped.
        score_name : str, default="score"
            Name of the score in the display.
        ax : matplotlib Axes, optional
        **options
            As in :meth:`plot`.

        Returns
        -------
        TrainingDisplay
        """
        curves = {
            name: _curve(estimator, X, y, X_test, y_test, scoring, max_iter)
            for name, estimator in estimators.items()
        }
        return cls(curves, score_name).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, xscale: str = "log") -> "TrainingDisplay":
        """Draw the display on axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Replaced by the two panels; by default a new figure.
        xscale : str, default="log"
            Scale of the time.

        Returns
        -------
        TrainingDisplay
        """
        ax = new_axes(self, ax, (10.0, 4.2))
        self.axes_ = left, right = grid_in(ax, 1, 2).ravel()
        for k, (name, curve) in enumerate(self.curves.items()):
            style = {"marker": "o", "markersize": 4, "color": f"C{k % 10}"}
            if not np.isnan(curve.objective).all():
                left.plot(curve.seconds, curve.objective, **style)
            right.plot(curve.seconds, curve.score, label=plain(name), **style)
        left.set(xscale=xscale, xlabel="seconds", title="objective")
        right.set(xscale=xscale, xlabel="seconds", title=plain(self.score_name))
        right.legend(fontsize="small")
        return self


def _curve(estimator, X, y, X_test, y_test, scoring, max_iter) -> TrainingCurve:
    """Fit an estimator for several numbers of iterations."""
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "max_iter"]
    points = []
    for n_iter in max_iter if names else [None]:
        fresh = clone(estimator).set_params(**dict.fromkeys(names, n_iter))
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fresh.fit(X, y)
        seconds = time.perf_counter() - start
        last = fresh[-1] if hasattr(fresh, "steps") else fresh
        objective = getattr(last, "loss_curve_", None) or [np.nan]
        score = check_scoring(fresh, scoring)(fresh, X_test, y_test)
        points.append((seconds, objective[-1], score))
        if getattr(last, "converged_", False):
            break
    return TrainingCurve(*np.array(points, dtype=float).T)
