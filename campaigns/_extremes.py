"""Extreme sizes: many tokens, labels, words, sequences.

Each input is one of these cases. Its seconds and its memory are reported.
"""

import resource
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
from _answers import check_probabilities
from _campaign import Campaign, Outcome, Wrong, show

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    EmpiricalCRF,
    MaxMarginCRF,
    SequenceArray,
    StructuredPerceptron,
)

HOUR = 3600.0
Data = tuple[SequenceArray, SequenceArray]


def words(
    n_sequences: int, length: int, n_words: int, n_labels: int
) -> tuple[SequenceArray, SequenceArray]:
    """Random words, most of which have one label; every word and every label occurs."""
    rng = np.random.default_rng(0)
    n_tokens = n_sequences * length
    word = rng.integers(n_words, size=n_tokens)
    word[: min(n_words, n_tokens)] = np.arange(min(n_words, n_tokens))
    label = np.where(rng.random(n_tokens) < 0.9, word % n_labels, rng.integers(n_labels))
    offsets = np.arange(n_sequences + 1) * length
    names = np.array([f"w{i}" for i in range(n_words)], dtype=object)
    labels = np.array([f"L{i}" for i in range(n_labels)])
    return SequenceArray(names[word], offsets), SequenceArray(labels[label], offsets)


def fit_and_ask(estimator: Any, sizes: tuple[int, ...]) -> None:
    """Fit to all data, and predict all data."""
    X, y = words(*sizes)
    estimator.fit(X, y)
    labels = estimator.predict(X)
    if not np.array_equal(labels.lengths, y.lengths):
        raise Wrong("predict gives other lengths")
    if not set(np.unique(labels.data)) <= set(estimator.classes_.tolist()):
        raise Wrong("predict gives unknown labels")
    if hasattr(estimator, "predict_proba"):
        check_probabilities(estimator.predict_proba(X).data, "predict_proba")
        confidence = estimator.confidence(X)
        if not ((confidence >= 0) & (confidence <= 1)).all():
            raise Wrong("confidence is no probability")


def cases(scale: float = 1.0) -> dict[str, Callable[[], None]]:
    """All cases, by name; ``scale`` makes them smaller."""
    million, thousands = int(10**6 * scale), max(int(3000 * scale), 3)
    counted, crf = (HMM(), EmpiricalCRF()), CRF(max_iter=2)
    observed, perceptron = CRF(features="observed", max_iter=2), StructuredPerceptron(max_iter=1)
    of: dict[str, tuple[tuple[int, ...], tuple]] = {
        "10^6 tokens x 50 labels": (
            (million // 25, 25, 20_000, 50),
            (*counted, crf, MEMM(max_iter=2), perceptron, MaxMarginCRF(max_iter=1)),
        ),
        "3,000 labels": (
            (max(thousands // 10, 1), 10, thousands, thousands),
            (*counted, crf, MEMM(max_iter=1), perceptron, MaxMarginCRF(max_iter=1)),
        ),
        "2 * 10^6 words": ((million // 25, 50, 2 * million, 2), (*counted, observed, perceptron)),
        "10^6 sequences": ((million, 1, 1000, 10), (*counted, crf)),
        "a sequence of 10^6 tokens": ((1, million, 1000, 50), (*counted, crf)),
    }
    return {
        f"{type(estimator).__name__}, {name}": partial(fit_and_ask, estimator, sizes)
        for name, (sizes, estimators) in of.items()
        for estimator in estimators
    }


CASES = cases()


def extreme(rng: Random, number: int) -> Outcome:
    """One of the cases."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    name = list(CASES)[number % len(CASES)]
    show(name)
    start = time.perf_counter()
    CASES[name]()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Outcome(name, {f"{name}: seconds": seconds, f"{name}: GiB": peak})


CAMPAIGNS = [Campaign("extremes", extreme, allowed=(), n=len(CASES), limit=HOUR)]
