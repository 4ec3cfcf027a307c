"""TransitionDisplay: the scores of transitions between labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...labels.constraints.constraints import forbidden_scores
from ..notebook._labels import places_of_labels
from ._axes import classifier_with, new_axes, plain

START, END = "<start>", "<end>"
# Numbers are written into the cells up to this number of labels.
MOST_WITH_VALUES = 12


class TransitionDisplay:
    """Heat map of transition scores: blue for positive scores, red for negative ones.

    Transitions that constraints forbid are hatched. If the ends of a sequence have scores, there
    is one more row, from the start, and one more column, to the end.

    Parameters
    ----------
    scores : ndarray of shape (n_previous, n_current)
        -inf for an impossible transition, NaN for a cell without a score.
    previous, current : sequence of str
        Names of rows and columns.

    Attributes
    ----------
    im_ : matplotlib AxesImage
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.display import TransitionDisplay
    >>> crf = CRF().fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> display = TransitionDisplay.from_estimator(crf)
    >>> display.scores.shape
    (2, 2)
    """

    def __init__(self, scores: np.ndarray, previous: Sequence[str], current: Sequence[str]):
        self.scores, self.previous, self.current = scores, previous, current

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        labels: Sequence[Any] | None = None,
        attribute: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> "TransitionDisplay":
        """Draw the transitions of a fitted estimator.

        Parameters
        ----------
        estimator : fitted sequence classifier, or a pipeline or search that ends in one
            It must have ``transitions_``.
        labels : sequence of labels, optional
            The labels to show, in this order; by default all.
        attribute : str, optional
            One of the ``edge_attribute_names_`` of the estimator, such as ``"edge=left"``: scores
            are shown for tokens where this one is 1 and all others are 0. By default all are 0.
        ax : matplotlib Axes, optional
        **options
            As in :meth:`plot`.

        Returns
        -------
        TransitionDisplay

        Raises
        ------
        ValueError
            If the estimator has no ``transitions_``, such as OpinionPoolCRF, or its transitions do
            not depend on ``attribute``.
        """
        classifier = classifier_with(estimator, "transitions_")
        classes, scores = classifier.classes_, np.array(classifier.transitions_, dtype=float)
        if attribute is not None:
            scores += _gains(classifier, attribute)
        ends = [getattr(classifier, name, np.zeros(len(classes))) for name in ("begin_", "end_")]
        forbidden = forbidden_scores(getattr(classifier, "_constraints", None), len(classes))
        scores, begin, end = (a + b for a, b in zip((scores, *ends), forbidden, strict=True))
        shown = places_of_labels(classes, labels)
        names = [str(label) for label in classes[shown]]
        scores, begin, end = scores[np.ix_(shown, shown)], begin[shown], end[shown]
        if not (begin.any() or end.any()):
            return cls(scores, names, names).plot(ax=ax, **options)
        corner = np.full((1, 1), np.nan)
        scores = np.block([[begin[None, :], corner], [scores, end[:, None]]])
        return cls(scores, [START, *names], [*names, END]).plot(ax=ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        include_values: bool | None = None,
        values_format: str = ".1f",
        cmap: str = "RdBu",
        colorbar: bool = True,
    ) -> "TransitionDisplay":
        """Draw the display on axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        include_values : bool, optional
            Whether to write scores into cells; by default if there are at most 12 labels.
        values_format : str, default=".1f"
            Format of the scores in cells.
        cmap : str, default="RdBu"
            A diverging colour map; its middle is a score of 0.
        colorbar : bool, default=True

        Returns
        -------
        TransitionDisplay
        """
        n_rows, n_columns = self.scores.shape
        if include_values is None:
            include_values = max(n_rows, n_columns) <= MOST_WITH_VALUES + 1
        size = (2.5 + 0.45 * n_columns, 1.5 + 0.4 * n_rows)
        ax = new_axes(self, ax, size)
        is_score = np.isfinite(self.scores)
        largest = np.abs(self.scores[is_score]).max(initial=0.0) or 1.0
        shown = np.ma.masked_array(self.scores, ~is_score)
        self.im_ = ax.imshow(shown, cmap=cmap, vmin=-largest, vmax=largest)
        for i, j in np.argwhere(np.isneginf(self.scores)):
            ax.fill_between([j - 0.5, j + 0.5], i - 0.5, i + 0.5, **_IMPOSSIBLE)
        if include_values:
            for i, j in np.argwhere(is_score):
                share = abs(self.scores[i, j]) / largest
                colour = "white" if share > 0.6 else "black"
                text = format(self.scores[i, j], values_format)
                ax.text(j, i, text, ha="center", va="center", color=colour, fontsize="small")
        ax.set_xticks(range(n_columns), [plain(name, 20) for name in self.current], rotation=90)
        ax.set_yticks(range(n_rows), [plain(name, 20) for name in self.previous])
        ax.set(xlabel="label", ylabel="label before it")
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label="score")
        return self


_IMPOSSIBLE = {"facecolor": "none", "edgecolor": "gray", "hatch": "////", "linewidth": 0.0}


def _gains(classifier: Any, attribute: str) -> np.ndarray:
    """Return what an attribute adds to the scores of transitions."""
    names: list[str] = list(getattr(classifier, "edge_attribute_names_", ()))
    if attribute not in names:
        raise ValueError(f"attribute: {attribute!r} is not among the edge attributes {names[:5]}")
    return classifier.edge_coef_[names.index(attribute)]
