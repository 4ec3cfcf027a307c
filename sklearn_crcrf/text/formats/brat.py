"""Standoff files of brat: FILE.txt with the text, and FILE.ann with its spans."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ...utils.lines import lines_of
from ..spans import Span
from .documents import Document, Documents, Found, Losses, documents_of
from .records import note_probabilities
from .source import Source
from .target import Target

TEXT, MARKS = ".txt", ".ann"
_KIND = re.compile(r"[^\s;]+")


def fits(source: Source) -> bool:
    """Say whether it is one of a pair of files, or a folder of such."""
    path = source.path
    if path is None:
        return False
    if path.is_dir():
        return next(path.rglob(f"*{MARKS}"), None) is not None
    return path.suffix == MARKS or path.with_suffix(MARKS).exists()


def read(source: Source) -> Documents:
    """Read a pair of files, or all pairs of a folder and its folders."""
    path, losses = source.path, Losses(source.name)
    if path is None:
        raise ValueError(f"{source.name}: brat has two files for each document: name one of them")
    files = sorted(path.rglob(f"*{MARKS}")) if path.is_dir() else [path.with_suffix(MARKS)]
    if not files:
        raise ValueError(f"{path}: there are no files *{MARKS} in this folder")
    root = path if path.is_dir() else path.parent
    found = [_document(source, file, root, losses) for file in files]
    losses.warn()
    return documents_of(found, source.name, source.offsets)


def _document(source: Source, file: Path, root: Path, losses: Losses) -> Document:
    if not file.with_suffix(TEXT).exists():
        raise ValueError(
            f"{file}: its text is missing; brat keeps it in {file.stem}{TEXT} beside it"
        )
    text = source.beside(file.with_suffix(TEXT)).text
    lines = enumerate(lines_of(source.beside(file).text), start=1)
    where = file.relative_to(root).as_posix()
    found = [
        one
        for number, line in lines
        if line
        for one in _marks(text, line, f"{where}, line {number}", losses)
    ]
    return Document(text, found, where.removesuffix(MARKS), where)


def _marks(text: str, line: str, where: str, losses: Losses) -> Iterator[Found]:
    """Read the spans of a line."""
    name, _, rest = line.partition("\t")
    if not name.startswith("T"):
        kinds = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes"}
        more = {"N": "normalisations", "#": "notes", "*": "equivalences"}
        losses.add(f"not read are {(kinds | more).get(name[:1], 'lines')}", where)
        return
    described, _, covered = rest.partition("\t")
    label, _, places = described.partition(" ")
    try:
        pairs = [(int(a), int(b)) for a, b in (it.split() for it in places.split(";"))]
    except ValueError:
        raise ValueError(
            f"{where}: expected a label and its offsets, got {described!r:.80}"
        ) from None
    joined = [pairs[0]]
    for start, end in pairs[1:]:
        if text[joined[-1][1] : start].strip():
            joined.append((start, end))
        else:
            joined[-1] = joined[-1][0], end
    if len(joined) > 1:
        losses.add(f"{name} has a gap; its parts are read as spans of their own", where)
        covered = ""
    for start, end in joined:
        yield Found(start, end, label, None, covered or None)


def write(documents: Documents, target: Target) -> dict[str, str]:
    """Write two files for each document."""
    note_probabilities(documents.spans, target.losses)
    files: dict[str, str] = {}
    groups = documents.groups or [f"{i:05d}" for i in range(len(documents.texts))]
    counts = Counter(groups)
    for i, (text, spans) in enumerate(zip(documents.texts, documents.spans, strict=True)):
        name = groups[i]
        if counts[name] > 1:
            name = f"{name}-{i}"
        parts = name.split("/")
        if {"", ".", ".."} & {*parts} or "\0" in name or f"{name}{TEXT}" in files:
            raise ValueError(f"document {i}: {name!r} cannot be the name of a file")
        lines = [f"T{n}\t{_described(text, s, i)}\n" for n, s in enumerate(spans, start=1)]
        files[f"{name}{TEXT}"], files[f"{name}{MARKS}"] = text, "".join(lines)
    return files


def _described(text: str, span: Span, document: int) -> str:
    """Write a span, in parts where it crosses the end of a line."""
    where = f"document {document}, characters {span.start} to {span.end}"
    if not _KIND.fullmatch(span.label):
        raise ValueError(f"{where}: in brat the label {span.label!r} cannot have spaces")
    lines = list(re.finditer(r"[^\r\n]+", text[span.start : span.end]))
    parts = [(span.start + m.start(), span.start + m.end()) for m in lines if m.group().strip()]
    if not parts or (parts[0][0], parts[-1][1]) != span[:2]:
        raise ValueError(f"{where}: in brat a span cannot begin or end with the end of a line")
    places = ";".join(f"{start} {end}" for start, end in parts)
    covered = " ".join(text[start:end] for start, end in parts)
    return f"{span.label} {places}\t{covered}"
