"""LabelIssues: a table of labels that are probably wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

# Number of issues that are shown as text.
N_SHOWN = 10
# How often one certain wrong label is given in place of the right one.
WRONG = 0.001


class LabelIssue(NamedTuple):
    """A label, or the label of a segment, that is probably wrong.

    Attributes
    ----------
    sequence : int
        Number of the sequence.
    start, end : int
        Positions in that sequence; ``end`` is the position after the last token. Of a missing
        segment, the positions of the suggested one.
    given : label
        The label of the token, or the type of the segment in y; "O" for a missing segment.
    suggested : label
        What is likeliest instead; "O" for no segment.
    probability : float
        Of the given label, between 0 and 1.
    suggested_start, suggested_end : int
        Positions of the suggested segment; ``start`` and ``end`` if none is suggested.

    Examples
    --------
    >>> from sklearn_crcrf.estimators.label_issues import LabelIssue
    >>> LabelIssue(3, 0, 2, "LOC", "PER", 0.01, 0, 2).given
    'LOC'
    """

    sequence: int
    start: int
    end: int
    given: Any
    suggested: Any
    probability: float
    suggested_start: int
    suggested_end: int


@dataclass(eq=False, repr=False)
class LabelIssues:
    """A table of labels that are probably wrong, the least probable first.

    Its columns are arrays. A number as index gives a :class:`LabelIssue`; a slice, a mask or an
    array gives a smaller table.

    Parameters
    ----------
    sequence, start, end : ndarray of shape (n_issues,), int
    given, suggested : ndarray of shape (n_issues,)
    probability : ndarray of shape (n_issues,)
    suggested_start, suggested_end : ndarray of shape (n_issues,), int
        See :class:`LabelIssue`.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, find_label_issues
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(60, random_state=0)
    >>> y[3][3:5] = "O", "O"  # a street
    >>> issues = find_label_issues(EmpiricalCRF(), X, y)
    >>> issues[0]
    LabelIssue(sequence=3, start=3, end=5, given='O', suggested='STREET', probability=8.0...e-06,
               suggested_start=3, suggested_end=5)
    >>> issues[issues.probability < 0.001].sequence
    array([ 3, 34])
    """

    sequence: np.ndarray
    start: np.ndarray
    end: np.ndarray
    given: np.ndarray
    suggested: np.ndarray
    probability: np.ndarray
    suggested_start: np.ndarray
    suggested_end: np.ndarray

    def __len__(self) -> int:
        return len(self.sequence)

    def __iter__(self) -> Iterator[LabelIssue]:
        columns = (column.tolist() for column in vars(self).values())
        return map(LabelIssue._make, zip(*columns, strict=True))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Integral):
            (issue,) = self[[key]]
            return issue
        return LabelIssues(*(column[key] for column in vars(self).values()))

    def expected_errors(self, n_sequences: int) -> np.ndarray:
        """Return the expected number of wrong labels, or segments, of each sequence.

        By the rule of Bayes: if one certain wrong label is given in place of the right one with
        probability e, then a label of probability p under the model is wrong with probability ::

            e (1 - p) / (e (1 - p) + (1 - e) p),

        so a label that is merely doubtful, p = 1/2, hardly counts.

        Parameters
        ----------
        n_sequences : int
            The number of all sequences in which issues were looked for.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        wrong, right = WRONG * (1.0 - self.probability), (1.0 - WRONG) * self.probability
        return np.bincount(self.sequence, wrong / (wrong + right), n_sequences)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Returns
        -------
        DataFrame
            With a row for each issue, and the columns of :class:`LabelIssue`.
        """
        import pandas as pd

        return pd.DataFrame(vars(self))

    def __repr__(self) -> str:
        rows = [("sequence", "tokens", "given", "suggested", "tokens", "probability")]
        for it in self[:N_SHOWN]:
            places = f"{it.start}:{it.end}", f"{it.suggested_start}:{it.suggested_end}"
            labels = str(it.given), str(it.suggested)
            rows.append((str(it.sequence), places[0], *labels, places[1], f"{it.probability:.2g}"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        heading = f"{len(self)} issue{'s' * (len(self) != 1)}"
        return "\n".join([heading, *lines, *["..."] * (len(self) > N_SHOWN)])
