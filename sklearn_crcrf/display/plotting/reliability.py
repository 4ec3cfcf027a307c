"""ReliabilityDisplay: calibration of the probabilities of labels."""

from typing import Any

import numpy as np

from ...data.ragged import object_array
from ...labels.partial import completed
from ...labels.segments.label_sequences import label_sequences
from ...metrics.flatten import check_same_layout
from ...metrics.probabilities import as_probabilities, check_probabilities
from ._axes import new_axes, plain

# Largest area of a marker, in square points.
LARGEST = 300.0


class ReliabilityDisplay:
    """How often labels are right, against their marginal probabilities.

    Tokens are put into bins by the probability of their likeliest label, or of a given label.
    Below the diagonal, the model is overconfident. The area of a marker grows with the number of
    tokens.

    Parameters
    ----------
    probability, frequency : ndarray of shape (n_bins,)
        Mean probability of the label in each bin that has tokens, and how often it is right.
    n_tokens : ndarray of shape (n_bins,)
        Number of tokens in each bin.
    label : object, optional
        The label considered; by default the likeliest label of each token.

    Attributes
    ----------
    calibration_error : float
        Mean absolute difference of probability and frequency, weighted by tokens.
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.display import ReliabilityDisplay
    >>> y_true, y_proba = [["D", "N"]], [np.array([[0.75, 0.25], [0.75, 0.25]])]
    >>> display = ReliabilityDisplay.from_predictions(y_true, y_proba, ["D", "N"])
    >>> display.frequency, display.calibration_error
    (array([0.5]), 0.25)
    """

    def __init__(
        self,
        probability: np.ndarray,
        frequency: np.ndarray,
        n_tokens: np.ndarray,
        label: Any = None,
    ):
        self.probability, self.frequency = probability, frequency
        self.n_tokens, self.label = n_tokens, label
        gaps = np.abs(probability - frequency)
        self.calibration_error = float(np.average(gaps, weights=n_tokens)) if len(gaps) else 0.0

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> "ReliabilityDisplay":
        """Draw the reliability of the marginals of an estimator.

        Parameters
        ----------
        estimator : fitted estimator with ``predict_proba`` and ``classes_``
        X, y : sequences and their true labels
        **options
            As in :meth:`from_predictions`.

        Returns
        -------
        ReliabilityDisplay
        """
        return cls.from_predictions(y, estimator.predict_proba(X), estimator.classes_, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        classes: Any,
        *,
        label: Any = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
        **options: Any,
    ) -> "ReliabilityDisplay":
        """Draw the reliability of marginals.

        Parameters
        ----------
        y_true : list of label lists, SequenceArray or 1-D array
            Unknown labels (None) are left out.
        y_proba : list of 2-D arrays, SequenceArray or 2-D array of shape (n_tokens, n_labels)
            As ``predict_proba`` returns it.
        classes : array-like of shape (n_labels,)
            The labels of the columns.
        label : object, optional
            Consider this label, instead of the likeliest label of each token.
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equally many tokens.
        ax : matplotlib Axes, optional
        **options
            As in :meth:`plot`.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            If shapes do not agree, or there is no such label or strategy.
        """
        true, proba = label_sequences(y_true, "y_true"), as_probabilities(y_proba)
        check_same_layout(true, proba, "y_proba")
        classes = list(np.asarray(classes).tolist())
        check_probabilities(proba, len(classes))
        if label is None:
            column = proba.data.argmax(axis=1)
        elif label in classes:
            column = np.full(len(proba.data), classes.index(label))
        else:
            raise ValueError(f"label: {label!r} is not among {classes}")
        shown = true.with_data(object_array(classes)[column])
        gold, is_known = completed(true, shown, "y_true")
        probability = proba.data[np.arange(len(column)), column][is_known]
        right = (gold.data == shown.data)[is_known].astype(float)
        bins = _bins(probability, n_bins, strategy)
        n_tokens = np.bincount(bins, minlength=n_bins)
        used = n_tokens > 0
        mean, share = (
            np.bincount(bins, v, n_bins)[used] / n_tokens[used] for v in (probability, right)
        )
        return cls(mean, share, n_tokens[used], label).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, name: str | None = None) -> "ReliabilityDisplay":
        """Draw the display on axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure; several models can share axes.
        name : str, optional
            Name in the legend, before the calibration error.

        Returns
        -------
        ReliabilityDisplay
        """
        ax = new_axes(self, ax, (5.0, 5.0))
        if not ax.lines:
            ax.plot([0, 1], [0, 1], color="gray", linestyle=":", label="reliable")
        said = f"calibration error {self.calibration_error:.3f}"
        said = said if name is None else f"{plain(name)}: {said}"
        (self.line_,) = ax.plot(self.probability, self.frequency, label=said)
        area = LARGEST * self.n_tokens / max(self.n_tokens.max(initial=1), 1)
        ax.scatter(self.probability, self.frequency, s=10 + area, color=self.line_.get_color())
        of = "the likeliest label" if self.label is None else plain(self.label, 30)
        ax.set(xlabel=f"probability of {of}", ylabel="how often it is right", aspect="equal")
        ax.legend(fontsize="small")
        return self


def _bins(probability: np.ndarray, n_bins: int, strategy: str) -> np.ndarray:
    """Find the bin of each probability."""
    if strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    elif strategy == "quantile":
        shares = np.linspace(0.0, 1.0, n_bins + 1)
        edges = np.quantile(probability, shares) if len(probability) else shares
    else:
        raise ValueError(f"strategy must be uniform or quantile, got {strategy!r}")
    return np.searchsorted(edges[1:-1], probability, side="right")
