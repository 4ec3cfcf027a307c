"""TopAttributesDisplay: the strongest attributes for and against each label."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..notebook._labels import places_of_labels
from ._axes import classifier_with, grid_in, new_axes, plain

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
        places = places_of_labels(classifier.classes_, labels).tolist()
        weights = top_attributes(classifier, places, n_top)
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
        ax = new_axes(self, ax, (4.2 * n_columns, n_rows * (0.9 + 0.2 * tallest)))
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


def top_attributes(classifier: Any, places: list[int], n: int) -> dict[Any, dict[str, float]]:
    """Find the attributes with the largest and smallest weights of each label.

    Parameters
    ----------
    classifier : fitted classifier
    places : list of int
        The indices of the labels.
    n : int
        Number of positive weights, and of negative weights.

    Returns
    -------
    dict from label to dict from attribute to weight
        Largest weights first; empty if the classifier has no weights of attributes.
    """
    coef = getattr(classifier, "coef_", None)
    names = getattr(classifier, "attribute_names_", None)
    if coef is None or names is None:
        return {}
    columns, labels, found = sp.csc_array(coef), classifier.classes_.tolist(), {}
    for j in places:
        chosen = slice(columns.indptr[j], columns.indptr[j + 1])
        rows, weights = columns.indices[chosen], columns.data[chosen]
        found[labels[j]] = {str(names[rows[k]]): float(weights[k]) for k in extremes(weights, n)}
    return found


def extremes(weights: np.ndarray, n: int) -> list[int]:
    """Find the n largest positive and n smallest negative weights, largest first."""
    order = np.argsort(-weights, kind="stable")
    best = [k for k in order[:n] if weights[k] > 0]
    return best + [k for k in order[::-1][:n] if weights[k] < 0][::-1]


def _limits(values: list[float], largest: float) -> tuple[float, float]:
    """Choose the limits of a panel: one scale for all, without a side that has no values."""
    edge = 1.05 * (largest or 1.0)
    return (-edge if min(values, default=0.0) < 0 else 0.0), edge
