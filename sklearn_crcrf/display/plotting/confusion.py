"""LabelConfusionDisplay: the confusion matrix of labels."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from ...labels.segments.label_sequences import factorize
from ...metrics import token_confusion_matrix
from ...metrics.flatten import flatten
from ...utils.names import check_no_string
from ._axes import new_axes, plain

# Numbers are written into the cells up to this number of labels.
MOST_WITH_VALUES = 15


class LabelConfusionDisplay(ConfusionMatrixDisplay):
    """Confusion matrix of the labels of tokens.

    This is scikit-learn's ``ConfusionMatrixDisplay`` for sequences. If most tokens are outside of
    segments, ``exclude=["O"]`` shows only the other labels, and ``normalize="true"`` shows
    fractions of each true label.

    Parameters
    ----------
    confusion_matrix : ndarray of shape (n_labels, n_labels)
        Rows are true labels.
    display_labels : sequence of str
        Names of the labels.

    Attributes
    ----------
    im_ : matplotlib AxesImage
    text_ : ndarray of matplotlib Text, or None
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn_crcrf.display import LabelConfusionDisplay
    >>> y_true, y_pred = [["D", "N", "O"], ["N"]], [["D", "N", "N"], ["D"]]
    >>> LabelConfusionDisplay.from_predictions(y_true, y_pred, exclude=["O"]).confusion_matrix
    array([[1, 0],
           [1, 1]])
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, **options: Any
    ) -> "LabelConfusionDisplay":
        """Draw the confusion matrix of the predictions of an estimator.

        Parameters
        ----------
        estimator : fitted estimator that predicts sequences
        X, y : sequences and their true labels
        **options
            As in :meth:`from_predictions`.

        Returns
        -------
        LabelConfusionDisplay
        """
        return cls.from_predictions(y, estimator.predict(X), **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Sequence[Any] | None = None,
        exclude: Collection[Any] = (),
        sample_weight: Any = None,
        normalize: Literal["true", "pred", "all"] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> "LabelConfusionDisplay":
        """Draw the confusion matrix of true and predicted labels.

        Parameters
        ----------
        y_true, y_pred : list of label lists, SequenceArray or 1-D array
            Unknown true labels (None) are left out.
        labels : sequence of labels, optional
            Rows and columns; by default all labels that occur, sorted.
        exclude : collection of labels, default=()
            Labels left out of rows and columns.
        sample_weight : array-like of shape (n_samples,), optional
        normalize : {"true", "pred", "all"}, optional
            Divide by the sums of the rows, of the columns, or of the matrix.
        ax : matplotlib Axes, optional
        **options
            Options of ``ConfusionMatrixDisplay.plot``. By default labels of columns are vertical,
            and numbers are written if there are at most 15 labels.

        Returns
        -------
        LabelConfusionDisplay
        """
        check_no_string(labels, "labels")
        check_no_string(exclude, "exclude")
        if labels is None:
            pair = flatten(y_true, y_pred)
            both = [y.data[pair.is_known].astype(object) for y in (pair.true, pair.pred)]
            labels, _ = factorize(np.concatenate(both))
        labels = [label for label in labels if label not in exclude]
        matrix = token_confusion_matrix(
            y_true, y_pred, labels=labels, sample_weight=sample_weight, normalize=normalize
        )
        n = len(labels)
        defaults = {
            "xticks_rotation": "vertical",
            "include_values": n <= MOST_WITH_VALUES,
            "values_format": ".2f" if normalize else None,
        }
        display = cls(matrix, display_labels=[plain(label, 20) for label in labels])
        ax = new_axes(display, ax, (2.5 + 0.45 * n, 1.8 + 0.42 * n))
        return display.plot(ax=ax, **{**defaults, **options})
