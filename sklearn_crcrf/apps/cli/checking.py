"""The command check."""

import argparse
import json

import numpy as np

from ...display.notebook.label_issues import LabelIssueList, marked, said
from ...estimators.label_issues import LabelIssues, find_label_issues
from ...labels.segments.schemes import SCHEMES
from . import _estimators
from ._files import check_trainable
from ._text import Text, add_columns, add_file, listed, positive, read_source, read_text
from .tagging import Labeller


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser, "text with labels")
    parser.add_argument(
        "--top", type=positive, metavar="N", default=100, help="how many to print; default: 100"
    )
    parser.add_argument(
        "--groups",
        metavar="COLUMN",
        help="column with the document of each sequence, say, which is no attribute of words: a "
        "document is judged by a model of all others",
    )
    parser.add_argument(
        "-m",
        "--model",
        metavar="MODEL",
        help="written by train, from other text. Without it, each sequence is judged by a model of "
        "all others, or, for estimators that do not count, of other folds",
    )
    add_columns(parser, "names of the columns of the file, as for train")
    parser.add_argument(
        "--scheme",
        choices=SCHEMES,
        help="how labels spell segments; default: as the labels show, without segments for bare "
        "labels",
    )
    parser.add_argument("--json", action="store_true", help="a line of JSON for each label")
    _estimators.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print the labels that are probably wrong, the least probable first."""
    given = _estimators.given_options(options)
    if options.model is not None and (given or options.groups):
        raise ValueError(f"--model leaves no use for {given[0] if given else '--groups'}")
    source = read_source(options.file, options)
    if options.model is None:
        estimator, method = _estimators.make_estimator(options), "auto"
        text = read_text(source, options.columns, labelled=True)
        check_trainable(text)
    else:
        labeller = Labeller(options)
        text, method = labeller.read(source, labelled=True), "given"
        estimator = labeller.estimator
    X, groups = text.X, None
    if options.groups is not None:
        X, groups = _without_groups(text, options.groups)
    scheme = options.scheme or "auto"
    issues = find_label_issues(estimator, X, text.y, groups, method, scheme=scheme)
    if not options.json:
        found = f"{len(issues):,} issue{'s' * (len(issues) != 1)}"
        print(f"{len(text.X):,} sequences, {sum(map(len, text.X)):,} tokens, {found}")
    _tell(text, X, issues[: options.top], options.json)


def _without_groups(text: Text, column: str) -> tuple[list, list]:
    """Return the tokens without the column of groups, and the group of each sequence.

    Raises
    ------
    ValueError
        If there is no such column, or a sequence has several groups, or nothing else is left.
    """
    names = [name for name in text.columns if name not in (None, "label")]
    if column not in names or len(names) == 1:
        raise ValueError(
            f"--groups must name one of two or more columns, but is {column!r}; the columns are "
            f"{listed(text.columns)}"
        )
    groups = [sequence[0][column] for sequence in text.X]
    for number, (sequence, group) in enumerate(zip(text.X, groups, strict=True)):
        for position, token in enumerate(sequence):
            if token[column] != group:
                raise ValueError(
                    f"{text.place(number, position)}: the group is {token[column]!r}, but the "
                    f"sequence begins with {group!r}"
                )
    first, *more = (name for name in names if name != column)
    if not more:
        return [[token[first] for token in sequence] for sequence in text.X], groups
    kept = [first, *more]
    return [[{name: token[name] for name in kept} for token in words] for words in text.X], groups


def _tell(text: Text, X: list, issues: LabelIssues, as_json: bool) -> None:
    listed_issues = LabelIssueList(X, issues, len(issues))
    lines = None if text.rows is None else text.rows.numbers
    begins = np.cumsum([0, *map(len, X)])
    for rank, (issue, tokens) in enumerate(zip(issues, listed_issues.tokens, strict=True), start=1):
        line = None if lines is None else lines[begins[issue.sequence] + issue.start]
        if as_json:
            row = {**issue._asdict(), "line": line, "tokens": tokens}
            print(json.dumps(row, ensure_ascii=False))
            continue
        place = f"sequence {issue.sequence}" + (f", line {line}" if line is not None else "")
        print(f"\n{rank}. {place}: {said(issue, tokens)}\n   {marked(issue, tokens)}")
