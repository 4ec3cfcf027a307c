"""Documents from and to tokens with labels, in sentences."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...datasets.columns import Rows, checked_columns, known_layout
from ...labels.segments.schemes import detect_scheme
from ...labels.segments.segments import to_segments
from ...utils.warning import warn_caller
from ..spans import spans_to_labels
from ..tokens import find_tokens
from .documents import Document, Documents, Found
from .target import Target


class Sentence(NamedTuple):
    """A line of a document, in tokens with labels.

    Parameters
    ----------
    tokens : list of str
    labels : list of str
    gaps : list of str
        What stands before the first token and after each, up to the next token of the document.
    """

    tokens: list[str]
    labels: list[str]
    gaps: list[str]


def documents_of_rows(rows: Rows, name: str) -> list[Document]:
    """Read the words and labels of rows: a text for each document, or else for each sequence.

    Words are joined by a space, and the sequences of a document by a line end.

    Raises
    ------
    ValueError
        If there are no labels, or a line is not valid; the message names the file.
    """
    try:
        names = known_layout(rows) or checked_columns(None, rows.width)
        table = rows.table(names)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if "label" not in table:
        raise ValueError(f"{name}: there is no column of labels")
    labels = table.pop("label")
    words = table[
        next((key for key in table if key.lower() in ("word", "token")), next(iter(table)))
    ]
    scheme = detect_scheme(labels) or ("IO" if set(labels) - {"O"} else "IOB2")
    if scheme == "IO":
        warn_caller(f"{name}: the labels spell no segments; runs of equal labels are read as spans")
    bounds = rows.bounds
    place = np.append(0, np.cumsum([len(word) + 1 for word in words])).tolist()
    lines = [" ".join(words[a:b]) for a, b in pairwise(bounds)]
    found: list[list[Found]] = [[] for _ in lines]
    segments = to_segments([labels[a:b] for a, b in pairwise(bounds)], scheme)
    for i, start, end, kind in zip(*map(np.ndarray.tolist, segments), strict=True):
        first = bounds[i]
        a, b = (place[first + t] - place[first] for t in (start, end))
        found[i].append(Found(a, b - 1, kind))
    if rows.header is not None and rows.header.documents is not None:
        of_document: dict[str, list[int]] = {}
        for i, name in enumerate(rows.header.documents):
            of_document.setdefault(name, []).append(i)
        return [_joined(lines, found, *item) for item in of_document.items()]
    if not rows.marks:
        both = zip(lines, found, strict=True)
        return [Document(*it, None, f"sequence {i}") for i, it in enumerate(both)]
    parts: list[list[int]] = [[] for _ in range(len(rows.marks) + 1)]
    for i, n in enumerate(rows.n_marks_before()):
        parts[n].append(i)
    names = [None, *(name for _, name in rows.marks)]
    kept = range(0 if parts[0] else 1, len(parts))
    return [_joined(lines, found, names[n], parts[n]) for n in kept]


def _joined(
    lines: list[str], found: list[list[Found]], name: str | None, sequences: list[int]
) -> Document:
    """Make a document of some sequences, each a line."""
    spans, start = list[Found](), 0
    for i in sequences:
        spans += [Found(one.start + start, one.end + start, one.label) for one in found[i]]
        start += len(lines[i]) + 1
    text = "\n".join(lines[i] for i in sequences)
    return Document(text, spans, name, f"document {name!r}")


def sentences_of(
    documents: Documents, target: Target, forbidden: str = r"\s"
) -> Iterator[tuple[int, list[Sentence]]]:
    """Yield the number and the sentences of each document: the lines that have tokens.

    Parameters
    ----------
    documents : Documents
    target : Target
    forbidden : str
        Pattern of what the format cannot hold in a label.

    Raises
    ------
    ValueError
        If a label cannot be held, or a span does not fit the tokens and lines; the message names
        the document and the characters.
    """
    for i, (text, spans) in enumerate(zip(documents.texts, documents.spans, strict=True)):
        for span in spans:
            where = f"document {i}, characters {span.start} to {span.end}"
            if re.search(forbidden, span.label) or not span.label:
                raise ValueError(f"{where}: the format cannot hold the label {span.label!r}")
            if re.search(r"[\r\n]", text[span.start : span.end]):
                raise ValueError(f"{where}: the format cannot hold a span of several lines")
        offsets = find_tokens(text)
        try:
            labels = spans_to_labels(text, spans, offsets, target.alignment)
        except ValueError as error:
            raise ValueError(f"document {i}: {error}") from error
        yield i, _sentences(text, offsets.tolist(), labels)


def _sentences(text: str, offsets: list, labels: list[str]) -> list[Sentence]:
    starts, ends = [a for a, _ in offsets], [b for _, b in offsets]
    gaps = [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]
    cuts = [0, *(t for t in range(1, len(offsets)) if re.search(r"[\r\n]", gaps[t])), len(offsets)]
    tokens = [text[a:b] for a, b in offsets]
    return [Sentence(tokens[a:b], labels[a:b], gaps[a : b + 1]) for a, b in pairwise(cuts) if a < b]


def note_blanks(i: int, sentences: list[Sentence], target: Target) -> None:
    """Note if spaces of a document are other than a space between words, a line end after lines."""
    usual = [["", *[" "] * (len(one.tokens) - 1), "\n"] for one in sentences]
    if not sentences:
        return
    for wanted in usual[1:]:
        wanted[0] = "\n"
    usual[-1][-1] = ""
    place = 0
    for one, wanted in zip(sentences, usual, strict=True):
        for gap, expected, token in zip(one.gaps, wanted, [*one.tokens, ""], strict=True):
            if gap != expected:
                where = f"document {i}, characters {place} to {place + len(gap)}"
                target.losses.add("the format holds words, not the spaces between them", where)
                return
            place += len(gap) + len(token)
        place -= len(one.gaps[-1])
