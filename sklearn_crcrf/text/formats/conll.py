"""Columns: a token and its label in each line, and ``-DOCSTART-`` before each document."""

from ...datasets.columns import DOCUMENT
from .documents import Documents, documents_of
from .records import note_probabilities
from .sequences import documents_of_rows, note_blanks, sentences_of
from .source import Source
from .target import Target


def fits(source: Source) -> bool:
    """Say that it is text, in columns."""
    return True


def read(source: Source) -> Documents:
    """Read the words and the labels."""
    return documents_of(documents_of_rows(source.rows, source.name), source.name, None)


def write(documents: Documents, target: Target) -> str:
    """Write words and labels; the spaces between words are lost."""
    note_probabilities(documents.spans, target.losses)
    written: list[tuple[str, int]] = []
    for i, sentences in sentences_of(documents, target):
        note_blanks(i, sentences, target)
        if not sentences and documents.texts[i]:
            target.losses.add("the format holds no spaces", f"document {i}")
        if i == 0 and sentences and sentences[0].tokens[0].startswith("\ufeff"):
            raise ValueError("document 0: the format cannot begin with a byte order mark")
        rows = [
            "".join(f"{a}\t{b}\n" for a, b in zip(one.tokens, one.labels, strict=True))
            for one in sentences
        ]
        written.append(("\n".join(rows), len(rows)))
    groups = documents.groups
    if groups is None and all(n == 1 for _, n in written):
        return "\n".join(text for text, _ in written)
    names = [""] * len(written) if groups is None else [f" ({group})" for group in groups]
    marked = zip(names, written, strict=True)
    return "\n".join(f"{DOCUMENT}{name}\tO\n\n{text}" for name, (text, _) in marked)
