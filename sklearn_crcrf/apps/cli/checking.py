"""The command check."""

import argparse
import json
from typing import Any

import numpy as np

from ...display.notebook.label_issues import LabelIssueList, marked, said
from ...estimators.label_issues import LabelIssues, find_label_issues
from ...labels.segments.schemes import SCHEMES
from . import _documents, _estimators
from ._files import add_groups, check_trainable, groups_of
from ._text import Text, add_columns, add_document_options, add_file, positive
from .tagging import Labeller


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser, "text with labels")
    parser.add_argument(
        "--top", type=positive, metavar="N", default=100, help="how many to print; default: 100"
    )
    add_groups(parser, "A document is judged by a model of all others")
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
    add_document_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print the labels that are probably wrong, the least probable first."""
    given = _estimators.given_options(options)
    if options.model is not None and (given or options.groups):
        raise ValueError(f"--model leaves no use for {given[0] if given else '--groups'}")
    if options.model is None:
        estimator, method = _estimators.make_estimator(options), "auto"
        text = _documents.read_labelled(options.file, options)
        check_trainable(text)
        X, groups = groups_of(text, options.groups)
    else:
        labeller = Labeller(options)
        text, method = labeller.read_labelled(options.file), "given"
        estimator, X, groups = labeller.estimator, text.X, None
    scheme = options.scheme or "auto"
    issues = find_label_issues(estimator, X, text.y, groups, method, scheme=scheme)
    if not options.json:
        found = f"{len(issues):,} issue{'s' * (len(issues) != 1)}"
        print(f"{len(text.X):,} sequences, {sum(map(len, text.X)):,} tokens, {found}")
    _tell(text, X, issues[: options.top], options.json)


def _tell(text: Text, X: list, issues: LabelIssues, as_json: bool) -> None:
    listed_issues = LabelIssueList(X, issues, len(issues))
    lines = None if text.rows is None else text.rows.numbers
    begins = np.cumsum([0, *map(len, X)])
    for rank, (issue, tokens) in enumerate(zip(issues, listed_issues.tokens, strict=True), start=1):
        where: dict[str, Any] = {"line": None}
        place = f"sequence {issue.sequence}"
        if text.places is not None:
            document, offsets = text.places[issue.sequence]
            start, end = offsets[issue.start][0], offsets[issue.end - 1][1]
            where = {"line": None, "document": document, "characters": [start, end]}
            place = f"document {document}, characters {start} to {end}"
        elif lines is not None:
            where = {"line": lines[begins[issue.sequence] + issue.start]}
            place += f", line {where['line']}"
        if as_json:
            row = {**issue._asdict(), **where, "tokens": tokens}
            print(json.dumps(row, ensure_ascii=False))
            continue
        print(f"\n{rank}. {place}: {said(issue, tokens)}\n   {marked(issue, tokens)}")
