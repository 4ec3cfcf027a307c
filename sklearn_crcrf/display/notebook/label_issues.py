"""LabelIssueList: labels that are probably wrong, in the text around them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...data.sequences import as_sequences
from ...data.words import words_of
from ...estimators.label_issues import LabelIssue, LabelIssues
from ._labels import colours
from ._markup import Markup, NotebookDisplay, element
from .single import token_texts

# Number of tokens that are shown on each side.
N_AROUND = 8


class LabelIssueList(NotebookDisplay):
    """A list of labels that are probably wrong, each in the text around it.

    Parameters
    ----------
    X : list of sequences, or another input
        As it was given to :func:`~sklearn_crcrf.find_label_issues`.
    issues : LabelIssues
        What it returned.
    n_shown : int, default=10
        Number of issues to show, the most suspicious first.

    Raises
    ------
    ValueError
        If an issue lies outside of X.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, find_label_issues
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> from sklearn_crcrf.display import LabelIssueList
    >>> X, y = make_addresses(60, random_state=0)
    >>> y[3][3:5] = "O", "O"
    >>> LabelIssueList(X, find_label_issues(EmpiricalCRF(), X, y), 1)
    1. sequence 3: given O, suggested STREET, probability 8e-06
       Room 1 , [Gilaford Road] , Edley , MF8 3JR
    """

    def __init__(self, X: Any, issues: LabelIssues, n_shown: int = 10):
        self.issues = issues[:n_shown]
        sequences = as_sequences(X).X
        texts, offsets = token_texts(sequences, words_of(sequences)), sequences.offsets
        lengths = np.append(sequences.lengths, 0)
        outside = self.issues.end > lengths[np.minimum(self.issues.sequence, len(sequences))]
        if outside.any():
            issue = self.issues[outside][0]
            raise ValueError(
                f"issues: sequence {issue.sequence} of X has no tokens {issue.start}:{issue.end}"
            )
        bounds = (offsets[i : i + 2].tolist() for i in self.issues.sequence)
        self.tokens = [texts[first:last] for first, last in bounds]

    def __str__(self) -> str:
        return "\n".join(
            f"{rank}. sequence {issue.sequence}: {said(issue, tokens)}\n   {marked(issue, tokens)}"
            for rank, (issue, tokens) in enumerate(self._all(), start=1)
        )

    def _body(self) -> list[Markup]:
        style = colours(
            label for issue, _ in self._all() for label in (issue.given, issue.suggested)
        )
        items = []
        for issue, tokens in self._all():
            before, inside, after = pieces(issue, tokens)
            kind = issue.suggested if issue.given == "O" else issue.given
            mark = element("mark", element("bdi", inside), style=style[kind])
            text = element("p", element("bdi", before), " ", mark, " ", element("bdi", after))
            heading = f"Sequence {issue.sequence}: {said(issue, tokens)}"
            items.append(element("li", text, element("p", heading, class_="quiet")))
        return [element("ol", *items)]

    def _all(self) -> Iterator[tuple[LabelIssue, list[str]]]:
        return zip(self.issues, self.tokens, strict=True)


def said(issue: LabelIssue, tokens: list[str]) -> str:
    """Say what is given, and what is suggested.

    Parameters
    ----------
    issue : LabelIssue
    tokens : list of str
        All tokens of its sequence.

    Examples
    --------
    >>> said(LabelIssue(0, 0, 1, "PER", "PER", 0.01, 0, 2), ["Ann", "Lee", "sings"])
    'given PER, suggested PER "Ann Lee", probability 0.01'
    """
    suggested = f"suggested {issue.suggested or 'segment'}"
    other = slice(issue.suggested_start, issue.suggested_end)
    if other != slice(issue.start, issue.end):
        suggested += f' "{" ".join(tokens[other])}"'
    return f"given {issue.given or 'segment'}, {suggested}, probability {issue.probability:.2g}"


def marked(issue: LabelIssue, tokens: list[str]) -> str:
    """Return the tokens around an issue, which stands in brackets.

    Parameters
    ----------
    issue, tokens : as in :func:`said`

    Examples
    --------
    >>> marked(LabelIssue(0, 1, 2, "PER", "O", 0.01, 1, 2), ["Ann", "Lee", "sings"])
    'Ann [Lee] sings'
    """
    before, inside, after = pieces(issue, tokens)
    return f"{before} [{inside}] {after}".strip()


def pieces(issue: LabelIssue, tokens: list[str]) -> tuple[str, str, str]:
    """Return the tokens before, in and after an issue, cut if there are many."""
    first, last = max(0, issue.start - N_AROUND), issue.end + N_AROUND
    before = ["…"] * (first > 0) + tokens[first : issue.start]
    after = tokens[issue.end : last] + ["…"] * (last < len(tokens))
    return " ".join(before), " ".join(tokens[issue.start : issue.end]), " ".join(after)
