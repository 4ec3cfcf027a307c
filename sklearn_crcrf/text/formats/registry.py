"""The formats, and functions that read and write them."""

import gzip
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from ...data.missing import is_missing
from ...labels.segments.schemes import check_option
from ...utils.replacing import replacing
from ...utils.unpacking import MAX_BYTES, check_encoding
from ..reading import checked_texts, spans_of_each
from ..spans import ALIGNMENTS, checked_spans
from . import brat, conll, conllu, doccano, jsonl, label_studio, prodigy, spacy, table
from .documents import OFFSETS, Documents, Losses
from .source import Source, suffix_of
from .target import Target

AUTO = "auto"
FORMATS: dict[str, ModuleType] = {
    "brat": brat,
    "label-studio": label_studio,
    "prodigy": prodigy,
    "spacy": spacy,
    "doccano": doccano,
    "jsonl": jsonl,
    "csv": table,
    "conllu": conllu,
    "conll": conll,
}
"""All formats; a file is of the first that it fits."""
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".spacy": "spacy",
    ".csv": "csv",
    ".tsv": "conll",
    ".conll": "conll",
    ".iob": "conll",
    ".bio": "conll",
    ".conllu": "conllu",
}


def read_spans(
    path: str | os.PathLike | IO,
    format: str = AUTO,
    *,
    offsets: str | None = None,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> Documents:
    """Read texts and the spans marked in them, from a file of an annotation tool or a corpus.

    Parameters
    ----------
    path : str, path-like or file object
        A file, which may be gzip-compressed, or a folder, which stands for the files in it.
    format : str, default="auto"
        "jsonl", "label-studio", "doccano", "brat", "prodigy", "spacy", "csv", "conll" or "conllu";
        "auto" looks at the file.
    offsets : {"characters", "utf-16", "bytes"}, optional
        What the offsets in the file count. By default what the tool counts, UTF-16 code units for
        doccano and characters for all others; where only one of these agrees with the text that
        spans are said to cover, that one.
    encoding : str, default="utf-8"
        Encoding of the file.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of an unpacked file, or None for no limit.

    Returns
    -------
    Documents
        Texts, spans and groups: the documents that the file names, else the files of a folder.

    Raises
    ------
    ValueError
        If a file is not of the format, or a span leaves its text, is empty, or covers another text
        than the file says; the message names the file and the document, line or row.

    Warns
    -----
    UserWarning
        If the file has what is not read, such as relations.

    See Also
    --------
    write_spans : The inverse.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.text import read_spans
    >>> line = '{"text": "Ann sings.", "label": [[0, 3, "PER"]]}'
    >>> texts, spans, groups = read_spans(io.StringIO(line))
    >>> texts, spans
    (['Ann sings.'], [[Span(start=0, end=3, label='PER', probability=None)]])
    """
    check_option("format", format, [AUTO, *FORMATS])
    check_encoding(encoding)
    if offsets is not None:
        check_option("offsets", offsets, OFFSETS)
    source = Source(path, encoding, max_bytes, offsets)
    if source.path is None or not source.path.is_dir() or format == "brat" or brat.fits(source):
        return FORMATS[format_of(source) if format == AUTO else format].read(source)
    files = sorted(file for file in source.path.iterdir() if file.is_file())
    files = [file for file in files if not file.name.startswith(".")]
    if not files:
        raise ValueError(f"{path}: there are no files in this folder")
    options: Any = {"offsets": offsets, "encoding": encoding, "max_bytes": max_bytes}
    return joined({file.name: read_spans(file, format, **options) for file in files})


def format_of(source: Source) -> str:
    """Return the name of the format of a file."""
    return next(name for name, format in FORMATS.items() if format.fits(source))


def joined(files: dict[str, Documents]) -> Documents:
    """Join the documents of several files, whose names are the groups of those without any."""
    texts = [text for documents in files.values() for text in documents.texts]
    spans = [found for documents in files.values() for found in documents.spans]
    groups = [
        group
        for name, documents in files.items()
        for group in documents.groups or [name] * len(documents.texts)
    ]
    return Documents(texts, spans, groups)


def write_spans(
    path: str | os.PathLike | IO,
    texts: Sequence[str],
    spans: Sequence[Iterable],
    format: str = AUTO,
    *,
    groups: Sequence[str] | None = None,
    alignment: str = "strict",
    encoding: str = "utf-8",
) -> None:
    """Write texts and their spans as a file that :func:`read_spans` and a tool can read.

    Parameters
    ----------
    path : str, path-like or file object
        A path that ends in ".gz" is gzip-compressed. For brat, a folder, which is created.
    texts : sequence of str
    spans : sequence of iterables of Span, or of (start, end, label)
        The spans of each text.
    format : str, default="auto"
        As for :func:`read_spans`; "auto" goes by the ending of the name, ".jsonl", ".csv",
        ".conll", ".conllu" or ".spacy".
    groups : sequence of str, optional
        The document that each text is from.
    alignment : {"strict", "expand", "contract"}, default="strict"
        What becomes of spans that begin or end within a token, in "csv", "conll" and "conllu", see
        :func:`spans_to_labels`.
    encoding : str, default="utf-8"
        Encoding of the file.

    Raises
    ------
    ValueError
        If the format cannot hold a span, a label or a text; the message names the document and
        the characters.

    Warns
    -----
    UserWarning
        If probabilities, groups, or the spaces between words are lost, with the first document
        and characters where they are.

    See Also
    --------
    read_spans : The inverse.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.text import write_spans
    >>> file = io.StringIO()
    >>> write_spans(file, ["Ann sings."], [[(0, 3, "PER")]], "jsonl")
    >>> file.getvalue()
    '{"text": "Ann sings.", "spans": [{"start": 0, "end": 3, "label": "PER", "text": "Ann"}]}\\n'
    """
    name = str(getattr(path, "name", "the file") if hasattr(path, "write") else path)
    suffix = suffix_of(name)
    if format == AUTO:
        if suffix not in ENDINGS:
            raise ValueError(
                f"format: {name!r} does not say which; choose one of {', '.join(FORMATS)}"
            )
        format = ENDINGS[suffix]
    check_option("format", format, FORMATS)
    check_option("alignment", alignment, ALIGNMENTS)
    documents = checked_documents(texts, spans, groups, encoding)
    losses = Losses(f"{name} ({format})")
    content = FORMATS[format].write(documents, Target(suffix, alignment, losses))
    if isinstance(content, dict):
        _write_files(path, content, encoding)
    elif hasattr(path, "write"):
        is_text = isinstance(content, str) and hasattr(path, "encoding")
        path.write(content if is_text else _bytes(content, encoding))
    else:
        data = _bytes(content, encoding)
        with replacing(path) as file:
            file.write(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    losses.warn()


def checked_documents(
    texts: Sequence[str], spans: Sequence[Iterable], groups: Any, encoding: str
) -> Documents:
    """Check texts and spans, and bring them to one form."""
    texts = checked_texts(texts)
    given = spans_of_each(texts, spans)
    check_encoding(encoding)
    if groups is not None:
        groups = list(groups)
        if len(groups) != len(texts):
            raise ValueError(f"there are {len(groups)} groups, but {len(texts)} texts")
        for i, group in enumerate(groups):
            if is_missing(group):
                raise ValueError(f"groups: document {i} has the group {group!r}")
        groups = [str(group) for group in groups]
    checked = [
        checked_spans(text, found, f"document {i}")
        for i, (text, found) in enumerate(zip(texts, given, strict=True))
    ]
    for i, (text, found) in enumerate(zip(texts, checked, strict=True)):
        for what, part in (
            ("", text),
            *((f"the label {one.label!r}, ", one.label) for one in found),
        ):
            try:
                part.encode(encoding)
            except UnicodeEncodeError as error:
                raise ValueError(
                    f"document {i}: {what}character {error.start}, {part[error.start]!r}, cannot "
                    f"be encoded as {encoding}"
                ) from error
    return Documents(texts, checked, groups)


def _bytes(content: str | bytes, encoding: str) -> bytes:
    return content if isinstance(content, bytes) else content.encode(encoding)


def _write_files(path: Any, files: dict[str, str], encoding: str) -> None:
    """Write the files of a folder, which may be there if none of them is."""
    if hasattr(path, "write"):
        raise ValueError("format: brat has two files for each document, so path must be a folder")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / name) as file:
            file.write(text.encode(encoding))
