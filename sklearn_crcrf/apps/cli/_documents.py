"""Documents with spans of characters, which commands take in place of columns."""

import argparse
import io
import os
from itertools import pairwise
from typing import IO, Any

import numpy as np

from ...text import Documents, find_sentences, find_tokens, spans_to_labels, write_spans
from ...text.formats.documents import OFFSETS
from ...text.formats.registry import AUTO, ENDINGS, FORMATS, format_of, joined
from ...text.formats.source import Source, suffix_of
from ...text.spans import ALIGNMENTS
from ...text.tokens import SENTENCES, TOKENIZERS
from ._files import files_of
from ._text import (
    COLUMN_FORMATS,
    STANDARD,
    UTF8,
    Columns,
    Text,
    check_labelled,
    open_output,
    read_content,
    read_source,
    read_text,
)


def add_offsets(parser: argparse._ActionsContainer) -> None:
    """Add the option --offsets."""
    parser.add_argument(
        "--offsets",
        choices=OFFSETS,
        help="what the offsets of spans count; default: what the tool counts",
    )


def add_alignment(parser: argparse._ActionsContainer, default: str) -> None:
    """Add the option --alignment."""
    parser.add_argument(
        "--alignment",
        choices=ALIGNMENTS,
        default=default,
        help="what becomes of spans that begin or end within a token: all tokens that they touch, "
        f"those that lie in them, or an error; default: {default}",
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add how documents become sequences of tokens."""
    group = parser.add_argument_group("documents with spans")
    add_offsets(group)
    add_alignment(group, "expand")
    group.add_argument("--tokenizer", choices=TOKENIZERS, default="words", help="default: words")
    group.add_argument(
        "--sentences", choices=SENTENCES, default="lines", help="what is a sequence; default: lines"
    )


def read_documents(paths: list[str], options: argparse.Namespace) -> Documents | None:
    """Read documents of any format; None if the files are columns.

    Raises
    ------
    ValueError
        If some files are documents, and others columns, or a file is not valid.
    """
    if options.format in COLUMN_FORMATS:
        return None
    found, others = {}, []
    for source in _sources(paths, options):
        if options.format is not None:
            found[source.name] = FORMATS[options.format].read(source)
        elif source.path is not None and _is_document(source):
            found[source.name] = FORMATS[format_of(source)].read(source)
        else:
            others.append(source.name)
    if found and others:
        first = next(iter(found))
        raise ValueError(f"{first} has documents with spans, but {others[0]} has columns")
    return None if not found else joined(found) if len(found) > 1 else found.popitem()[1]


def _sources(paths: list[str], options: argparse.Namespace) -> list[Source]:
    """Return all files; a folder of brat, and each pair of its files, is one."""
    settings = options.encoding, options.max_bytes, options.offsets
    sources = []
    for path in paths:
        if path == STANDARD:
            if options.format is not None:
                name, data = read_content(path, options.max_bytes, options.encoding)
                sources.append(Source(named_file(name, data), *settings))
        elif os.path.isdir(path) and FORMATS["brat"].fits(Source(path)):
            sources.append(Source(path, *settings))
        else:
            sources += [Source(file, *settings) for file in files_of([path])]
    pairs = {source.name for source in sources if source.suffix == ".txt"}
    return [s for s in sources if s.suffix != ".ann" or s.name[: -len("ann")] + "txt" not in pairs]


def named_file(name: str, data: bytes) -> IO[str]:
    """Return a file object of content in UTF-8, with a name for messages."""
    file: Any = io.StringIO(data.decode(UTF8), newline="")
    file.name = name
    return file


def write(
    documents: Documents, output: str, format: str | None, options: argparse.Namespace
) -> None:
    """Write documents to a file; or, if that is the name of a format, to standard output."""
    if output in FORMATS:
        output, format = STANDARD, format or output
    if format is None and (output == STANDARD or suffix_of(output) not in ENDINGS):
        format = "jsonl"
    settings: Any = {"groups": documents.groups, "alignment": options.alignment}
    settings["encoding"] = options.encoding
    if output == STANDARD:
        with open_output(output, options.encoding) as file:
            write_spans(file, *documents[:2], format or AUTO, **settings)
    else:
        write_spans(output, *documents[:2], format or AUTO, **settings)


def _is_document(source: Source) -> bool:
    return FORMATS["brat"].fits(source) or source.suffix == ".spacy" or source.is_json


def read_labelled(path: str, options: argparse.Namespace, columns: Columns | None = None) -> Text:
    """Read the tokens and labels of a file of columns, or of documents."""
    documents = read_documents([path], options)
    if documents is None:
        return read_text(read_source(path, options), columns or options.columns, labelled=True)
    text = text_of_documents(documents, options)
    check_labelled(text, path)
    return text


def text_of_documents(documents: Documents, options: argparse.Namespace) -> Text:
    """Return the sentences of documents as sequences of tokens with labels.

    Raises
    ------
    ValueError
        If a span cannot be aligned with tokens; the message names the document.
    """
    X, y, places, groups = [], [], [], []
    for i, (text, spans) in enumerate(zip(documents.texts, documents.spans, strict=True)):
        offsets = find_tokens(text, options.tokenizer)
        try:
            labels = spans_to_labels(text, spans, offsets, options.alignment)
        except ValueError as error:
            raise ValueError(f"document {i}: {error}") from error
        starts = find_sentences(text, options.sentences)[:, 0]
        cuts = np.unique([0, *np.searchsorted(offsets[:, 0], starts), len(offsets)]).tolist()
        for a, b in pairwise(cuts):
            X.append([text[start:end] for start, end in offsets[a:b].tolist()])
            y.append(labels[a:b])
            places.append((i, offsets[a:b].tolist()))
            groups.append(str(i) if documents.groups is None else documents.groups[i])
    return Text(X, y, None, ["word", "label"], groups=groups, places=places)
