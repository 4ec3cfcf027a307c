"""Extreme sizes: many tokens, labels, attributes, sequences.

Each input is one of these cases. Its seconds and its memory are reported.
"""

import resource
import time
import warnings
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
from _answers import check_probabilities
from _campaign import Campaign, Outcome, Wrong, show
from scipy import sparse

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    EmpiricalCRF,
    MaxMarginCRF,
    SequenceArray,
    StructuredPerceptron,
    TokenFeatures,
    Window,
)

HOUR = 3600.0
Data = tuple[Any, SequenceArray]


def words(n_sequences: int, length: int, n_words: int, n_labels: int) -> Data:
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


def numbers(n_sequences: int, length: int, n_columns: int, n_labels: int) -> Data:
    """As :func:`words`, but a token is a row of numbers."""
    rng = np.random.default_rng(0)
    _, y = words(n_sequences, length, n_labels, n_labels)
    return SequenceArray(rng.random((n_sequences * length, n_columns)), y.offsets), y


def columns(n_sequences: int, length: int, n_columns: int, n_labels: int) -> Data:
    """As :func:`words`, but each word is a column of a sparse matrix."""
    X, y = words(n_sequences, length, n_columns, n_labels)
    places = np.array([int(word[1:]) for word in X.data])
    ones, n_tokens = np.ones(len(places)), len(places)
    rows = sparse.csr_array((ones, places, np.arange(n_tokens + 1)), (n_tokens, n_columns))
    return SequenceArray(rows, X.offsets), y


def fit_and_ask(estimator: Any, make: Callable[[], Data]) -> None:
    """Fit to all data, and predict all data."""
    X, y = make()
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


def long_word(estimator: Any, length: int) -> None:
    """A word as long as a book."""
    X = [["a", "x" * length, "b"], ["x" * (length - 1) + "y"]]
    if hasattr(estimator, "predict"):
        fit_and_ask(estimator, lambda: (SequenceArray.from_sequences(X), _labels(X)))
    else:
        estimator.fit_transform(X)


def empty_sequences(estimator: Any, number: int) -> None:
    """Almost all sequences have no token."""
    X = SequenceArray.from_sequences([["a", "b"], *[[]] * number, ["b"]])
    fit_and_ask(estimator, lambda: (X, _labels(X)))


def many_attributes(estimator: Any, number: int) -> None:
    """A token has a great many attributes."""
    X = [[{f"a{i}": f"{i % 3}" for i in range(number)}, {"a1": "2"}], [{"a2": "1"}]]
    estimator.fit(X, [["A", "B"], ["B"]])
    check_probabilities(np.vstack(estimator.predict_proba(X)), "predict_proba")


def many_paths(estimator: Any, k: int) -> None:
    """Many paths of long sequences."""
    X, y = words(20, 100, 500, 20)
    for paths in estimator.fit(X, y).predict_k_best(X[:2], k):
        values = np.array([probability for _, probability in paths])
        if len(paths) != k or (np.diff(values) > 0).any() or values.sum() > 1 + 1e-9:
            raise Wrong("predict_k_best is not in order")


def _labels(X: Any) -> SequenceArray:
    return SequenceArray.from_sequences([["A", "B", "A"][: len(x)] for x in X])


def cases(scale: float = 1.0) -> dict[str, Callable[[], None]]:
    """All cases, by name; ``scale`` makes them smaller."""
    million, thousands = int(10**6 * scale), max(int(3000 * scale), 3)
    found: dict[str, Callable[[], None]] = {}

    def add(of: str, make: Callable[[], Data], *estimators: Any) -> None:
        for estimator in estimators:
            found[f"{type(estimator).__name__}, {of}"] = partial(fit_and_ask, estimator, make)

    counted = HMM(), EmpiricalCRF()
    add(
        "10^6 tokens x 50 labels",
        partial(words, million // 25, 25, 20_000, 50),
        *counted,
        CRF(max_iter=3),
        MEMM(max_iter=2),
        StructuredPerceptron(max_iter=1),
        MaxMarginCRF(max_iter=1),
    )
    add(
        "10^6 tokens x 20 numbers x 50 labels",
        partial(numbers, million // 25, 25, 20, 50),
        CRF(max_iter=2, dtype=np.float32),
        BoostedCRF(max_iter=1),
    )
    add(
        "3,000 labels",
        partial(words, max(thousands // 10, 1), 10, thousands, thousands),
        *counted,
        CRF(max_iter=2),
        MEMM(max_iter=1),
        StructuredPerceptron(max_iter=1),
        MaxMarginCRF(max_iter=1),
    )
    observed = CRF(features="observed", max_iter=2)
    sequences = partial(words, million // 25, 50, 2 * million, 2)
    add("2 * 10^6 words", sequences, *counted, observed, StructuredPerceptron(max_iter=1))
    add("2 * 10^6 columns", partial(columns, million // 25, 50, 2 * million, 2), *counted, observed)
    add("10^6 sequences", partial(words, million, 1, 1000, 10), *counted, CRF(max_iter=2))
    add(
        "a sequence of 10^6 tokens", partial(words, 1, million, 1000, 50), *counted, CRF(max_iter=2)
    )
    for estimator in (*counted, CRF(max_iter=2), TokenFeatures(), Window([(-1, 0)])):
        name = f"{type(estimator).__name__}, a word of 10^6 characters"
        found[name] = partial(long_word, estimator, million)
    found["CRF, 10^5 empty sequences"] = partial(empty_sequences, CRF(max_iter=2), million // 10)
    for estimator in (*counted, CRF(max_iter=2)):
        name = f"{type(estimator).__name__}, 10^5 attributes"
        found[name] = partial(many_attributes, estimator, million // 10)
    found["CRF, 10^4 paths"] = partial(many_paths, CRF(max_iter=2), max(million // 100, 2))
    return found


CASES = cases()


def extreme(rng: Random, number: int) -> Outcome:
    """One of the cases."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    name = list(CASES)[number % len(CASES)]
    show(name)
    start = time.perf_counter()
    CASES[name]()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Outcome(name, {f"{name}: seconds": seconds, f"{name}: GiB": peak})


CAMPAIGNS = [Campaign("extremes", extreme, allowed=(), n=len(CASES), limit=HOUR)]
