"""Checks of every answer of a fitted estimator."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np
from _campaign import Wrong, show

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.sequences import is_table
from sklearn_crcrf.structures import Unsupported

TOLERANCE = 1e-4  # scores may be of single precision


def check_answers(rng: Random, estimator: Any, X: Any, **options: Any) -> None:
    """Ask for labels, probabilities and one more answer, and check them.

    Parameters
    ----------
    rng : Random
        Chooses the third question.
    estimator : fitted estimator
        A sequence classifier, or a pipeline that ends in one.
    X : input
        Input in any layout.
    **options
        Options of ``predict``.

    Raises
    ------
    Wrong
        If an answer has NaN, impossible probabilities, unknown labels, or another layout than X.
    """
    show("labels", labels := estimator.predict(X, **options))
    _check_labels(estimator, X, labels, "predict")
    others = [name for name in METHODS if hasattr(estimator, name) and name != "predict_spans"]
    for name in dict.fromkeys(["predict_proba", rng.choice(others)] if others else []):
        if name in others:
            check_answer(rng, estimator, X, name)


def answered(estimator: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """An answer of an estimator; a string if its structure or inference has none."""
    try:
        return getattr(estimator, method)(*arguments, **options)
    except Unsupported as error:
        return str(error)


def check_answer(rng: Random, estimator: Any, X: Any, method: str) -> None:
    """Ask one question besides ``predict``, and check the answer, if there is one.

    Raises
    ------
    Wrong
        If the answer is nonsense.
    """
    options = {name: make(rng) for name, make in OPTIONS.get(method, {}).items()}
    answer = answered(estimator, method, X, **options)
    show(method, options, answer)
    if not isinstance(answer, str):
        METHODS[method](estimator, X, answer, f"{method} of {_name(estimator)}")


def check_probabilities(rows: np.ndarray, what: str) -> None:
    """Check rows of probabilities, each of which must sum to one."""
    rows = np.asarray(rows, dtype=float)
    _check_finite(rows, what)
    if rows.size and (rows.min() < 0 or abs(rows.sum(axis=-1) - 1).max() > TOLERANCE):
        raise Wrong(f"{what} does not sum to one", rows)


def _name(estimator: Any) -> str:
    steps = getattr(estimator, "steps", None)
    return type(steps[-1][1] if steps else estimator).__name__


def _lengths(X: Any) -> list[int]:
    """The number of tokens of each sequence; a table is one sequence."""
    if is_table(X):
        return [X.shape[0] if hasattr(X, "shape") else len(X)]
    return [x.shape[0] if hasattr(x, "shape") else len(x) for x in X]


def _parts(X: Any, answer: Any) -> list[Any]:
    """The answer for each sequence; for a table, the answer for all rows."""
    return [answer] if is_table(X) else list(answer)


def _flat(answer: Any) -> np.ndarray:
    """Rows of numbers of all tokens."""
    if isinstance(answer, SequenceArray):
        return np.asarray(answer.data, dtype=float)
    if isinstance(answer, np.ndarray) and answer.dtype != object:
        return answer
    return np.vstack(answer) if len(answer) else np.zeros((0, 1))


def _check_labels(estimator: Any, X: Any, labels: Any, what: str) -> None:
    what = f"{what} of {_name(estimator)}"
    found = [len(part) for part in _parts(X, labels)]
    if found != _lengths(X):
        raise Wrong(f"{what} has other lengths than X", f"{_lengths(X)} and {found}")
    classes = list(estimator.classes_)
    for part in _parts(X, labels):
        _check_known(part, classes, what)


def _check_known(labels: Iterable[Any], classes: list, what: str) -> None:
    for label in labels:
        if not any(label is known or label == known for known in classes):
            raise Wrong(f"{what} has an unknown label", repr(label))


def _check_finite(values: np.ndarray, what: str) -> None:
    if not np.isfinite(values).all():
        raise Wrong(f"{what} is not finite", values)


def _check_proba(estimator: Any, X: Any, answer: Any, what: str) -> None:
    rows = _flat(answer)
    if len(rows) != sum(_lengths(X)):
        raise Wrong(f"{what} has other lengths than X", f"{sum(_lengths(X))} and {len(rows)}")
    check_probabilities(rows, what)


def _check_log_proba(estimator: Any, X: Any, answer: Any, what: str) -> None:
    rows = np.asarray(_flat(answer), dtype=float)
    if np.isnan(rows).any() or (rows > TOLERANCE).any():
        raise Wrong(f"{what} is no logarithm of a probability", rows)


def _check_confidence(estimator: Any, X: Any, answer: Any, what: str) -> None:
    _check_finite(answer, what)
    if ((answer < 0) | (answer > 1 + TOLERANCE)).any():
        raise Wrong(f"{what} is no probability", answer)


def _check_entropy(estimator: Any, X: Any, answer: Any, what: str) -> None:
    undefined = estimator.confidence(X) == 0 if np.isnan(answer).any() else None
    if undefined is not None and not undefined[np.isnan(answer)].all():
        raise Wrong(f"{what} is NaN", answer)
    if (answer < -TOLERANCE).any() or np.isposinf(answer).any():
        raise Wrong(f"{what} is negative or infinite", answer)


def _check_k_best(estimator: Any, X: Any, answer: Any, what: str) -> None:
    classes = list(estimator.classes_)
    for paths in answer:
        values = np.array([probability for _, probability in paths])
        _check_confidence(estimator, X, values, what)
        if (np.diff(values) > TOLERANCE).any() or values.sum() > 1 + TOLERANCE:
            raise Wrong(f"{what} has probabilities that cannot be", values)
        for labels, _ in paths:
            _check_known(labels, classes, what)


def _check_spans(estimator: Any, X: Any, answer: Any, what: str) -> None:
    for spans in answer:
        _check_confidence(estimator, X, np.array([span[3] for span in spans]), what)


def _check_samples(estimator: Any, X: Any, answer: Any, what: str) -> None:
    for labels in answer:
        _check_labels(estimator, X, labels, "sample")


def _check_pairs(estimator: Any, X: Any, answer: Any, what: str) -> None:
    found, expected = [len(tables) for tables in answer], [max(n - 1, 0) for n in _lengths(X)]
    if found != expected and not is_table(X):
        raise Wrong(f"{what} has other lengths than X", f"{expected} and {found}")
    for tables in answer:
        _, n, m = tables.shape
        check_probabilities(tables.reshape(-1, n * m), what)


def _check_nothing(estimator: Any, X: Any, answer: Any, what: str) -> None:
    """Accept any answer."""


METHODS: dict[str, Callable[[Any, Any, Any, str], None]] = {
    "predict_proba": _check_proba,
    "predict_log_proba": _check_log_proba,
    "predict_k_best": _check_k_best,
    "confidence": _check_confidence,
    "entropy": _check_entropy,
    "predict_spans": _check_spans,
    "sample": _check_samples,
    "predict_pair_proba": _check_pairs,
    "predict_marginals": _check_nothing,
    "predict_set": _check_nothing,
}
OPTIONS: dict[str, dict[str, Callable[[Random], Any]]] = {
    "predict_k_best": {"k": lambda rng: rng.choice([1, 2, 5, 100, 10**4])},
    "sample": {"n_samples": lambda rng: rng.choice([1, 3])},
}
