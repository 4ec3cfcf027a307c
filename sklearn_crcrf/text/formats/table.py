"""Tables with a header, of words and labels, such as Kaggle's."""

import csv
import io
import re
from typing import Any

from ...datasets.columns import NO_HEADER
from . import jsonl
from .documents import Documents, documents_of
from .records import note_probabilities
from .sequences import documents_of_rows, note_blanks, sentences_of
from .source import Source
from .target import Target


def fits(source: Source) -> bool:
    """Say whether there is a header that names the words."""
    return source.rows.header is not None


def read(source: Source) -> Documents:
    """Read the words and the labels, or texts and their spans."""
    if jsonl.fits(source):
        return jsonl.read(source)
    if not fits(source):
        raise ValueError(f"{source.name}: {NO_HEADER}")
    return documents_of(documents_of_rows(source.rows, source.name), source.name, None)


def write(documents: Documents, target: Target) -> str:
    """Write a row for each word; the spaces between words are lost."""
    note_probabilities(documents.spans, target.losses)
    is_tabs = target.suffix == ".tsv"  # whose fields are not quoted
    forbidden = (r"[\r\n\t\x1f]" if is_tabs else r"[\r\n\x1f]") + r"|^ | $"
    written = list(sentences_of(documents, target, forbidden))
    groups = documents.groups
    for i, group in enumerate(groups or []):
        if re.search(forbidden, group):
            raise ValueError(f"document {i}: the format cannot hold the group {group!r}")
    is_plain = groups is None and all(len(sentences) == 1 for _, sentences in written)
    out, n, named = io.StringIO(), 0, set[str]()
    how: Any = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None} if is_tabs else {}
    rows = csv.writer(out, lineterminator="\n", **how)
    rows.writerow([*([] if is_plain else ["Document"]), "Sentence #", "Word", "Tag"])
    for i, sentences in written:
        if not sentences:
            raise ValueError(f"document {i}: the format cannot hold a document without words")
        note_blanks(i, sentences, target)
        document = [] if is_plain else [str(i) if groups is None else groups[i]]
        if not named.isdisjoint(document):
            target.losses.add("all texts of a document become one", f"document {i}")
        named.update(document)
        for one in sentences:
            n += 1
            for token, label in zip(one.tokens, one.labels, strict=True):
                rows.writerow([*document, n, token, label])
    return out.getvalue()
