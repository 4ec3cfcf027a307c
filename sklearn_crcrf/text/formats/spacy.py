"""Training data of spaCy: pairs of a text and its entities, or a DocBin."""

from collections.abc import Iterator
from typing import Any

from .documents import Document, Documents, Found, Losses, documents_of
from .records import found_of, json_array, list_of, note_probabilities
from .source import Source
from .target import Target

BINARY = ".spacy"


def fits(source: Source) -> bool:
    """Say whether it is a DocBin, or begins with a pair."""
    if source.suffix == BINARY:
        return True
    if not source.is_json or not source.records:
        return False
    first = source.records[0][1]
    return _is_pair(first) or (isinstance(first, dict) and "classes" in first)


def read(source: Source) -> Documents:
    """Read pairs, a list of pairs under "annotations", or a DocBin."""
    found = _of_binary(source) if source.suffix == BINARY else _of_pairs(source)
    return documents_of(found, source.name, source.offsets)


def _of_pairs(source: Source) -> Iterator[Document]:
    losses = Losses(source.name)
    for where, record in source.records:
        pairs = [record]
        if isinstance(record, dict) and "annotations" in record:
            pairs = [pair for pair in list_of(record["annotations"]) if pair is not None]
        for i, pair in enumerate(pairs):
            place = where if pairs == [record] else f"document {i}"
            if not _is_pair(pair):
                raise ValueError(
                    f"{source.name}, {place}: expected a text and its entities, got {pair!r:.80}"
                )
            text, annotations = pair
            others = sorted(annotations.keys() - {"entities"})
            if others:
                losses.add(f"not read are {', '.join(others)}", place)
            try:
                found = [found_of(mark) for mark in list_of(annotations.get("entities"))]
            except ValueError as error:
                raise ValueError(f"{source.name}, {place}: {error}") from error
            yield Document(text, found, None, place)
    losses.warn()


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], dict)
    )


def _of_binary(source: Source) -> Iterator[Document]:
    spacy, DocBin = _spacy()
    docs = DocBin().from_bytes(source.data).get_docs(spacy.blank("xx").vocab)
    for i, doc in enumerate(docs):
        found = [Found(e.start_char, e.end_char, e.label_) for e in doc.ents]
        yield Document(doc.text, found, None, f"document {i}")


def write(documents: Documents, target: Target) -> str | bytes:
    """Write pairs, or a DocBin."""
    note_probabilities(documents.spans, target.losses)
    if documents.groups is not None:
        target.losses.add("the format names no documents", f"document {documents.groups[0]!r}")
    if target.suffix == BINARY:
        return _binary(documents)
    both = zip(documents.texts, documents.spans, strict=True)
    return json_array([text, {"entities": [list(s[:3]) for s in spans]}] for text, spans in both)


def _binary(documents: Documents) -> bytes:
    spacy, DocBin = _spacy()
    nlp, docs = spacy.blank("xx"), DocBin()
    for i, (text, spans) in enumerate(zip(documents.texts, documents.spans, strict=True)):
        doc = nlp.make_doc(text)
        if doc.text != text:
            raise ValueError(f"document {i}: spaCy changes the text")
        entities = []
        for span in spans:
            entity = doc.char_span(*span[:3])
            if entity is None:
                raise ValueError(
                    f"document {i}, characters {span.start} to {span.end}: the span does not begin "
                    "and end with tokens of spaCy; write JSON"
                )
            entities.append(entity)
        try:
            doc.set_ents(entities)
        except ValueError as error:
            raise ValueError(f"document {i}: spans overlap, which spaCy cannot hold") from error
        docs.add(doc)
    return docs.to_bytes()


def _spacy() -> Any:
    """Import spaCy, whose own format needs it."""
    try:
        import spacy
        from spacy.tokens import DocBin
    except ImportError as error:
        raise ImportError("files that end in .spacy need spaCy: pip install spacy") from error
    return spacy, DocBin
