"""The command annotate."""

import argparse
import sys
import warnings

from ...estimators.empirical import EmpiricalCRF
from ...labels.segments.schemes import ONE_TO_ONE
from ..annotation import Log, Marks, Pool, SegmentMarks, TagMarks, Workbench, marks_for
from ..annotation.log import repair_log
from ..web import annotation_app
from . import _listening
from ._text import add_max_bytes, read_lines, read_source, read_text
from .tagging import named

TAGS = "tags"
ORDERS = {"entropy": "entropy", "margin": "margin", "text": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "file", metavar="TEXT", nargs="?", help="text to annotate, a sentence in each line"
    )
    add_max_bytes(parser)
    parser.add_argument("--model", metavar="MODEL", help="an EmpiricalCRF to start from")
    parser.add_argument(
        "--labels", metavar="NAME", nargs="+", default=[], help="what can be marked: PER LOC ORG"
    )
    parser.add_argument(
        "--scheme",
        choices=[*ONE_TO_ONE, TAGS],
        default="IOB2",
        help="whether segments are marked, and how they are written, or every token has a tag",
    )
    parser.add_argument(
        "--gold", metavar="FILE", help="columns of words and labels to be checked, in place of TEXT"
    )
    parser.add_argument(
        "--log", metavar="LOG", help="file that keeps all acts; default: beside TEXT"
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="keep the sound lines of a damaged log, and the damaged file beside it",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--tokens", action="store_true", help="TEXT has one word in each line")
    how.add_argument("--characters", action="store_true", help="tokens are characters")
    parser.add_argument(
        "--order",
        choices=list(ORDERS),
        default="entropy",
        help="first the sentences of greatest doubt, by this measure, or as in the text",
    )
    _listening.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Open the page."""
    if (options.file is None) == (options.gold is None):
        raise ValueError("annotate needs TEXT, or --gold FILE")
    pool = _pool(options)
    start = None if options.model is None else _model(options.model)
    marks = _marks(pool, start, options)
    path = options.log or f"{options.gold or options.file}.annotations.jsonl"

    def notice(text: str) -> None:
        print(f"sklearn-crcrf: {text}", file=sys.stderr)

    if options.repair:
        damaged, n_kept, n_left_out = repair_log(path)
        kept = f"{n_kept} lines kept, {n_left_out} left out; as it was: {damaged}"
        notice(f"{path}: {'it is sound' if damaged is None else kept}")
    with (
        Log(path, notice) as log,
        Workbench(pool, log, marks, start, ORDERS[options.order]) as bench,
    ):
        print(f"{len(pool.sentences)} sentences; acts are kept in {path}", flush=True)
        _listening.listen(annotation_app(bench), options, needs_token=True)


def _pool(options: argparse.Namespace) -> Pool:
    path, is_gold = options.gold or options.file, options.gold is not None
    if is_gold or options.tokens:
        source = read_source(path, options)
        text = read_text(source, None if is_gold else ["word"], labelled=is_gold)
        if not all(isinstance(token, str) for tokens in text.X for token in tokens):
            raise ValueError(f"{source.name}: a token must be a single column")
        name, pool = source.name, Pool(text.X, text.y)
    else:
        name, lines = read_lines(path, options)
        pool = Pool.of_lines(lines, options.characters)
    if not pool.sentences:
        raise ValueError(f"{name}: no sentences")
    return pool


def _model(path: str) -> EmpiricalCRF:
    from ...model_files import load_model

    estimator = load_model(path).estimator
    if not isinstance(estimator, EmpiricalCRF):
        kind = type(estimator).__name__
        raise ValueError(f"{path}: annotate learns with an EmpiricalCRF, but this is a {kind}")
    return estimator


def _marks(pool: Pool, start: EmpiricalCRF | None, options: argparse.Namespace) -> Marks:
    known = [] if start is None else [str(label) for label in start.classes_.tolist()]
    gold = dict.fromkeys(label for labels in pool.gold or () for label in labels)
    new = [label for label in gold if label not in known]
    if known and new:
        warnings.warn(
            f"{options.gold}: the model does not know the labels {named(new)}; it knows "
            f"{named(known)}",
            stacklevel=2,
        )
    known += new
    if known:
        marks = marks_for(dict.fromkeys(known))
        for name in options.labels:
            marks.add(name)
        return marks
    if not options.labels:
        raise ValueError("annotate needs --labels, --model or --gold: what can be marked?")
    if options.scheme == TAGS:
        return TagMarks(options.labels)
    return SegmentMarks(options.labels, options.scheme)
