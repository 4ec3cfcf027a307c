"""JSON of Label Studio: tasks with annotations or predictions, or JSON-MIN."""

from collections.abc import Iterable
from typing import Any

from ..spans import Span
from .documents import Document, Documents, Found, Losses, documents_of
from .records import TEXTS, first_key, group_of, items_of, json_array, list_of, objects_of
from .source import Source
from .target import Target

RESULTS = ("annotations", "completions", "predictions")


def fits(source: Source) -> bool:
    """Say whether the first object is a task, or of JSON-MIN."""
    if not source.is_json or not source.records:
        return False
    record = source.records[0][1]
    return isinstance(record, dict) and (isinstance(record.get("data"), dict) or _is_min(record))


def _is_min(record: dict) -> bool:
    """Say whether an object has regions beside the data of the task."""
    return "annotator" in record or "annotation_id" in record or _min_regions(record) != []


def _min_regions(record: dict) -> list:
    """Return the regions of JSON-MIN."""
    lists = [value for value in record.values() if isinstance(value, list)]
    return [
        region
        for values in lists
        for region in values
        if isinstance(region, dict) and isinstance(region.get("labels"), list)
    ]


def read(source: Source) -> Documents:
    """Read tasks; if nobody has annotated any, the predictions of a model."""
    losses, found = Losses(source.name), list[Document]()
    tasks = list(objects_of(source))
    are_annotated = any(task.get(key) for _, task in tasks for key in RESULTS[:2])
    are_predicted = not are_annotated and any(task.get("predictions") for _, task in tasks)
    for where, task in tasks:
        data = task.get("data")
        if not isinstance(data, dict):  # JSON-MIN
            regions = [{"value": region, "type": "labels"} for region in _min_regions(task)]
            data = task
        else:
            try:
                results = _results(task, are_predicted, where, losses)
            except ValueError as error:
                raise ValueError(f"{source.name}, {where}: {error}") from error
            if results is None:
                losses.add("left out, as nobody has annotated it", where)
                continue
            regions = results
        text = _text(data, where, source.name)
        spans = [one for region in regions for one in _found(region, where, losses)]
        found.append(Document(text, spans, group_of(data) or group_of(task), where))
    losses.warn()
    return documents_of(found, source.name, source.offsets)


def _results(task: dict, are_predicted: bool, where: str, losses: Losses) -> list | None:
    """Return the regions that one annotator has marked, or None."""
    if are_predicted:
        losses.add("these are predictions of a model, not annotations", where)
    key = "predictions" if are_predicted else first_key(task, RESULTS[:2])
    made = list_of(task.get(key or ""))
    if not all(isinstance(one, dict) for one in made):
        raise ValueError(f"{key} must be objects, got {made!r:.80}")
    made = [one for one in made if not one.get("was_cancelled")]
    made = [one for one in made if one.get("ground_truth")] or made
    if len(made) > 1 and any(one.get("result") != made[-1].get("result") for one in made):
        losses.add("of several annotations the last is read", where)
    return list_of(made[-1].get("result")) if made else None


def _text(data: dict, where: str, name: str) -> str:
    """Return the text of a task."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    key = first_key(texts, TEXTS) or (next(iter(texts)) if len(texts) == 1 else None)
    if key is None:
        raise ValueError(
            f"{name}, {where}: the text is not under 'text', and the data are "
            f"{', '.join(map(repr, data)) or 'empty'}"
        )
    return texts[key]


def _found(region: Any, where: str, losses: Losses) -> list[Found]:
    """Read a region, which may have several labels."""
    value = region.get("value") if isinstance(region, dict) else None
    if not isinstance(value, dict) or not isinstance(value.get("labels"), list):
        kind = region.get("type") if isinstance(region, dict) else region
        losses.add(f"not read are results of the type {kind!r}", where)
        return []
    covered, score = value.get("text"), region.get("score")
    covered = covered if isinstance(covered, str) else None
    return [
        Found(value.get("start"), value.get("end"), label, score, covered)
        for label in value["labels"]
    ]


def write(documents: Documents, target: Target) -> str:
    """Write tasks: spans with probabilities as predictions, and others as annotations."""
    tasks = []
    for text, spans, named in items_of(documents):
        results = regions_of(text, spans)
        tasks.append((results, {"data": {"text": text, **named}}))
    are_predicted = any("score" in one for results, _ in tasks for one in results)
    kind = "predictions" if are_predicted else "annotations"
    return json_array({**task, kind: [{"result": results}]} for results, task in tasks)


def regions_of(
    text: str, spans: Iterable[Span], from_name: str = "label", to_name: str = "text"
) -> list[dict]:
    """Write spans as regions, which the tags of these names hold and show."""
    return [
        {
            "id": str(i),
            "from_name": from_name,
            "to_name": to_name,
            "type": "labels",
            "value": {
                "start": span.start,
                "end": span.end,
                "text": text[span.start : span.end],
                "labels": [span.label],
            },
            **({} if span.probability is None else {"score": span.probability}),
        }
        for i, span in enumerate(spans)
    ]


def spans_of(text: str, regions: Iterable, where: str) -> list[Span]:
    """Read the spans of regions; errors and warnings say where they are.

    Raises
    ------
    ValueError
        If a span does not fit the text.
    """
    losses = Losses("Label Studio")
    found = [one for region in regions for one in _found(region, where, losses)]
    losses.warn()
    return documents_of([Document(text, found, None, where)], losses.name, None).spans[0]
