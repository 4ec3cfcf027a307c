"""Documents with spans of characters, which commands take in place of columns."""

import argparse
import io
import os
from collections.abc import Callable
from itertools import pairwise
from typing import IO, Any

from ...text import Documents, write_spans
from ...text.formats.registry import AUTO, ENDINGS, FORMATS, format_of, joined
from ...text.formats.source import Source, suffix_of
from ...text.reading import TokenizedTexts
from ._files import files_of, read_texts
from ._text import (
    COLUMN_FORMATS,
    STANDARD,
    UTF8,
    Text,
    begins_with_json,
    check_labelled,
    open_output,
    read_content,
)

WORDS: list[str | None] = ["word", "label"]


def read_documents(paths: list[str], options: argparse.Namespace) -> Documents | None:
    """Read documents of any format; None if the files are columns.

    Raises
    ------
    ValueError
        If some files are documents, and others not, or a file is not valid.
    """
    if options.format in COLUMN_FORMATS:
        return None
    found, others = {}, []
    for source in _sources(paths, options):
        if options.format is not None:
            found[source.name] = FORMATS[options.format].read(source)
        elif _is_document(source):
            found[source.name] = FORMATS[format_of(source)].read(source)
        else:
            others.append(source.name)
    if found and others:
        first = next(iter(found))
        raise ValueError(f"{first} has documents with spans, but {others[0]} has none")
    return None if not found else joined(found) if len(found) > 1 else found.popitem()[1]


def _sources(paths: list[str], options: argparse.Namespace) -> list[Source]:
    """Return all files; a folder of brat, and each pair of its files, is one."""
    settings = options.encoding, options.max_bytes, options.offsets
    sources = []
    for path in paths:
        if path == STANDARD:
            if options.format is not None or begins_with_json():
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
    return FORMATS["brat"].fits(source) or source.suffix == ".spacy" or source.has_records


def read_labelled(
    path: str,
    options: argparse.Namespace,
    read: Callable[..., Text] | None = None,
    how: Any = None,
) -> Text:
    """Read the tokens and labels of a file, or a folder, of columns or of documents.

    Parameters
    ----------
    path : str
    options : Namespace
    read : callable, optional
        Reads columns; by default those of the options.
    how : TextTagger, optional
        How documents become tokens; by default as the options say.
    """
    documents = read_documents([path], options)
    if documents is None:
        return read_texts(files_of([path]), options, read)
    text = text_of_documents(documents, how or options)
    check_labelled(text, path)
    return text


def text_of_documents(documents: Documents, how: Any) -> Text:
    """Return the sentences of documents as sequences of tokens with labels.

    Parameters
    ----------
    documents : Documents
    how : TextTagger, or the options of a command
        How text is cut into tokens, and spans become labels.

    Raises
    ------
    ValueError
        If a span cannot be aligned with tokens; the message names the document.
    """
    read = TokenizedTexts.of(documents.texts, how.tokenizer, how.sentences)
    scheme = getattr(how, "scheme", None) or "IOB2"
    read, y = read.labelled(documents.spans, how.alignment, scheme)
    numbers, offsets, bounds = (
        read.documents().tolist(),
        read.offsets.tolist(),
        read.bounds.tolist(),
    )
    places = [(n, offsets[a:b]) for n, (a, b) in zip(numbers, pairwise(bounds), strict=True)]
    names = documents.groups or [str(i) for i in range(len(documents.texts))]
    groups = [names[n] for n in numbers]
    return Text(read.composed(), y.tolist(), None, WORDS, groups=groups, places=places)
