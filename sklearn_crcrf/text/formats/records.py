"""Documents that are JSON objects, with a text, and spans that are objects or lists."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...labels.segments.schemes import detect_scheme
from ..spans import Span, labels_to_spans
from .documents import Document, Documents, Found, Losses
from .source import SPANS, TEXTS, Source

GROUPS = ("document", "doc_id", "document_id", "group", "id")
LABELS = ("labels", "tags", "ner_tags")
STARTS, ENDS = ("start", "start_offset", "begin"), ("end", "end_offset", "stop")
KINDS = ("label", "type", "entity", "entity_group", "labels")
COVERED = ("text", "value", "word")
PROBABILITIES = ("probability", "score")


def objects_of(source: Source) -> Iterable[tuple[str, dict]]:
    """Yield the JSON objects of a file, each with its place."""
    for where, record in source.records:
        if not isinstance(record, dict):
            raise ValueError(f"{source.name}, {where}: expected a JSON object, got {record!r:.80}")
        yield where, record


def document_of(record: dict, where: str, name: str) -> Document:
    """Read a document: its text and spans, or its tokens and their labels.

    Raises
    ------
    ValueError
        If there is no text, or what a span is cannot be told; the message names the document.
    """
    key = first_key(record, TEXTS)
    text = record.get(key or "")
    try:
        if "tokens" in record and (labels := first_key(record, LABELS)) is not None:
            text, found = _of_tokens(text, record, record[labels])
            return Document(text, found, group_of(record), where)
        if not isinstance(text, str):
            raise ValueError(f"there is no text, but {', '.join(map(repr, record))}")
        spans = list_of(record.get(first_key(record, SPANS) or ""))
        return Document(text, [found_of(span) for span in spans], group_of(record), where)
    except ValueError as error:
        raise ValueError(f"{name}, {where}: {error}") from error


def first_key(record: dict, names: Sequence[str]) -> str | None:
    """Return the first of some keys that an object has."""
    return next((name for name in names if name in record), None)


def list_of(value: Any) -> list:
    """Return a list, for null an empty one; ValueError if it is something else."""
    if not isinstance(value, list | None):
        raise ValueError(f"expected a list, got {value!r:.80}")
    return value or []


def group_of(record: dict) -> str | None:
    """Return the document that a text is from, as text."""
    key = first_key(record, GROUPS)
    value = None if key is None else record[key]
    return str(value) if isinstance(value, str | int) else None


def found_of(span: Any) -> Found:
    """Read a span that is an object, or a list of its start, end and label."""
    if isinstance(span, dict):
        start, end, kind = (first_key(span, names) for names in (STARTS, ENDS, KINDS))
        if start is not None and end is not None and kind is not None:
            covered = span.get(first_key(span, COVERED) or "")
            label = span[kind]
            return Found(
                span[start],
                span[end],
                label[0] if isinstance(label, list) and len(label) == 1 else label,
                span.get(first_key(span, PROBABILITIES) or ""),
                covered if isinstance(covered, str) else None,
            )
    elif isinstance(span, list | tuple) and 3 <= len(span) <= 4:
        return Found(*span[:3])
    raise ValueError(f"a span must have a start, an end and a label, got {span!r:.80}")


def _of_tokens(text: Any, record: dict, labels: Any) -> tuple[str, list[Found]]:
    """Read tokens and their labels, which may say where tokens are followed by a space."""
    tokens = record["tokens"]
    if not (_are_strings(tokens) and _are_strings(labels) and len(tokens) == len(labels)):
        raise ValueError("tokens and labels must be lists of as many strings")
    if not isinstance(text, str):
        spaces = record.get("trailing_whitespace", [True] * len(tokens))
        if not isinstance(spaces, list) or len(spaces) != len(tokens):
            raise ValueError("trailing_whitespace must be a list of as many values as tokens")
        text = "".join(t + " " * bool(b) for t, b in zip(tokens, spaces, strict=True))
        text = text if "trailing_whitespace" in record else text[:-1]
    pieces = [(token, label) for token, label in zip(tokens, labels, strict=True) if token.strip()]
    scheme = detect_scheme(labels) or ("IO" if {*labels} - {"O"} else "IOB2")
    spans = labels_to_spans(text, [b for _, b in pieces], [a for a, _ in pieces], scheme)
    return text, [Found(*span) for span in spans]


def _are_strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def items_of(documents: Documents) -> Iterator[tuple[str, list[Span], dict[str, str]]]:
    """Yield each text, its spans, and the key and the name of its document, if it has one."""
    for i, (text, spans) in enumerate(zip(documents.texts, documents.spans, strict=True)):
        yield text, spans, {} if documents.groups is None else {"document": documents.groups[i]}


def json_lines(records: Iterable[Any]) -> str:
    """Write JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def json_array(records: Iterable[Any]) -> str:
    """Write a JSON array with an item in each line."""
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def note_probabilities(spans: Sequence[Sequence[Span]], losses: Losses) -> None:
    """Note which spans have a probability, in a format that holds none."""
    for i, of_text in enumerate(spans):
        for span in of_text:
            if span.probability is not None:
                where = f"document {i}, characters {span.start} to {span.end}"
                losses.add("the format holds no probabilities", where)
