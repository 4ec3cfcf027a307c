"""JSON lines: a text, and its spans as objects; or a table that holds them in JSON."""

from .documents import Documents, documents_of
from .records import document_of, items_of, json_lines, objects_of
from .source import Source
from .target import Target


def fits(source: Source) -> bool:
    """Say whether there are records, of whatever tool."""
    return source.has_records


def read(source: Source) -> Documents:
    """Read documents that are JSON objects, or rows."""
    found = (document_of(record, where, source.name) for where, record in objects_of(source))
    return documents_of(found, source.name, source.offsets)


def write(documents: Documents, target: Target) -> str:
    """Write a line for each document."""
    lines = []
    for text, spans, named in items_of(documents):
        marked = [span._asdict() for span in spans]
        for mark, span in zip(marked, spans, strict=True):
            mark["text"] = text[span.start : span.end]
            if span.probability is None:
                del mark["probability"]
        lines.append({**named, "text": text, "spans": marked})
    return json_lines(lines)
