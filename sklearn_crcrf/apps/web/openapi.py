"""The description of the JSON interface, in the format OpenAPI 3.1."""

from typing import Any

from ..._version import __version__

__all__ = ["description"]

STRINGS = {"type": "array", "items": {"type": "string"}}
SENTENCES = {"type": "array", "items": STRINGS}
INPUT = {
    "text": {"type": "string", "description": "a sentence in each line, split into words"},
    "tokens": {**STRINGS, "description": "one sentence"},
    "sentences": {**SENTENCES, "description": "several sentences"},
}


def description(labels: list) -> dict[str, Any]:
    """The description of an application that gives these labels.

    Parameters
    ----------
    labels : list

    Returns
    -------
    dict
        What JSON has.
    """
    given = {"type": "array", "items": {"enum": labels}}
    tagged = _object(
        {
            "tokens": STRINGS,
            "labels": given,
            "labellings": {"type": "array", "description": "the best, if 'details' are asked for"},
            "likeliest": {"type": "array", "description": "labels of each token, probabilities"},
        }
    )
    explained = _object(
        {
            "tokens": STRINGS,
            "labels": given,
            "score": {"type": "number"},
            "log_probability": {"type": "number"},
            "contributions": {"type": "array", "description": "of each token, the largest first"},
        }
    )
    tag = {**INPUT, "details": {"type": "boolean"}}
    explain = {**INPUT, "labels": given, "against": given}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Labels of sentences", "version": __version__},
        "paths": {
            "/tag": _post("Label sentences", tag, _object({"sentences": _list(tagged)})),
            "/explain": _post("Say why a sentence has its labels", explain, explained),
            "/health": {"get": {"summary": "Whether it runs", "responses": _ok(_object({}))}},
        },
    }


def _post(summary: str, properties: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    body = {"required": True, "content": _json(_object(properties))}
    error = {"description": "refused", "content": _json(_object({"error": {"type": "string"}}))}
    responses = {**_ok(answer), "400": error, "413": error, "503": error}
    return {"post": {"summary": summary, "requestBody": body, "responses": responses}}


def _ok(answer: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": "done", "content": _json(answer)}}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
