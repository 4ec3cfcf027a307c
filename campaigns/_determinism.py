"""The same data, parameters and random_state give the same model and answers, bit for bit.

With another instruction set bits may differ, but not labels.
"""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from _answers import answered
from _campaign import Campaign, Wrong, show
from _models import (
    Trainer,
    all_trainers,
    classifiers,
    examples,
    kinds_for,
    prepare_trainers,
    random_estimator,
)
from scipy import sparse
from sklearn.base import clone
from sklearn_crcrf._kernels.machine import instruction_sets

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.model_files import load_model, save_model

N_SEQUENCES = 40
N_ELSEWHERE = 10  # trainers for one other process
N_AT_ONCE = 3
METHODS = "predict", "predict_proba", "confidence", "predict_k_best", "score"


def here(rng: Random, number: int) -> str:
    """Fits in this process: repeated, with threads, with X in another layout; and stored models."""
    trainer = random_trainer(rng)
    show(trainer.name, trainer.estimator)
    fitted = trainer.fit()
    expected = digests(fitted, trainer)
    for how, other in _others(trainer, fitted):
        compare(expected, digests(other, trainer), f"{type(fitted).__name__} {how}")
    return type(fitted).__name__


def elsewhere(rng: Random, number: int) -> str:
    """Fits in another process, with another seed of hashes and perhaps another instruction set."""
    seed, instructions = rng.randrange(2**31), rng.choice(instruction_sets())
    code = f"import _determinism; _determinism.tell({seed})"
    folder = os.fspath(Path(__file__).parent)
    settings = {
        "PYTHONPATH": os.pathsep.join([folder, *filter(None, sys.path)]),
        "PYTHONHASHSEED": str(rng.randrange(2**32)),
        "SKLEARN_CRCRF_INSTRUCTIONS": instructions,
    }
    process = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True
    )
    if process.returncode:
        raise Wrong("the other process failed", process.stderr[-2000:])
    found, expected = json.loads(process.stdout), of_some_trainers(seed)
    is_same = instructions == instruction_sets()[0]
    for name, of_trainer in expected.items():
        names = of_trainer if is_same else ["predict"]
        here, there = ({n: of[name].get(n) for n in names} for of in (expected, found))
        compare(here, there, f"{name} with {instructions if not is_same else 'other hashes'}")
    return instructions


def together(rng: Random, number: int) -> str:
    """Fits in some threads at once, each with threads of its own, and one after another."""
    threaded = [t for t in all_trainers if "n_jobs" in t.estimator.get_params(deep=False)]
    chosen = rng.sample(threaded, N_AT_ONCE)
    n_jobs = [rng.choice([1, 2, 3, 4]) for _ in chosen]
    show([trainer.name for trainer in chosen], n_jobs)

    def fit(trainer: Trainer, n_jobs: int) -> dict[str, str]:
        other = clone(trainer.estimator).set_params(n_jobs=n_jobs)
        return digests(other.fit(trainer.X, trainer.y), trainer)

    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        found = list(pool.map(fit, chosen, n_jobs))
    for trainer, of_many in zip(chosen, found, strict=True):
        compare(digests(trainer.fit(), trainer), of_many, f"{trainer.name} among threads")
    return "the same bits"


def tell(seed: int) -> None:
    """Print the digests of some models, for another process."""
    prepare_trainers(N_SEQUENCES)
    print(json.dumps(of_some_trainers(seed)))


def of_some_trainers(seed: int) -> dict[str, dict[str, str]]:
    """Digests of the models of some trainers, by their names."""
    chosen = Random(seed).sample(all_trainers, N_ELSEWHERE)
    return {trainer.name: digests(trainer.fit(), trainer) for trainer in chosen}


def random_trainer(rng: Random) -> Trainer:
    """One of the trainers, or a random estimator, with some of the data."""
    kinds, y = examples(N_SEQUENCES)
    while rng.random() < 0.7:
        public = rng.choice(classifiers())
        kind = rng.choice(kinds_for(public))
        estimator = random_estimator(rng, public, hostile=0.0)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=rng.randrange(3))
        trainer = Trainer(f"{public.__name__} {kind}", estimator, kinds[kind], y)
        try:
            trainer.fit()
        except ValueError:
            continue
        return trainer
    return rng.choice(all_trainers)


def _others(trainer: Trainer, fitted: Any) -> Iterator[tuple[str, Any]]:
    """Other ways to get the same model."""
    yield "fitted again", trainer.fit()
    yield "fitted twice", clone(fitted).fit(trainer.X, trainer.y).fit(trainer.X, trainer.y)
    if "n_jobs" in fitted.get_params(deep=False):
        for n_jobs in (1, 2, 3):
            other = clone(trainer.estimator).set_params(n_jobs=n_jobs)
            yield f"with n_jobs={n_jobs}", other.fit(trainer.X, trainer.y)
    if not sparse.issparse(trainer.X[0]):
        X, y = SequenceArray.from_sequences(trainer.X), SequenceArray.from_sequences(trainer.y)
        yield "with a SequenceArray", clone(trainer.estimator).fit(X, y)
    yield "pickled", pickle.loads(pickle.dumps(fitted))
    save_model(fitted, "model.crcrf")
    yield "saved", load_model("model.crcrf").estimator


def digests(fitted: Any, trainer: Trainer) -> dict[str, str]:
    """A digest of each public attribute and answer."""
    found = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    for name in METHODS:
        if hasattr(fitted, name):
            arguments = (trainer.X, trainer.y) if name == "score" else (trainer.X,)
            found[name] = answered(fitted, name, *arguments)
    return {
        name: hashlib.sha256(repr(plain(value)).encode()).hexdigest()
        for name, value in found.items()
        if not name.startswith("_")
    }


def plain(value: Any) -> Any:
    """A value with a unique text."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return [plain(entry) for entry in value]
        return str(value.dtype), value.shape, value.tobytes()
    if sparse.issparse(value):
        return [plain(part) for part in (value.data, value.indices, value.indptr)], value.shape
    if isinstance(value, dict):
        return [(plain(k), plain(v)) for k, v in value.items()]
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, str | bytes | int | float | np.generic | None):
        return value
    # Parameters of a nested estimator may differ, such as its number of threads.
    inner = {k: v for k, v in getattr(value, "__dict__", {}).items() if k.endswith("_")}
    return type(value).__name__, plain(inner)


def compare(expected: dict[str, str], found: dict[str, str], what: str) -> None:
    """Raise Wrong where digests differ."""
    differ = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    if differ:
        raise Wrong(f"{what} has other {', '.join(differ)}")


OPTIONS: dict[str, Any] = {"allowed": (), "limit": 60.0}
OPTIONS["prepare"] = partial(prepare_trainers, N_SEQUENCES)
CAMPAIGNS = [
    Campaign("here", here, **OPTIONS),
    Campaign("elsewhere", elsewhere, n=60, **OPTIONS),
    Campaign("threads", together, n=200, batch=10, **OPTIONS),
]
