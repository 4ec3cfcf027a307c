"""The application behind the page that labels pasted text, and its JSON interface."""

import json
import operator
from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from starlette.applications import Starlette

from ..._version import __version__
from ...base.unwrap import unwrap
from ...display.colours import hues_of
from ...display.notebook.explanation import explain
from ...labels.segments.schemes import scheme_or_bare
from ...text import TextTagger
from ...text.reading import TokenizedTexts
from ...text.redaction import REPLACE, redacted
from ..annotation.marks import marks_for, proposals
from .files import FOLDER, pages
from .json_api import BadRequest, TooMuch, check_keys, constant, dumps, get_text, post_steps
from .work import MAX_COST, MAX_SENTENCE_COST, Reserve, Work, in_slices

GIVEN = ("text", "tokens", "sentences")
MAX_SENTENCES, MAX_TOKENS, MAX_CHARACTERS = 1000, 20_000, 200_000
N_CONTRIBUTIONS, MAX_REPLACE = 8, 100
Columns = Sequence[str] | None
Steps = Generator[str, None, None]


def tagging_app(
    estimator: Any, subject_to: Any = None, columns: Columns = None, tokenizer: str | None = None
) -> Starlette:
    """Make an ASGI application that labels text with a fitted estimator.

    ``POST /tag`` labels sentences; ``POST /redact`` replaces the spans of a text; ``POST /explain``
    says why; ``GET /health`` and ``GET /openapi.json`` describe it; ``GET /`` is a page for people.
    What a conformal classifier promises is in the answers. Put a :class:`Guard` around it, as
    :func:`serve` does, unless you have one of your own.

    Parameters
    ----------
    estimator : fitted sequence classifier, or a pipeline or search that ends in one, or TextTagger
        It must take lists of strings. Text is cut into tokens and sentences as by the TextTagger;
        else each line is a sentence, of words as :func:`~sklearn_crcrf.text.find_tokens` finds
        them.
    subject_to : list of constraints, optional
        What the labels of ``POST /tag`` satisfy, as in ``predict``; other answers do not depend on
        it.
    columns : list of str, optional
        The columns of tokens, if they have several. A token is then an object with a string for
        each, and no text is taken.
    tokenizer : {"words", "characters"}, optional
        How text is cut into tokens; by default as the TextTagger does, or else into words.

    Returns
    -------
    Starlette

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.apps.web import tagging_app
    >>> app = tagging_app(EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]]))
    >>> app.url_path_for("tag")
    '/tag'
    """
    tagger = _text_tagger(estimator, tokenizer)
    estimator = tagger.estimator_
    classifier = unwrap(estimator)[0]
    promise = {"promise": classifier.promise_} if hasattr(classifier, "promise_") else {}
    classes, spans_of = classifier.classes_.tolist(), tagger.tagger()
    labels_of, marks, work = _labeller(estimator, subject_to), marks_for(map(str, classes)), Work()

    def tag(content: dict[str, Any], reserve: Reserve) -> Steps:
        check_keys(content, *GIVEN, "details")
        sentences = _sentences(content, tagger, columns)
        has_details = bool(content.get("details"))
        per_token = len(classes) + 5.0 if has_details else len(classes) / 10.0
        reserve(sum(costs := _costs(sentences, per_token)))
        between = '{"sentences":['
        for part in in_slices(costs):
            X = [*map(list, sentences[part])]
            both = zip(X, labels_of(X), strict=True)
            found = [{"tokens": tokens, "labels": labels} for tokens, labels in both]
            if has_details:
                _add_details(estimator, found, marks)
            yield between + ",".join(map(dumps, found))
            between = ","
        end = "".join(f',"{name}":{dumps(value)}' for name, value in promise.items())
        yield ("" if sentences else between) + f"]{end}}}"

    def redact(content: dict[str, Any], reserve: Reserve) -> Steps:
        check_keys(content, "text", "replace")
        _refuse_text(columns)
        text = get_text(content, "text", MAX_CHARACTERS)
        replace = get_text({"replace": REPLACE, **content}, "replace", MAX_REPLACE)
        read = TokenizedTexts.of([text], tagger.tokenizer, tagger.sentences)
        _check_sizes(sentences := read.tokens())
        reserve(sum(_costs(sentences, len(classes) + 5.0)))
        spans = spans_of.find(read)
        yield dumps({"text": redacted(text, spans, replace), "spans": spans, **promise})

    def explained(content: dict[str, Any], reserve: Reserve) -> Steps:
        check_keys(content, *GIVEN, "labels", "against")
        sentences = _sentences(content, tagger, columns)
        if len(sentences) != 1 or not sentences[0]:
            raise BadRequest("one sentence can be explained at a time")
        labels, against = (_labels(content, name) for name in ("labels", "against"))
        reserve(*_costs(sentences, len(classes) + 50.0))
        found = explain(estimator, list(sentences[0]), labels, against=against)
        yield dumps(
            {
                "tokens": found.tokens,
                "labels": found.labels,
                "score": found.score,
                "log_probability": found.log_probability,
                "contributions": _contributions(found),
            }
        )

    api = json.loads((FOLDER / "openapi.json").read_text(encoding="ascii"))
    api["info"]["version"] = __version__
    api["components"]["schemas"]["Labels"]["items"]["enum"] = classes
    health = {
        "status": "ok",
        "version": __version__,
        "estimator": type(classifier).__name__,
        "labels": classes,
        "kind": marks.kind,
        "names": marks.names,
        "hues": hues_of(marks.names),
        "columns": columns and list(columns),
        **promise,
    }
    return Starlette(
        routes=[
            *pages("tag.html", "tag.js", "common.js", "style.css"),
            constant("/health", health),
            constant("/openapi.json", api),
            post_steps("/tag", tag, work),
            post_steps("/redact", redact, work),
            post_steps("/explain", explained, work),
        ]
    )


