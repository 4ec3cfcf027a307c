"""Spans in texts: finding and writing them."""

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from typing import IO, Any

from sklearn.frozen import FrozenEstimator

from ...base.unwrap import unwrap
from ...datasets import write_conll
from ...labels.segments.schemes import scheme_of
from ...text import Documents, Span, TextTagger, write_spans
from ...text.reading import TokenizedTexts
from ...text.redaction import redacted
from . import _documents, _progress
from ._files import files_of
from ._text import FORMS, STANDARD, observed, open_output, read_all_text

ENDINGS = {".jsonl": "jsonl", ".conll": "conll", ".tsv": "spans", ".txt": "text"}
# Number of documents that are read at a time.
CHUNK = 100
MARK = "\ufeff"
# How the names of files end that look like columns.
TABLES = (".csv", ".tsv", ".conll", ".conllu")


def tag(options: argparse.Namespace, labeller: Any) -> None:
    """Find spans, and write them."""
    for name in ("n_best", "marginals", "keep_label", "columns", "sep", "comment"):
        if getattr(options, name):
            raise ValueError(f"--{name.replace('_', '-')} is for columns, not for text")
    tagger = text_tagger(labeller, options)
    tell_promise(tagger, options)
    documents = None if options.text else _documents.read_documents(options.files, options)
    if documents is None:
        documents = texts_of(files_of(options.files), options)
    output, form = form_of(options.output, "jsonl" if options.json else "spans")
    found = list(find(tagger, documents, options))
    of_texts = [spans for _, spans, _ in found]
    with open_output(output, options.encoding) as out:
        if form == "text":
            for text, spans, _ in found:
                out.write(redacted(text, spans, lambda part, span: f"[{part}]({span.label})"))
        elif form == "spans":
            _write_spans(out, found)
        elif form == "jsonl":
            write_spans(out, documents.texts, of_texts, form, groups=documents.groups)
        else:
            read = TokenizedTexts.of(documents.texts, tagger.tokenizer, tagger.sentences)
            read, y = read.labelled(of_texts, "expand", tagger.scheme)
            write_conll(out, read.tokens(), y)


def text_tagger(labeller: Any, options: argparse.Namespace) -> TextTagger:
    """Return the model, or make one that cuts text into tokens for a model of tokens."""
    if (tagger := labeller.text_tagger) is not None:
        for name, usual in (("tokenizer", "words"), ("sentences", "lines")):
            given, own = getattr(options, name), getattr(tagger, name)
            if given not in (usual, own):
                raise ValueError(f"--{name} {given}: the model was trained with --{name} {own}")
        return tagger
    columns = observed(labeller.columns or ["word"])
    if len(columns) > 1 or columns == ["*"]:
        raise ValueError(
            f"{options.model}: the model was trained on the columns {', '.join(columns)}, but text "
            "has words only; train on documents, or on a column of words and one of labels"
        )
    scheme = scheme_of(map(str, labeller.labels))
    frozen = FrozenEstimator(labeller.estimator)
    how = options.tokenizer, options.sentences, options.alignment
    return TextTagger(frozen, *how, scheme=scheme).fit([], [])


def texts_of(files: list[str], options: argparse.Namespace) -> Documents:
    """Read files of text, each a document."""
    for file in files:
        if not getattr(options, "text", False) and file.removesuffix(".gz").endswith(TABLES):
            warnings.warn(f"{file} is read as plain text, not as columns", stacklevel=2)
    texts = [read_all_text(file, options)[1].removeprefix(MARK) for file in files]
    return Documents(texts, [[] for _ in texts], files if len(files) > 1 else None)


def find(
    tagger: TextTagger, documents: Documents, options: argparse.Namespace
) -> Iterator[tuple[str, list[Span], str | None]]:
    """Yield each text, its spans and its document, and show the progress."""
    texts, groups = documents.texts, documents.groups
    with _progress.progress_of(options, "finding", len(texts), "document") as progress:
        for start in range(0, len(texts), CHUNK):
            part = texts[start : start + CHUNK]
            for i, (text, spans) in enumerate(zip(part, tagger.predict(part), strict=True), start):
                yield text, spans, None if groups is None else groups[i]
            progress.advance(len(part))


def tell_promise(tagger: TextTagger, options: argparse.Namespace) -> dict[str, Any]:
    """Return what a conformal classifier promises, empty for others, and print it."""
    promise = getattr(unwrap(tagger)[0], "promise_", {})
    if promise and not options.quiet:
        told = ", ".join(f"{name} {value}" for name, value in promise.items())
        print(f"sklearn-crcrf: {told}", file=sys.stderr)
    return promise


def form_of(output: str, usual: str) -> tuple[str, str]:
    """Return the file to write, and the form: by its ending, or itself the name of the form."""
    if output in FORMS:
        return STANDARD, output
    return output, next((ENDINGS[end] for end in ENDINGS if output.endswith(end)), usual)


def _write_spans(out: IO[str], found: list[tuple[str, list[Span], str | None]]) -> None:
    """Write a table of all spans."""
    out.write("document\tstart\tend\tlabel\tprobability\ttext\n")
    for i, (text, spans, group) in enumerate(found):
        for start, end, label, probability in spans:
            share = "" if probability is None else f"{probability:.6f}"
            part = json.dumps(text[start:end], ensure_ascii=False)[1:-1]
            out.write(f"{group or i}\t{start}\t{end}\t{label}\t{share}\t{part}\n")
