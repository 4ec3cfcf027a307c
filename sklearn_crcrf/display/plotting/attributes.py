"""TopAttributesDisplay: the strongest attributes for and against each label."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._axes import classifier_with, grid_in, new_axes, places_of_labels, plain

__all__ = ["TopAttributesDisplay"]

LONGEST_NAME = 32


class TopAttributesDisplay:
    """Bars of the attributes with the largest and the smallest weights of each label.

    Parameters
    ----------
    weights : mapping from label to mapping from attribute to weight
        Weights in decreasing order.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that surround the panels.
    axes_ : ndarray of matplotlib Axes
        The panels, one for each label.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.display import TopAttributesDisplay
    >>> crf = CRF().fit([["the", "dog"], ["the", "dog"]], [["D", "N"], ["D", "N"]])
    >>> display = TopAttributesDisplay.from_estimator(crf)
    >>> list(display.weights["N"])
    ['dog', 'the']
    """

    def __init__(self, weights: Mapping[Any, Mapping[str, float]]):
        self.weights = weights

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        labels: Sequence[Any] | None = None,
        n_top: int = 8,
        ax: Any = None,
        **options: Any,
    ) -> "TopAttributesDisplay":
        """Draw the attributes of a fitted estimator.

        Parameters
        ----------
        estimator : fitted sequence classifier, or a pipeline or search that ends in one
            It must have ``coef_`` and ``attribute_names_``.
        labels : sequence of labels, optional
            The labels to show, in this order; by default all.
        n_top : int, default=8
            Number of positive weights, and of negative weights.
        ax : matplotlib Axes, optional
        **options
            As in :meth:`plot`.

        Returns
        -------
        TopAttributesDisplay

        Raises
        ------
        ValueError
            If the estimator has no weights of attributes, such as BoostedCRF.
        """
        classifier = classifier_with(estimator, "coef_", "attribute_names_")
        coef, names = classifier.coef_, classifier.attribute_names_
        columns = sp.csc_array(coef) if sp.issparse(coef) else coef
        weights = {}
        for j in places_of_labels(classifier.classes_, labels).tolist():
            column = columns[:, [j]]
            column = column.toarray() if sp.issparse(column) else column
            top = _extremes(column.ravel(), n_top)
            weights[classifier.classes_.tolist()[j]] = {
                str(names[k]): float(column[k, 0]) for k in top
            }
        return cls(weights).plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, n_columns: int = 3, colors: tuple[str, str] = ("C0", "C3")
    ) -> "TopAttributesDisplay":
        """Draw the display on axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Replaced by the panels of all labels; by default a new figure.
        n_columns : int, default=3
            Number of panels in a row.
        colors : (str, str), default=("C0", "C3")
            Colours of positive and of negative weights.

        Returns
        -------
        TopAttributesDisplay
        """
        n_labels = max(1, len(self.weights))
        n_columns = min(n_columns, n_labels)
        n_rows = -(-n_labels // n_columns)
        tallest = max((len(weights) for weights in self.weights.values()), default=1)
        self.ax_ = ax = new_axes(self, ax, (4.2 * n_columns, n_rows * (0.9 + 0.2 * tallest)))
        self.figure_ = ax.figure
        axes = grid_in(ax, n_rows, n_columns).ravel()
        self.axes_ = axes[: len(self.weights)]
        for unused in axes[len(self.weights) :]:
            unused.set_axis_off()
        largest = max((abs(w) for of in self.weights.values() for w in of.values()), default=1.0)
        for panel, (label, weights) in zip(self.axes_, self.weights.items(), strict=True):
            values = list(weights.values())
            places = range(len(values))
            panel.barh(places, values, color=[colors[value < 0] for value in values])
            names = [plain(name, LONGEST_NAME) for name in weights]
            panel.set_yticks(places, names, fontsize="small")
            panel.invert_yaxis()
            panel.axvline(0.0, color="black", linewidth=0.8)
            panel.set(title=plain(label, LONGEST_NAME), xlim=_limits(values, largest))
        return self


def _extremes(values: np.ndarray, n_top: int) -> np.ndarray:
    """Indices of the largest positive and the smallest negative values, largest first."""
    n = min(n_top, len(values))
    if n == 0:
        return np.empty(0, dtype=np.int64)
    ends = [np.argpartition(sign * values, n - 1)[:n] for sign in (-1.0, 1.0)]
    chosen = np.concatenate([ends[0][values[ends[0]] > 0], ends[1][values[ends[1]] < 0]])
    return chosen[np.argsort(-values[chosen], kind="stable")]


def _limits(values: list[float], largest: float) -> tuple[float, float]:
    """Limits of a panel: one scale for all labels, without a side that has no values."""
    edge = 1.05 * (largest or 1.0)
    return (-edge if min(values, default=0.0) < 0 else 0.0), edge
