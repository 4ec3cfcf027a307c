"""SegmentErrorsDisplay: wrong segments, by kind of error."""

from typing import Any

import numpy as np

from ...metrics import SegmentErrors, segment_errors
from ...metrics.errors import SEGMENT_ERRORS
from ._axes import new_axes, plain


class SegmentErrorsDisplay:
    """Bars of the wrong segments of each type, by kind of error.

    Parameters
    ----------
    errors : SegmentErrors
        As returned by :func:`~sklearn_crcrf.metrics.segment_errors`.

    Attributes
    ----------
    bars_ : dict from kind of error to matplotlib BarContainer
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn_crcrf.display import SegmentErrorsDisplay
    >>> y_true, y_pred = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]]
    >>> display = SegmentErrorsDisplay.from_predictions(y_true, y_pred)
    >>> display.errors.types, display.errors.wrong_boundary
    (['LOC', 'PER'], array([0., 1.]))
    """

    def __init__(self, errors: SegmentErrors):
        self.errors = errors

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, **options: Any
    ) -> "SegmentErrorsDisplay":
        """Draw the errors in the predictions of an estimator.

        Parameters
        ----------
        estimator : fitted estimator that predicts sequences
        X, y : sequences and their true labels
        **options
            As in :meth:`from_predictions`.

        Returns
        -------
        SegmentErrorsDisplay
        """
        return cls.from_predictions(y, estimator.predict(X), **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        scheme: str = "IOB2",
        reading: str = "conlleval",
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> "SegmentErrorsDisplay":
        """Draw the errors in predicted labels.

        Parameters
        ----------
        y_true, y_pred : list of label lists, SequenceArray or 1-D array
        scheme, reading, sample_weight
            As in :func:`~sklearn_crcrf.metrics.segment_errors`.
        ax : matplotlib Axes, optional
        **options
            As in :meth:`plot`.

        Returns
        -------
        SegmentErrorsDisplay
        """
        found = segment_errors(
            y_true, y_pred, scheme=scheme, reading=reading, sample_weight=sample_weight
        )
        return cls(found).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, normalize: bool = False) -> "SegmentErrorsDisplay":
        """Draw the display on axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        normalize : bool, default=False
            Divide by the number of true segments of each type.

        Returns
        -------
        SegmentErrorsDisplay
        """
        types, correct, *by_error = self.errors
        wrong = np.reshape(by_error, (len(SEGMENT_ERRORS), len(types)))
        if normalize:
            true = correct + wrong[:-1].sum(axis=0)
            wrong = wrong / np.where(true > 0, true, 1.0)
        order = np.argsort(-wrong.sum(axis=0), kind="stable")
        ax = new_axes(self, ax, (7.0, 1.5 + 0.35 * max(1, len(types))))
        self.bars_, left = {}, np.zeros(len(types))
        places = np.arange(len(types))
        for kind, numbers in zip(SEGMENT_ERRORS, wrong[:, order], strict=True):
            self.bars_[kind] = ax.barh(places, numbers, left=left, label=kind)
            left = left + numbers
        ax.set_yticks(places, [plain(types[k] or "segment", 24) for k in order])
        ax.invert_yaxis()
        ax.set_xlabel("errors per true segment" if normalize else "segments")
        ax.legend()
        return self
