"""The command redact."""

import argparse
import json

from ...text.redaction import REPLACE, redacted
from . import _documents, _progress
from ._files import add_files, files_of, outputs_of
from ._text import DOCUMENT_FORMATS, STANDARD, add_document_options, open_output
from .finding import find, form_of, tell_promise, text_tagger, texts_of
from .tagging import Labeller


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what redact takes."""
    add_files(parser, "text, or documents in any format of an annotation tool")
    parser.add_argument("-m", "--model", metavar="MODEL", required=True, help="written by train")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default=STANDARD,
        help="file to write; default: standard output. For several files: the folder to write a "
        "file of the same name to for each. Documents are written as JSON lines, and so is text "
        "if OUT ends in .jsonl, or is jsonl for standard output",
    )
    parser.add_argument(
        "--replace",
        metavar="TEXT",
        default=REPLACE,
        help="what to write for a span, {label} for its label; default: [{label}]",
    )
    parser.add_argument("--format", choices=DOCUMENT_FORMATS, help="default: as the file shows")
    add_document_options(parser)
    _progress.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Write texts, in which the spans that are found are replaced."""
    tagger = text_tagger(Labeller(options), options)
    promise = tell_promise(tagger, options)
    documents = _documents.read_documents(options.files, options)
    if documents is not None:
        parts = [(options.output, documents)]
    else:
        files = files_of(options.files)
        is_single = files == options.files and len(files) == 1
        outputs = [options.output] if is_single else outputs_of(files, options.output)
        parts = [(out, texts_of([file], options)) for out, file in zip(outputs, files, strict=True)]
    for output, part in parts:
        output, form = form_of(output, "text" if documents is None else "jsonl")
        with open_output(output, options.encoding) as out:
            for text, spans, group in find(tagger, part, options):
                made = redacted(text, spans, options.replace)
                if form == "jsonl":
                    named = {} if group is None else {"document": group}
                    made = json.dumps({**named, "text": made, **promise}, ensure_ascii=False) + "\n"
                out.write(made)
