"""The application behind the page that labels pasted text, and its JSON interface."""

from collections.abc import Callable, Sequence
from typing import Any

from . import _starlette  # noqa: F401, says first if a package is missing

# isort: split
import numpy as np
from starlette.applications import Starlette

from .._version import __version__
from ..annotation.marks import best_marks, marks_for
from ..annotation.pool import split_words
from ..base.unwrap import unwrap
from ..notebook.explanation import explain
from .files import pages
from .json_api import BadRequest, answering, get_text, post
from .openapi import description

__all__ = ["tagging_app"]

MAX_SENTENCES, MAX_TOKENS, MAX_CHARACTERS = 1000, 20_000, 200_000
N_LABELLINGS, N_LIKELIEST, N_CONTRIBUTIONS = 5, 6, 8


def tagging_app(estimator: Any) -> Starlette:
    """An ASGI application that labels text with a fitted estimator.

    ``POST /tag`` labels sentences; ``POST /explain`` says why; ``GET /health`` and
    ``GET /openapi.json`` describe it; ``GET /`` is a page for people. Put a :class:`Guard` around
    it, as :func:`serve` does, unless you have one of your own.

    Parameters
    ----------
    estimator : fitted sequence classifier, or a pipeline or search that ends in one
        It must take lists of strings.

    Returns
    -------
    Starlette

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.web import tagging_app
    >>> app = tagging_app(EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]]))
    >>> app.url_path_for("tag")
    '/tag'
    """
    classifier = unwrap(estimator)[0]
    classes = classifier.classes_.tolist()
    labels_of, marks = _labeller(estimator), marks_for(map(str, classes))

    def tag(content: dict[str, Any]) -> dict[str, Any]:
        sentences = _sentences(content)
        labelled = zip(sentences, labels_of(sentences), strict=True)
        found = [{"tokens": tokens, "labels": labels} for tokens, labels in labelled]
        if content.get("details"):
            for one in found:
                one.update(_details(estimator, one["tokens"], classes, marks))
        return {"sentences": found}

    def explained(content: dict[str, Any]) -> dict[str, Any]:
        sentences = _sentences(content)
        if len(sentences) != 1 or not sentences[0]:
            raise BadRequest("one sentence can be explained at a time")
        labels, against = (_labels(content, name) for name in ("labels", "against"))
        found = explain(estimator, sentences[0], labels, against=against)
        return {
            "tokens": found.tokens,
            "labels": found.labels,
            "score": found.score,
            "log_probability": found.log_probability,
            "contributions": _contributions(found),
        }

    def health() -> dict[str, Any]:
        return {
            "status": "ok",
            "version": __version__,
            "estimator": type(classifier).__name__,
            "labels": classes,
            "kind": marks.kind,
            "names": marks.names,
        }

    return Starlette(
        routes=[
            *pages("tag.html", "tag.js", "common.js", "style.css"),
            answering("/health", health),
            answering("/openapi.json", lambda: description(classes)),
            post("/tag", tag),
            post("/explain", explained),
        ]
    )


def _labeller(estimator: Any) -> Callable[[Sequence[list[str]]], list[list]]:
    """Labels of sentences: by a tagger, where there is one."""
    try:
        tagger = estimator.tagger()
    except (AttributeError, ValueError):
        return lambda sentences: [list(labels) for labels in estimator.predict(list(sentences))]
    return lambda sentences: [tagger(tokens) for tokens in sentences]


def _sentences(content: dict[str, Any]) -> list[list[str]]:
    """The sentences of a request: of its text, or as they are given."""
    given = [name for name in ("text", "tokens", "sentences") if name in content]
    if len(given) != 1:
        raise BadRequest("the content must have one of 'text', 'tokens' and 'sentences'")
    if given == ["text"]:
        lines = get_text(content, "text", MAX_CHARACTERS).splitlines()
        sentences = [tokens for tokens in map(split_words, lines) if tokens]
    else:
        value = content[given[0]]
        sentences = [value] if given == ["tokens"] else value
    if not isinstance(sentences, list) or not all(map(_are_tokens, sentences)):
        raise BadRequest(f"{given[0]!r} must be made of lists of strings")
    if len(sentences) > MAX_SENTENCES or sum(map(len, sentences)) > MAX_TOKENS:
        raise BadRequest(f"there may be at most {MAX_SENTENCES} sentences, {MAX_TOKENS} tokens")
    return sentences


def _are_tokens(sentence: Any) -> bool:
    return isinstance(sentence, list) and all(isinstance(token, str) for token in sentence)


def _labels(content: dict[str, Any], name: str) -> list[str] | None:
    value = content.get(name)
    if value is not None and not _are_tokens(value):
        raise BadRequest(f"{name!r} must be a list of strings")
    return value


def _details(estimator: Any, tokens: list[str], classes: list, marks: Any) -> dict[str, Any]:
    """What the page shows besides the labels."""
    if not tokens:
        return {"labellings": [], "likeliest": []}
    classifier, X = unwrap(estimator, [tokens])
    (paths,) = classifier.predict_k_best(X, k=2 * N_LABELLINGS)
    spelled = [([*map(str, labels)], share) for labels, share in paths]
    rows = np.asarray(classifier.predict_proba(X)[0])
    first = np.argsort(-rows, axis=1, kind="stable")[:, :N_LIKELIEST]
    return {
        "labellings": best_marks(marks, spelled)[:N_LABELLINGS],
        "likeliest": [
            [(classes[j], round(float(row[j]), 4)) for j in ids]
            for row, ids in zip(rows, first, strict=True)
        ],
    }


def _contributions(explanation: Any) -> list[list[dict[str, Any]]]:
    """The largest contributions to the score of each token."""
    entries, found = explanation.contributions, []
    for t in range(len(explanation.tokens)):
        own = entries.take(np.flatnonzero(entries.position == t))
        own = own.take(np.argsort(-np.abs(own.value), kind="stable")[:N_CONTRIBUTIONS])
        pairs = zip(own.name, own.value.tolist(), strict=True)
        found.append([{"name": str(name), "value": value} for name, value in pairs])
    return found
