"""LabelIssuesDisplay: labels that are probably wrong, by given and suggested label."""

from collections import Counter
from typing import Any

import numpy as np

from ...estimators.label_issues import LabelIssues, find_label_issues
from ._axes import new_axes, plain

# The probabilities that divide the parts of a bar.
BOUNDS = (0.001, 0.01, 0.1)
PARTS = ("below 0.001", "below 0.01", "below 0.1", "others")


class LabelIssuesDisplay:
    """Bars of the labels that are probably wrong, by given and suggested label.

    A bar has parts for probabilities of the given label below 0.001, 0.01 and 0.1, and for others.

    Parameters
    ----------
    issues : LabelIssues
        As returned by :func:`~sklearn_crcrf.find_label_issues`.

    Attributes
    ----------
    pairs_ : list of (given, suggested)
        The pairs of labels that are drawn, the most frequent first. They are the same label for
        segments that should begin or end elsewhere.
    counts_ : ndarray of shape (n_pairs, 4)
        Numbers of issues in the four parts of each bar.
    bars_ : dict from part to matplotlib BarContainer
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> from sklearn_crcrf.display import LabelIssuesDisplay
    >>> X, y = make_addresses(60, random_state=0)
    >>> display = LabelIssuesDisplay.from_estimator(EmpiricalCRF(), X, y)
    >>> display.pairs_[0], display.counts_[0]
    (('REGION', 'CITY'), array([0, 0, 2, 6]))
    """

    def __init__(self, issues: LabelIssues):
        self.issues = issues

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        method: str = "auto",
        *,
        scheme: str | None = "auto",
        cv: Any = 5,
        ax: Any = None,
        **options: Any,
    ) -> "LabelIssuesDisplay":
        """Find the labels in y that are probably wrong, and draw them.

        Parameters
        ----------
        estimator, X, y, groups, method, scheme, cv
            As in :func:`~sklearn_crcrf.find_label_issues`.
        ax : matplotlib Axes, optional
        **options
            As in :meth:`plot`.

        Returns
        -------
        LabelIssuesDisplay
        """
        issues = find_label_issues(estimator, X, y, groups, method, scheme=scheme, cv=cv)
        return cls(issues).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, n_pairs: int = 20) -> "LabelIssuesDisplay":
        """Draw the display on axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        n_pairs : int, default=20
            Maximum number of bars.

        Returns
        -------
        LabelIssuesDisplay
        """
        part = np.searchsorted(BOUNDS, self.issues.probability, side="right").tolist()
        pairs = [(issue.given, issue.suggested) for issue in self.issues]
        self.pairs_ = [pair for pair, _ in Counter(pairs).most_common(n_pairs)]
        counts = Counter(zip(pairs, part, strict=True))
        shape = len(self.pairs_), len(PARTS)
        found = [counts[pair, k] for pair in self.pairs_ for k in range(len(PARTS))]
        self.counts_ = np.reshape(np.array(found, dtype=np.int64), shape)

        ax = new_axes(self, ax, (7.0, 1.5 + 0.35 * max(1, len(self.pairs_))))
        places, left = np.arange(len(self.pairs_)), np.zeros(len(self.pairs_))
        self.bars_ = {}
        for name, numbers in zip(PARTS, self.counts_.T, strict=True):
            self.bars_[name] = ax.barh(places, numbers, left=left, label=name)
            left = left + numbers
        ax.set_yticks(places, [_name(*pair) for pair in self.pairs_])
        ax.invert_yaxis()
        ax.set_xlabel("issues")
        ax.legend(title="probability")
        return self


def _name(given: Any, suggested: Any) -> str:
    if given == suggested:
        return f"{plain(given or 'segment', 24)}, other tokens"
    return " → ".join(plain(label or "segment", 24) for label in (given, suggested))
