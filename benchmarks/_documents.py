"""Compare our tokens with those of spaCy, and measure how long the spans of a text take."""

import argparse
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from _common import cpu_seconds, yes_or_no
from corpora import CORPORA

from sklearn_crcrf import EmpiricalCRF, TextTagger
from sklearn_crcrf.text import Span, find_tokens, labels_to_spans

LANGUAGES = {
    "Dutch names": "nl",
    "German names": "de",
    "chunks": "en",
    "English tags": "en",
    "German tags": "de",
    "Greek tags": "el",
}
NAMES = "Dutch names", "German names"
# Sentences of a made-up document, and the words and bytes of what is timed.
LINES, WORDS, LARGE = 20, 200, 1_000_000
MOST_SECONDS, MOST_MILLISECONDS, N_REQUESTS = 1.5, 2.0, 500

# No space is written before the ones, and after the others.
CLOSING = re.compile(r"[,.;:!?)\]}%]|'s|'m|'d|'ll|'re|'ve|n't|''", re.IGNORECASE)
OPENING = re.compile(r"[(\[{$]|``")

Document = tuple[str, np.ndarray]


def written(tokens: list[str], end: str = "\n") -> Document:
    """Write a sentence as people do, and find the places of its tokens."""
    text, places = "", []
    for i, token in enumerate(tokens):
        if i and not CLOSING.fullmatch(token) and not OPENING.fullmatch(tokens[i - 1]):
            text += " "
        places.append((len(text), len(text) + len(token)))
        text += token
    return text + end, np.array(places).reshape(-1, 2)


def tokens(args: argparse.Namespace) -> None:
    """How many tokens of a corpus are found in its text."""
    columns = ["corpus", "tokens found, %", "by spaCy, %", "ends of names, %", "by spaCy, %"]
    args.report.table("Tokens", [*columns, "MB/s", "of spaCy"], _tokens(args))


def _tokens(args: argparse.Namespace) -> Iterator[list[str]]:
    for name, language in LANGUAGES.items():
        (X, y), _ = CORPORA[name].load(args)
        sentences = [[*map(_word, x)] for x in X]
        documents = [*map(written, sentences)]
        found = [_measured(documents, y, name, find_tokens), ["", "", ""]]
        if blank := _spacy(language):
            found[1] = _measured(documents, y, name, blank)
        yield [name, *(figure for both in zip(*found, strict=True) for figure in both)]


def _measured(
    documents: list[Document], y: list, name: str, find: Callable[[str], np.ndarray]
) -> list[str]:
    """Per cent of the tokens and of the ends of names that are found, and megabytes per second."""
    seconds, found = cpu_seconds(lambda: [find(text) for text, _ in documents])
    same = ends = n_tokens = n_ends = 0
    for (text, places), own, labels in zip(documents, found, y, strict=True):
        known = {*map(tuple, own.tolist())}
        same += sum(place in known for place in map(tuple, places.tolist()))
        n_tokens += len(places)
        if name in NAMES:
            spans = labels_to_spans(text, labels, places)
            starts, stops = ({*column} for column in own.T.tolist())
            ends += sum((s.start in starts) + (s.end in stops) for s in spans)
            n_ends += 2 * len(spans)
    share = f"{100 * ends / n_ends:.2f}" if n_ends else ""
    size = sum(len(text.encode()) for text, _ in documents)
    return [f"{100 * same / n_tokens:.2f}", share, f"{size / seconds / 1e6:.1f}"]


def _spacy(language: str) -> Callable[[str], np.ndarray] | None:
    """The blank tokeniser of spaCy, if it is installed."""
    try:
        import spacy
    except ImportError:
        return None
    tokenizer = spacy.blank(language).tokenizer

    def find(text: str) -> np.ndarray:
        places = [(t.idx, t.idx + len(t)) for t in tokenizer(text) if not t.is_space]
        return np.array(places).reshape(-1, 2)

    return find


def spans(args: argparse.Namespace) -> None:
    """Spans of characters in text, and the time of a text."""
    columns = ["corpus", "F1", "overlapping", "CPU s of training", "redacting 1 MB, CPU s", "met"]
    args.report.table(
        "Spans", [*columns, "200 words, ms", "with probabilities, ms", "met"], _spans(args)
    )


def _spans(args: argparse.Namespace) -> Iterator[list[str]]:
    for name in NAMES:
        train, test = ([*_documents(*part)] for part in CORPORA[name].load(args))
        model = TextTagger(EmpiricalCRF())
        seconds, _ = cpu_seconds(partial(model.fit, *zip(*train, strict=True)))
        texts, gold = map(list, zip(*test, strict=True))
        scores = (f"{100 * model.score(texts, gold, match):.2f}" for match in ("exact", "overlap"))
        whole = "".join(texts)
        large = (whole * (LARGE // len(whole) + 1)).encode()[:LARGE].decode(errors="ignore")
        of_large, _ = cpu_seconds(partial(model.redact, large), runs=3)
        few = " ".join(whole.split(" ")[:WORDS])
        times = [_milliseconds(model.tagger(), few), _milliseconds(model.predict, [few])]
        yield [
            *(name, *scores, f"{seconds:.1f}"),
            *(f"{of_large:.2f}", yes_or_no(of_large <= MOST_SECONDS)),
            *(f"{ms:.2f}" for ms in times),
            yes_or_no(max(times) <= MOST_MILLISECONDS),
        ]


def _milliseconds(function: Callable, argument: Any) -> float:
    """Median time of a call."""
    marks = [perf_counter()]
    for _ in range(N_REQUESTS):
        function(argument)
        marks.append(perf_counter())
    return 1000 * median(stop - start for start, stop in pairwise(marks))


def _documents(X: list, y: list) -> Iterator[tuple[str, list[Span]]]:
    """Join sentences to documents of some lines."""
    for first in range(0, len(X), LINES):
        text, found = "", []
        for x, labels in zip(X[first : first + LINES], y[first : first + LINES], strict=True):
            line, places = written([*map(_word, x)])
            found += labels_to_spans(text + line, labels, places + len(text))
            text += line
        yield text, found


def _word(token: Any) -> str:
    return token if isinstance(token, str) else next(iter(token.values()))
