"""JSON lines of doccano, whose offsets count UTF-16."""

from .documents import Document, Documents, Losses, documents_of, units_of
from .records import document_of, items_of, json_lines, note_probabilities, objects_of
from .source import Source
from .target import Target

KEYS = {"Comments", "relations", "cats", "annotations"}


def fits(source: Source) -> bool:
    """Say whether the first object has labels as doccano writes them."""
    if not source.is_json or not source.records:
        return False
    record = source.records[0][1]
    if not isinstance(record, dict) or "spans" in record or "tokens" in record:
        return False
    marks = [record[key] for key in ("label", "labels", "entities") if key in record]
    first = marks[0][0] if marks and isinstance(marks[0], list) and marks[0] else None
    is_object = isinstance(first, dict) and "start_offset" in first
    return is_object or isinstance(first, list) or (marks != [] and bool(KEYS & record.keys()))


def read(source: Source) -> Documents:
    """Read documents, without their relations."""
    losses, found = Losses(source.name), list[Document]()
    for where, record in objects_of(source):
        if record.get("relations"):
            losses.add("relations are not read", where)
        found.append(document_of(record, where, source.name))
    losses.warn()
    return documents_of(found, source.name, source.offsets, "utf-16")


def write(documents: Documents, target: Target) -> str:
    """Write a line for each document."""
    note_probabilities(documents.spans, target.losses)
    lines = []
    for text, spans, named in items_of(documents):
        places = units_of(text, "utf-16").tolist()
        marks = [[places[span.start], places[span.end], span.label] for span in spans]
        lines.append({**named, "text": text, "label": marks, "Comments": []})
    return json_lines(lines)
