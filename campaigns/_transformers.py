"""Every transformer: fitted to random and hostile input, and applied to this and other input."""

import inspect
from itertools import chain
from random import Random
from typing import Any

import numpy as np
from _campaign import Campaign, Wrong, show
from _models import make, transformers
from _samples import ATOMS, Sample, sample
from _templates import mutated
from scipy import sparse

from sklearn_crcrf import SegmentedArray, SequenceArray

KINDS = ["words", "words", "words", "dicts", "dicts", "frame", "SequenceArray", "GraphArray", None]
# Values of parameters: what some parameter takes, and what nearly all refuse.
VALUES: list[Any] = [
    *(None, True, 0, 1, 2, -1, 1.5, 2**70, "", "\0", "é", "a=b", "the", "word", "nonsense", b"a"),
    *([], {}, (), [()], [None], [True], [1.5], ["the"], ["["], "[0]", ["nonsense[0]"], object),
    *([0], [-1, 1], [(0, 1)], [(0,) * 9], [10**9], [10**30], ["word[0]"], ["token[-1]|token[0]"]),
    *("default", "simple", "crf++", "wapiti", ["lower", "shape"], ["prefix0"], ["suffix99"]),
    *(["prefix99999999999"], ["simple:-x"], ["lower", "lower"], (1, 2), (0,), (-1,), (10**30,)),
    *({"the": "0101", "dog": ""}, {"the": 5}, {5: "01"}, {"a": "é\0"}, {"the": "0" * 5000}),
    *({"a": []}, {"a": ["the dog", ["a", "cat"], ""], "b": ["\0", "x" * 999]}, {"": ["the"]}),
    *((["dog"], [[1.0, 2.0]]), (["dog"], [[np.nan]]), (["dog", "dog"], [[1], [2]]), ([], [])),
    *((["dog"], [[1.0], [2.0]]), {"dog": [1.0], "the": [1.0, 2.0]}, {"dog": []}, {5: [1.0]}),
    *((["dog"], np.array([[1e300, -np.inf]])), (["dog"], np.ones((1, 3), dtype=np.float32))),
    *(np.float64, np.float32, np.int64, np.float16, "U3", [0.0, 0.0], [np.nan], "mean", 0.5),
]
# Parameters that are used as objects of any class that has some methods.
OBJECTS = {"cv", "estimator", "segments", "similarity", "tokens", "transformer"}


def transform(rng: Random, number: int) -> str:
    """Fit any transformer to any input, and transform this or another."""
    public = rng.choice(transformers())
    known = inspect.signature(public).parameters.keys() - OBJECTS
    names = [name for name in sorted(known) if rng.random() < 0.15]
    chosen = {name: rng.choice([*VALUES, mutated(rng)[0], rng.choice(ATOMS)]) for name in names}
    transformer = make(public, **chosen)
    made = sample(rng, rng.choice(KINDS))
    show(repr(transformer), f"\n{made.kind}, X = {made.X!r}")
    y = [rng.choices(["O", "B-N", "I-N"], k=length) for length in made.lengths]
    result = transformer.fit_transform(
        made.X, [*chain.from_iterable(y)] if made.kind == "frame" else y
    )
    _check(public.__name__, result, made)
    _check_names(public.__name__, result, transformer.get_feature_names_out())
    if rng.random() < 0.5:
        made = sample(rng, made.kind)
        show(f"other X = {made.X!r}")
    _check(public.__name__, transformer.transform(made.X), made)
    return f"{public.__name__}: fitted and transformed"


def _check(name: str, result: SequenceArray, made: Sample) -> None:
    """Check that there is a row for each token, and that numbers are finite."""
    show("result", result)
    data = result.data if isinstance(result, SequenceArray) else result
    if made.kind != "nonsense" and data.shape[0] != sum(made.lengths):
        raise Wrong(f"{name} gives other lengths", f"{made.lengths} {data.shape}")
    numbers = data.data if sparse.issparse(data) else data
    has_numbers = isinstance(numbers, np.ndarray) and numbers.dtype.kind in "biuf"
    if has_numbers and not np.isfinite(numbers).all():
        raise Wrong(f"{name} gives numbers that are not finite", numbers)


def _check_names(name: str, result: SequenceArray, names: np.ndarray) -> None:
    """Check that there is a name for each column."""
    data = result.data if isinstance(result, SequenceArray) else result
    if isinstance(result, SegmentedArray):
        width = len(result.names)
    else:
        width = data.shape[1] if hasattr(data, "shape") else len(data.names)
    if width != len(names):
        raise Wrong(f"{name} has more or fewer names than columns", f"{width}, {names}")


CAMPAIGNS = [
    Campaign(
        "transformers", transform, allowed=(), allowed_if_raised=(ValueError, TypeError), batch=50
    )
]
