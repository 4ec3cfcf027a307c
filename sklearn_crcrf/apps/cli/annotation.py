"""The command annotate."""

import argparse
import os
import sys
import warnings

from ...estimators.empirical import EmpiricalCRF
from ...labels.segments.schemes import ONE_TO_ONE
from ..annotation import Annotations, Log, Marks, Pool, SegmentMarks, TagMarks, Workbench, marks_for
from ..annotation.log import repair_log
from ..web import annotation_app
from . import _listening
from ._documents import read_documents, read_labelled, text_of_documents
from ._text import add_document_options, add_reading, read_lines, read_source, read_text
from .tagging import named

TAGS = "tags"
ORDERS = {"mixed": "mixed", "entropy": "entropy", "margin": "margin", "text": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "file",
        metavar="TEXT",
        nargs="?",
        help="text to annotate, a sentence in each line; or documents with spans, as for train",
    )
    add_reading(parser)
    parser.add_argument("-m", "--model", metavar="MODEL", help="an EmpiricalCRF to start from")
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
        "--gold",
        metavar="FILE",
        help="words and labels to be checked, in columns or in documents, in place of TEXT",
    )
    parser.add_argument(
        "--proposed",
        action="store_true",
        help="show the spans of TEXT as proposals; without it they are accepted labels, which are "
        "learned at once. Documents without spans wait in either case",
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
    how.add_argument("--characters", action="store_true", help="as --tokenizer characters")
    parser.add_argument(
        "--order",
        choices=list(ORDERS),
        default="mixed",
        help="first the sentences of greatest doubt, by entropy or margin; as in the text; or, the "
        "default, mixed: in turn one of great doubt and the next one of the text",
    )
    add_document_options(parser)
    parser.set_defaults(format=None, columns=None)
    _listening.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Open the page."""
    if (options.file is None) == (options.gold is None):
        raise ValueError("annotate needs TEXT, or --gold FILE")
    path = options.gold or options.file
    pool = _pool(options)
    if not pool.sentences:
        raise ValueError(f"{path}: no sentences")
    start = None if options.model is None else _model(options.model)
    marks = _marks(pool, start, options)
    log_path = options.log or f"{path}.annotations.jsonl"

    def notice(text: str) -> None:
        print(f"sklearn-crcrf: {text}", file=sys.stderr)

    if options.repair:
        damaged, n_kept, n_left_out = repair_log(log_path)
        kept = f"{n_kept} lines kept, {n_left_out} left out; as it was: {damaged}"
        notice(f"{log_path}: {'it is sound' if damaged is None else kept}")
    with Log(log_path, notice) as log:
        if not options.proposed:
            _accept(pool, log, by=os.path.basename(path))
        with Workbench(pool, log, marks, start, ORDERS[options.order]) as bench:
            print(f"{len(pool.sentences)} sentences; acts are kept in {log_path}", flush=True)
            _listening.listen(annotation_app(bench), options, needs_token=True)


def _pool(options: argparse.Namespace) -> Pool:
    if options.characters:
        options.tokenizer = "characters"
    separator = "" if options.tokenizer == "characters" else " "
    if options.gold is not None or options.tokens:
        is_gold = options.gold is not None
        words = None if is_gold else read_text(read_source(options.file, options), ["word"])
        text = words or read_labelled(options.gold, options)
        if not all(isinstance(token, str) for tokens in text.X for token in tokens):
            raise ValueError(f"{options.gold or options.file}: a token must be a single column")
        return Pool(text.X, text.y, separator)
    documents = read_documents([options.file], options)
    if documents is None:
        return Pool.of_lines(read_lines(options.file, options)[1], separator == "")
    if options.scheme == TAGS:
        raise ValueError("--scheme tags is for tokens with a tag each, but the file has spans")
    text = text_of_documents(documents, options)
    numbers = [number for number, _ in text.places or ()]
    labels = [y if documents.spans[n] else None for n, y in zip(numbers, text.y, strict=True)]
    return Pool(text.X, None, separator, labels)


def _accept(pool: Pool, log: Log, by: str) -> None:
    """Log the proposed labels of sentences that nobody has labelled yet."""
    known = Annotations(log.entries, pool.sentences)
    log.extend(
        {"do": "accept", "sentence": i, "tokens": pool.sentences[i], "labels": labels, "by": by}
        for i, labels in enumerate(pool.proposed or ())
        if labels is not None and known.of(i) is None
    )


def _model(path: str) -> EmpiricalCRF:
    from ...model_files import load_model

    estimator = load_model(path).estimator
    if not isinstance(estimator, EmpiricalCRF):
        kind = type(estimator).__name__
        raise ValueError(f"{path}: annotate learns with an EmpiricalCRF, but this is a {kind}")
    return estimator


def _marks(pool: Pool, start: EmpiricalCRF | None, options: argparse.Namespace) -> Marks:
    known = [] if start is None else [str(label) for label in start.classes_.tolist()]
    given = dict.fromkeys(label for y in pool.gold or pool.proposed or () for label in y or ())
    new = [label for label in given if label not in known]
    if known and new:
        warnings.warn(
            f"{options.gold or options.file}: the model does not know the labels {named(new)}; it "
            f"knows {named(known)}",
            stacklevel=2,
        )
    known += new
    if known:
        marks = marks_for(dict.fromkeys(known))
        if start is None and pool.proposed is not None:
            marks = SegmentMarks(marks.names, options.scheme)
        for name in options.labels:
            marks.add(name)
        return marks
    if not options.labels:
        raise ValueError("annotate needs --labels, --model or --gold: what can be marked?")
    if options.scheme == TAGS:
        return TagMarks(options.labels)
    return SegmentMarks(options.labels, options.scheme)