def _text_tagger(estimator: Any, tokenizer: str | None) -> TextTagger:
    """Return the estimator, or one that finds in text what it finds among tokens."""
    if isinstance(estimator, TextTagger):
        if tokenizer not in (None, estimator.tokenizer):
            raise ValueError(f"tokenizer must be that of the model, {estimator.tokenizer!r}")
        return estimator
    scheme = scheme_or_bare("auto", map(str, unwrap(estimator)[0].classes_.tolist()))
    tagger = TextTagger(FrozenEstimator(estimator), scheme=scheme, tokenizer=tokenizer or "words")
    return tagger.fit([], [])


def _labeller(
    estimator: Any, subject_to: Any = None
) -> Callable[[Sequence[list[str]]], list[list]]:
    """Label sentences by a tagger, where there is one."""
    try:
        tagger = estimator.tagger().subject_to(subject_to or ())
    except (AttributeError, ValueError):
        how = {} if subject_to is None else {"subject_to": subject_to}
        return lambda sentences: [*map(list, estimator.predict(list(sentences), **how))]
    return lambda sentences: [tagger(tokens) for tokens in sentences]


def _sentences(content: dict[str, Any], tagger: TextTagger, columns: Columns = None) -> list[tuple]:
    """Read the sentences of a request: of its text, or as they are given."""
    given = [name for name in GIVEN if name in content]
    if len(given) != 1:
        raise BadRequest("the content must have one of 'text', 'tokens' and 'sentences'")
    if given == ["text"]:
        _refuse_text(columns)
        text = get_text(content, "text", MAX_CHARACTERS).removeprefix("\ufeff")
        sentences = TokenizedTexts.of([text], tagger.tokenizer, tagger.sentences).tokens()
    else:
        value = content.pop(given[0])
        sentences = [value] if given == ["tokens"] else value
    if not isinstance(sentences, list) or not all(_are_tokens(s, columns) for s in sentences):
        raise BadRequest(f"{given[0]!r} must be made of lists of {_kind_of_tokens(columns)}")
    _check_sizes(sentences)
    return [*map(tuple, sentences)]  # unlike lists, they are not searched for garbage


def _refuse_text(columns: Columns) -> None:
    if columns is not None:
        raise BadRequest("the model needs columns: send 'tokens' or 'sentences', and no 'text'")


def _kind_of_tokens(columns: Columns) -> str:
    names = ", ".join(map(repr, columns or ()))
    return f"objects, each with the strings {names} and no more" if columns else "strings"


def _check_sizes(sentences: Sequence[Sequence]) -> None:
    """Raise BadRequest if there are more sentences, tokens or characters than may be."""
    strings = (t if isinstance(t, str) else "".join(t.values()) for s in sentences for t in s)
    n_characters = sum(map(len, strings))
    sizes = len(sentences), sum(map(len, sentences)), n_characters
    if any(map(operator.gt, sizes, (MAX_SENTENCES, MAX_TOKENS, MAX_CHARACTERS))):
        raise BadRequest(
            f"there may be at most {MAX_SENTENCES} sentences, {MAX_TOKENS} tokens and "
            f"{MAX_CHARACTERS} characters"
        )


def _are_tokens(sentence: Any, columns: Columns = None) -> bool:
    return isinstance(sentence, list) and all(_is_token(token, columns) for token in sentence)


def _is_token(token: Any, columns: Columns) -> bool:
    if columns is None or not isinstance(token, dict):
        return columns is None and isinstance(token, str)
    return token.keys() == set(columns) and _are_tokens([*token.values()])


def _labels(content: dict[str, Any], name: str) -> list[str] | None:
    value = content.get(name)
    if value is not None and not _are_tokens(value):
        raise BadRequest(f"{name!r} must be a list of strings")
    return value


def _costs(sentences: Sequence[Sequence[str]], per_token: float) -> list[float]:
    """Compute the cost of each sentence.

    Raises
    ------
    TooMuch
        If one or all cost more than a request may.
    """
    costs = [per_token * len(tokens) for tokens in sentences]
    if max(costs, default=0.0) > MAX_SENTENCE_COST or sum(costs) > MAX_COST:
        one, most = (int(cost / per_token) for cost in (MAX_SENTENCE_COST, MAX_COST))
        raise TooMuch(
            "too much to compute in one request: with this model it may have at most "
            f"{one} tokens in a sentence and {most} in all; send less at a time"
        )
    return costs


def _add_details(estimator: Any, found: list[dict[str, Any]], marks: Any) -> None:
    """Add what the page shows besides the labels."""
    for one in found:
        one.update({"labellings": [], "likeliest": []})
    if filled := [one for one in found if one["tokens"]]:
        classifier, X = unwrap(estimator, [one["tokens"] for one in filled])
        for one, proposal in zip(filled, proposals(classifier, X, marks), strict=True):
            one.update(proposal)


def _contributions(explanation: Any) -> list[list[dict[str, Any]]]:
    """Find the largest contributions to the score of each token."""
    entries = explanation.contributions
    order = np.lexsort((-np.abs(entries.value), entries.position))
    first = np.searchsorted(entries.position[order], np.arange(len(explanation.tokens) + 1))
    found = []
    for start, stop in pairwise(first.tolist()):
        own = order[start : min(stop, start + N_CONTRIBUTIONS)]
        pairs = zip(entries.name[own], entries.value[own].tolist(), strict=True)
        found.append([{"name": str(name), "value": value} for name, value in pairs])
    return found
