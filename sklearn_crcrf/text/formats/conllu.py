"""CoNLL-U: ten columns, names in MISC as ``NER=B-PER``, and all spaces of the text."""

import re
from collections.abc import Iterator

from ...datasets.columns import CONLLU, Reading
from ...labels.segments.schemes import scheme_of
from ...utils.lines import lines_of
from ..spans import labels_to_spans
from .documents import Document, Documents, Found, Losses, documents_of
from .records import note_probabilities
from .sequences import sentences_of
from .source import Source
from .target import Target

NEW = re.compile(r"#\s*newdoc(?:\s+id\s*=\s*(.*))?$")
LABELS = ("NER", "ner", "Entity")
ESCAPES = {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
ESCAPED = re.compile(r"\\[strnp\\]")
CHARACTERS = {escape: character for character, escape in ESCAPES.items()}
ID = re.compile(r"\d+(?:[-.]\d+)?\t")
RANGE = re.compile(r"(\d+)-(\d+)$")


def fits(source: Source) -> bool:
    """Say whether there are the ten columns of CoNLL-U."""
    rows = source.rows
    if rows.tokens and rows.width == len(CONLLU) and ID.match(rows.tokens[0]):
        return True
    lines = lines_of(source.text)
    return NEW.match(lines[0]) is not None and all(line[:1] in ("", "#") for line in lines)


def read(source: Source) -> Documents:
    """Read the text of each document, or else of each sentence, and the names in it."""
    rows = Reading("\t", ["#"]).rows(lines_of(source.text))
    try:
        rows.check_width(len(CONLLU))
        for i, token in enumerate(rows.tokens):
            if not ID.match(token):
                raise ValueError(f"line {rows.number(i)} has no id: {token[:80]!r}")
    except ValueError as error:
        raise ValueError(f"{source.name}: {error}") from error
    losses, found = Losses(source.name), list[Document]()
    try:
        found.extend(_documents(source.text))
    except ValueError as error:
        raise ValueError(f"{source.name}, document {len(found)}: {error}") from error
    if any(document.text for document in found) and not re.search("NER=|ner=|Entity=", source.text):
        losses.add("there are no names in MISC, such as NER=B-PER", found[0].where)
    losses.warn()
    return documents_of(found, source.name, None)


def _documents(text: str) -> Iterator[Document]:
    """Yield documents, each a list of sentences until the next ``# newdoc``."""
    lines = lines_of(text)
    has_marks = any(NEW.match(line) for line in lines)
    name, sentences, sentence = None, list[list[list[str]]](), list[list[str]]()
    n = 0
    for line in [*lines, ""]:
        mark = NEW.match(line)
        if sentence and (not line or mark):
            sentences.append(sentence)
            sentence = []
            if not has_marks:
                yield _document(sentences, None, f"sentence {n}")
                sentences, n = [], n + 1
        if mark:
            if n or sentences:
                yield _document(sentences, name, f"document {n - 1}")
            name, sentences, n = mark[1] or None, [], n + 1
        elif line and not line.startswith("#"):
            sentence.append(line.split("\t"))
    if has_marks:
        yield _document(sentences, name, f"document {n - 1}")


def _document(sentences: list[list[list[str]]], name: str | None, where: str) -> Document:
    pieces, offsets, labels, length = [], list[tuple[int, int]](), list[str](), 0
    for number, sentence in enumerate(sentences, start=1):
        last_of_range = 0
        surface = []
        for row in sentence:
            span = RANGE.match(row[0])
            if span:
                last_of_range = int(span[2])
                surface.append((row, next((one for one in sentence if one[0] == span[1]), row)))
            elif "." not in row[0] and int(row[0]) > last_of_range:
                surface.append((row, row))
        for k, (row, word) in enumerate(surface, start=1):
            misc = _misc(row)
            is_last = k == len(surface)
            after = " " if not is_last else "\n" if number < len(sentences) else ""
            after = "" if misc.get("SpaceAfter") == "No" else _plain(misc.get("SpacesAfter"), after)
            before = _plain(misc.get("SpacesBefore"), "")
            pieces += [before, row[1], after]
            start = length + len(before)
            offsets.append((start, start + len(row[1])))
            length = start + len(row[1]) + len(after)
            named = _misc(word)
            labels.append(next((named[key] for key in LABELS if key in named), "O"))
    text = "".join(pieces)
    spans = labels_to_spans(text, labels, offsets, scheme_of(labels))
    return Document(text, [Found(*span) for span in spans], name, where)


def _misc(row: list[str]) -> dict[str, str]:
    """Return what MISC says."""
    return dict(item.partition("=")[::2] for item in row[-1].split("|"))


def _plain(text: str | None, default: str) -> str:
    """Return spaces without escapes."""
    return default if text is None else ESCAPED.sub(lambda found: CHARACTERS[found[0]], text)


def write(documents: Documents, target: Target) -> str:
    """Write all words, with the spaces between them."""
    note_probabilities(documents.spans, target.losses)
    lines: list[str] = []
    for i, sentences in sentences_of(documents, target, r"[\s|]"):
        if not sentences and documents.texts[i]:
            raise ValueError(f"document {i}: the format cannot hold a text of spaces only")
        group = "" if documents.groups is None else f" id = {documents.groups[i]}"
        lines.append(f"# newdoc{group}")
        for number, one in enumerate(sentences, start=1):
            for k, (token, label) in enumerate(zip(one.tokens, one.labels, strict=True)):
                misc = [f"NER={label}"]
                if number == 1 and k == 0 and one.gaps[0]:
                    misc.append(f"SpacesBefore={_escaped(one.gaps[0])}")
                is_last, after = k == len(one.tokens) - 1, one.gaps[k + 1]
                usual = " " if not is_last else "\n" if number < len(sentences) else ""
                if not after and usual:
                    misc.append("SpaceAfter=No")
                elif after != usual:
                    misc.append(f"SpacesAfter={_escaped(after)}")
                lines.append("\t".join([str(k + 1), token, *"_" * 7, "|".join(misc)]))
            lines.append("")
        if not sentences:
            lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _escaped(spaces: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in spaces)
