"""How often sets and spans hold what they promise."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _common import yes_or_no
from corpora import CORPORA, MODELS, kind_of
from exponents import Part
from sklearn.model_selection import LeaveOneGroupOut, RepeatedKFold

from sklearn_crcrf import ConformalSequenceClassifier, EmpiricalCRF
from sklearn_crcrf.base.unwrap import unwrap
from sklearn_crcrf.datasets import fetch_conll2002
from sklearn_crcrf.datasets.columns import DOCUMENT

TASKS = "Dutch names", "German names", "chunks", "Greek tags", "German tags"
NAMES = "Dutch names", "Dutch names, tags", "German names", "chunks", "chunks, tags"
LEVELS, RECALLS = (0.8, 0.9, 0.95), (0.95, 0.98, 0.99)
# Half of a test part calibrates, the other half is tested, and the other way round.
N_HALVINGS = 2
# Of the smallest sets: sentences of the test part, labellings that are looked at, and the level.
N_SIZED, MANY, SIZED_AT = 1000, 1000, 0.9
FITTED = 'EmpiricalCRF(exponents="fit")'
# How far below the promise the mean may be, and how large sets may be on average at which level.
SLACK, MOST, MOST_AT = 0.01, 2.0, 0.9

Conformal = ConformalSequenceClassifier


def labellings(args: argparse.Namespace) -> None:
    """Sets of whole labellings."""
    columns = ["corpus", "best labelling right, %", "promised, %", "held, %", "labellings in a set"]
    args.report.table("Whole labellings", [*columns, "met"], _labellings(args))


def _labellings(args: argparse.Namespace) -> Iterator[list[str]]:
    for name, model, (X, y) in _fitted(TASKS, args):
        right = np.mean([list(a) == b for a, b in zip(model.predict(X), y, strict=True)])
        for level in LEVELS:
            figures = _halved((X, y), Conformal(model, level), _held_and_size)
            shown, met = ["refused", ""], "refused"
            if figures is not None:
                held, size = figures
                met = yes_or_no(held >= level - SLACK and (level != MOST_AT or size <= MOST))
                shown = [f"{100 * held:.1f}", f"{size:.2f}"]
            yield [name, f"{100 * right:.1f}", f"{100 * level:g}", *shown, met]


def _held_and_size(model: Any, X: list, y: list) -> tuple[float, float]:
    sets = [[labels for labels, _ in found] for found in model.predict_set(X)]
    held = np.mean([gold in found for found, gold in zip(sets, y, strict=True)])
    return float(held), float(np.mean([len(found) for found in sets]))


def sizes(args: argparse.Namespace) -> None:
    """How small sets of whole labellings can be, whatever chooses them."""
    columns = ["corpus", "model", "best labelling right, %", f"right one of {MANY:,} best, %"]
    columns += [f"at {100 * SIZED_AT:g} %: by probability", "as many for each sentence"]
    args.report.table("The smallest sets of whole labellings", columns, _sizes(args))


def _sizes(args: argparse.Namespace) -> Iterator[list[str]]:
    for name in TASKS:
        train, (X, y) = CORPORA[name].load(args)
        chosen = np.random.default_rng(0).permutation(len(X))[:N_SIZED]
        X, y = [X[i] for i in chosen], [y[i] for i in chosen]
        for title in (FITTED, "CRF, sigma=1"):
            model = MODELS[title](kind_of(name)).fit(*train)
            ranks, probabilities = _ranks(model, X, y)
            by_probability, by_number = _smallest(ranks, probabilities)
            shares = ((ranks < n).mean() for n in (1, MANY))
            yield [
                name,
                title,
                *(f"{100 * share:.1f}" for share in shares),
                by_probability,
                by_number,
            ]


def _ranks(model: Any, X: list, y: list) -> tuple[np.ndarray, list[np.ndarray]]:
    """The place of each true labelling among the best, and the probabilities of these."""
    ranks, probabilities = [], []
    classifier, inner = unwrap(model, X)
    for found, gold in zip(classifier.predict_k_best(inner, k=MANY), y, strict=True):
        places = (i for i, (labels, _) in enumerate(found) if list(labels) == gold)
        ranks.append(next(places, MANY))
        probabilities.append(np.array([p for _, p in found]))
    return np.array(ranks), probabilities


def _smallest(ranks: np.ndarray, probabilities: list[np.ndarray]) -> Iterator[str]:
    """The mean size of sets that hold as many true labellings as are wanted.

    If probabilities are right, no sets are smaller than those of all labellings above one
    probability; without probabilities, all have the same size.
    """
    true = np.array([p[r] if r < MANY else 0.0 for r, p in zip(ranks, probabilities, strict=True)])
    least = np.sort(true)[::-1][int(np.ceil(SIZED_AT * len(true))) - 1]
    size = np.sort(ranks)[int(np.ceil(SIZED_AT * len(ranks))) - 1] + 1
    mean = np.mean([(p >= least).sum() for p in probabilities])
    yield from (f"{mean:.1f}", f"{size:,}") if least > 0 else (f"over {MANY:,}",) * 2


def recall(args: argparse.Namespace) -> None:
    """Tokens of names that are missed."""
    columns = ["corpus", "missed by best paths, %", "allowed, %", "missed, %", "others found, %"]
    args.report.table("Tokens of names", [*columns, "met"], _recall(args))


def _recall(args: argparse.Namespace) -> Iterator[list[str]]:
    for name, model, test in _fitted(NAMES, args):
        plain = _missed(_names_of(model.predict(test[0])), test[1])
        for level in RECALLS:
            figures = _halved(test, Conformal(model, level, "recall"), _missed_and_found)
            shown, met = ["refused", ""], "refused"
            if figures is not None:
                met = yes_or_no(figures[0] <= 1 - level + SLACK)
                shown = [f"{100 * share:.2f}" for share in figures]
            yield [name, f"{100 * plain:.2f}", f"{100 * (1 - level):.0f}", *shown, met]


def other_days(args: argparse.Namespace) -> None:
    """Calibrated with the training days, or with other days."""
    columns = ["calibrated with", "tested on", "allowed, %", "missed, %", "others found, %"]
    args.report.table("Dutch names of other days", columns, _other_days(args))


def _other_days(args: argparse.Namespace) -> Iterator[list[str]]:
    (X, y, articles), *tests = (_dutch(part, args) for part in ("train", "testa", "testb"))
    crf = EmpiricalCRF(exponents=EmpiricalCRF(exponents="fit").fit(X, y).exponents_)
    left_out = list(LeaveOneGroupOut().split(X, groups=articles))
    for level in RECALLS:
        models = {
            "training sentences, one left out": Conformal(crf, level, "recall", cv="left_out"),
            "training articles, one left out": Conformal(crf, level, "recall", cv=left_out),
            "testa": Conformal(crf, level, "recall"),
        }
        for title, model in models.items():
            model.fit(X, y)
            if title == "testa":
                model.conformalize(*tests[0][:2])
            for name, test in zip(("testa", "testb"), tests, strict=True):
                if name != title:
                    shares = _missed_and_found(model, *test[:2])
                    figures = (f"{100 * share:.2f}" for share in shares)
                    yield [title, name, f"{100 * (1 - level):.0f}", *figures]


def _dutch(part: str, args: argparse.Namespace) -> tuple[list, list, np.ndarray]:
    """Words, labels, and the number of the article of each sentence."""
    X, y = fetch_conll2002(part, return_X_y=True, download_if_missing=args.download)
    words = [[token["word"] for token in x] for x in X][: args.sentences]
    # A token of its own begins the first sentence of an article.
    first = [int(x[0] == DOCUMENT) for x in words]
    words, y = ([x[n:] for x, n in zip(part, first, strict=False)] for part in (words, y))
    return words, y, np.cumsum(first)


def _fitted(names: tuple[str, ...], args: argparse.Namespace) -> Iterator[tuple[str, Any, Part]]:
    for name in names:
        train, test = CORPORA[name].load(args)
        yield name, EmpiricalCRF(exponents="fit").fit(*train), test


def _halved(part: Part, model: Any, measure: Callable[..., tuple]) -> np.ndarray | None:
    """Measure a model on one half of a part, calibrated with the other one, on average.

    None if a half cannot keep the promise.
    """
    X, y = part

    def half(which: np.ndarray) -> Part:
        return [X[i] for i in which], [y[i] for i in which]

    halves = RepeatedKFold(n_splits=2, n_repeats=N_HALVINGS, random_state=0).split(X)
    try:
        found = [measure(model.conformalize(*half(one)), *half(other)) for one, other in halves]
    except ValueError as error:
        if "confidence_level" not in str(error):
            raise
        return None
    return np.mean(found, axis=0)


def _missed_and_found(model: Any, X: list, y: list) -> tuple[float, float]:
    """Mean share of tokens of names that are missed, and share of other tokens that are found."""
    found = model.predict_set(X)
    pairs = zip(found, y, strict=True)
    others = [f for own, gold in pairs for f, label in zip(own, gold, strict=True) if label == "O"]
    return _missed(found, y), float(np.mean(others))


def _missed(found: Any, y: list) -> float:
    """Mean, over sequences that have names, of the share of their tokens that is not found."""
    shares = []
    for own, gold in zip(found, y, strict=True):
        missed = [not is_found for is_found, label in zip(own, gold, strict=True) if label != "O"]
        if missed:
            shares.append(np.mean(missed))
    return float(np.mean(shares))


def _names_of(labels: Any) -> list[list[bool]]:
    return [[label != "O" for label in own] for own in labels]
