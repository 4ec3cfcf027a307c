"""Every metric, and functions that read segments: with valid, nearly valid and invalid labels."""

import inspect
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
from _campaign import Campaign, Wrong, show
from _samples import ATOMS, LABELS, STRANGE_LABELS, Sample, as_series, weights

from sklearn_crcrf import SequenceArray, labels, metrics

SCHEMES = ["IOB1", "IOB2", "IOBES", "IOB2", "nonsense", None]


def measure(rng: Random, number: int) -> str:
    """Call a function with arguments for all its parameters, and look for NaN."""
    function = rng.choice(FUNCTIONS)
    lengths = [rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.choice([0, 1, 2, 3, 8]))]
    given = _arguments(rng, function, lengths)
    show(function.__name__, given)
    result = function(**given)
    show("result", result)
    if given.get("zero_division") is None or given["zero_division"] == given["zero_division"]:
        _check(function.__name__, result)
    return f"{function.__name__}: measured"


def _arguments(rng: Random, function: Callable, lengths: list[int]) -> dict[str, Any]:
    """All required arguments, and some optional ones."""
    pool = rng.choice(LABELS if rng.random() < 0.85 else STRANGE_LABELS)
    given = {}
    for name, parameter in inspect.signature(function).parameters.items():
        needed = parameter.default is inspect.Parameter.empty
        if name in ARGUMENTS and (needed or rng.random() < 0.3):
            given[name] = ARGUMENTS[name](rng, lengths, pool)
    return given


def _labels(rng: Random, lengths: list[int], pool: list) -> Any:
    if rng.random() < 0.05:
        lengths = [max(0, n + rng.choice([-1, 0, 1])) for n in lengths]
    y = [rng.choices(pool, k=n) for n in lengths]
    if rng.random() < 0.2:
        y = [label for sequence in y for label in sequence]
    if rng.random() < 0.05:
        return rng.choice([None, 5, "abc", [None], np.zeros((2, 2)), {}, ATOMS])
    if rng.random() < 0.15:
        try:
            return rng.choice([np.array, as_series, SequenceArray.from_sequences])(y)
        except (ValueError, TypeError):
            return y
    return y


def _probabilities(rng: Random, lengths: list[int], pool: list) -> Any:
    generator = np.random.default_rng(rng.getrandbits(32))
    rows = [generator.dirichlet(np.ones(len(pool)), size=n) for n in lengths]
    kind = rng.random()
    if kind < 0.1 and rows:
        rows[0] = rows[0] * rng.choice([0.0, -1.0, 2.0, np.nan, np.inf])
    return np.vstack(rows) if kind > 0.8 and rows else rows


def _known(rng: Random, lengths: list[int], pool: list) -> Any:
    flags = [[rng.random() < 0.5 for _ in range(n)] for n in lengths]
    flat = [flag for sequence in flags for flag in sequence]
    return rng.choice([flags, flags, flags, flat, [], None, [["a"] * n for n in lengths]])


def _weights(rng: Random, lengths: list[int], pool: list) -> Any:
    return weights(rng, Sample("labels", None, lengths or [0]))


def _segments(rng: Random, lengths: list[int], pool: list) -> Any:
    n = rng.randrange(4)
    places = [rng.choice([0, 1, 2, 3, -1, 10**6]) for _ in range(4 * n)]
    start, end, sequence = (np.array(places[k * n : (k + 1) * n]) for k in range(3))
    kinds = np.array(rng.choices(["X", "Y", ""], k=n), dtype=object)
    return labels.Segments(sequence, start, end, kinds)


def _one_of(*values: Any) -> Callable[[Random, list[int], list], Any]:
    return lambda rng, lengths, pool: rng.choice(values)


def _check(name: str, result: Any) -> None:
    """Check that no number in a result is NaN."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        for part in result:
            _check(name, part)
    elif isinstance(result, float | np.floating | np.ndarray):
        values = np.asarray(result)
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise Wrong(f"{name} is NaN", result)


ARGUMENTS: dict[str, Callable[[Random, list[int], list], Any]] = {
    "y": _labels,
    "y_true": _labels,
    "y_pred": _labels,
    "y_proba": _probabilities,
    "known": _known,
    "classes": lambda rng, lengths, pool: rng.choice([pool, pool, pool, pool[:1], [], None]),
    "labels": lambda rng, lengths, pool: rng.choice([None, pool, pool[:1], ["nonsense"], [], 5]),
    "sample_weight": _weights,
    "zero_division": _one_of("warn", 0, 1, 0.5, float("nan"), "nonsense"),
    "scheme": _one_of(*SCHEMES),
    "source": _one_of(*SCHEMES),
    "target": _one_of(*SCHEMES),
    "reading": _one_of("conlleval", "strict", "nonsense"),
    "average": _one_of("weighted", "micro", "macro", None, "nonsense"),
    "normalize": _one_of("true", "pred", "all", None, "nonsense"),
    "match": _one_of("exact", "overlap", "nonsense"),
    "digits": _one_of(0, 2, 10, -1, "a"),
    "output_dict": _one_of(True, False),
    "segments": _segments,
    "lengths": lambda rng, lengths, pool: rng.choice([lengths, lengths, [], [-1], None, [0.5]]),
}


def _functions() -> Iterator[Callable]:
    """All public functions that take or make labels."""
    for name in metrics.__all__:
        function = getattr(metrics, name)
        if inspect.isfunction(function) and "y_true" in inspect.signature(function).parameters:
            yield function
    yield from (labels.to_segments, labels.segments_to_labels, labels.convert_scheme)


FUNCTIONS = list(_functions())
CAMPAIGNS = [
    Campaign("metrics", measure, allowed=(), allowed_if_raised=(ValueError, TypeError), batch=200)
]
