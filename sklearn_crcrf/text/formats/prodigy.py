"""JSON lines of Prodigy."""

from .documents import Document, Documents, Losses, documents_of
from .records import document_of, items_of, json_lines, note_probabilities, objects_of
from .source import Source
from .target import Target

KEYS = {"answer", "_input_hash", "_task_hash"}
ACCEPTED = "accept"


def fits(source: Source) -> bool:
    """Say whether the first object has keys of Prodigy."""
    if not source.is_json or not source.records:
        return False
    record = source.records[0][1]
    return isinstance(record, dict) and "text" in record and bool(KEYS & record.keys())


def read(source: Source) -> Documents:
    """Read what was accepted."""
    losses, found = Losses(source.name), list[Document]()
    for where, record in objects_of(source):
        if record.get("_is_binary"):
            raise ValueError(
                f"{source.name}, {where}: the answer is about one span only, and says nothing of "
                "other words; annotate with ner.manual or ner.correct"
            )
        if record.get("answer", ACCEPTED) != ACCEPTED:
            losses.add(f"left out, as the answer is {record['answer']!r}", where)
            continue
        tokens_are_objects = {k: v for k, v in record.items() if k != "tokens"}
        found.append(document_of(tokens_are_objects, where, source.name))
    losses.warn()
    return documents_of(found, source.name, source.offsets)


def write(documents: Documents, target: Target) -> str:
    """Write a line for each document."""
    note_probabilities(documents.spans, target.losses)
    lines = []
    for text, spans, named in items_of(documents):
        marks = [{"start": s.start, "end": s.end, "label": s.label} for s in spans]
        lines.append({"text": text, "spans": marks, "answer": ACCEPTED, **named})
    return json_lines(lines)
