"""Memory runs out at any point of a fit or a prediction.

That is a MemoryError, or the right answer where the memory would only have made it faster. The
estimator is what it was before, and the process can go on. Allocations of the kernels fail whatever
their size, others only where they are large: without its own buffers NumPy may crash (it sets an
exception without the global lock), and sometimes forgets to set one, which Python then calls a
SystemError.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from _allocator import failures
from _answers import answered
from _campaign import Campaign, Wrong, show
from _models import Trainer, is_same, trainers
from sklearn.base import clone

N_SEQUENCES = 400
PREDICTIONS = "predict", "predict_proba", "predict_k_best", "confidence"
METHODS = "fit", *PREDICTIONS
SMALLEST = 1 << 18  # bytes that can fail: more than a buffer of NumPy
N_TIMES = 25  # as many sequences as are trained on at first

_trainers: list[Trainer] = []


def prepare() -> None:
    """Make trainers, once for all campaigns, and call their methods, which imports modules."""
    for trainer in [] if _trainers else trainers(N_SEQUENCES):
        try:
            fitted = trainer.fit()
            for method in PREDICTIONS:
                _call(fitted, trainer, method)
        except ValueError:  # such as cuts where links do not reward equal labels
            continue
        _trainers.append(trainer)


def allocations(rng: Random, number: int) -> str:
    """Some requests for memory fail."""
    after, number_failing = int(10 ** rng.uniform(0, 2)) - 1, rng.choice([1, 1, 5, 10**6])
    return _try(rng, lambda: failures(after, number_failing, SMALLEST))


def kernels(rng: Random, number: int) -> str:
    """Some requests of the kernels themselves fail, of any size."""
    after = int(10 ** rng.uniform(0, 1)) - 1
    return _try(rng, lambda: failures(after, rng.choice([1, 10**6]), 1, "sklearn_crcrf"))


def _try(rng: Random, shortage: Callable) -> str:
    """Call a method of an estimator during a shortage, and again afterwards."""
    trainer = rng.choice(_trainers)
    larger = trainer._replace(X=trainer.X * N_TIMES, y=trainer.y * N_TIMES)
    methods = [name for name in METHODS if hasattr(trainer.estimator, name)]
    method, estimator = rng.choice(methods), clone(trainer.estimator)
    if method != "fit" or rng.random() < 0.5:
        estimator = trainer.fit()
    before = dict(vars(estimator))
    show(trainer.name, method)
    outcome = _outcome(shortage, lambda: _call(estimator, larger, method))
    show(outcome)
    fails = not outcome.startswith("answered")
    if method == "fit" and fails and not is_same(before, vars(estimator)):
        raise Wrong(f"{trainer.name}: a fit without memory has changed the estimator")
    fresh = larger.fit() if method == "fit" and not fails else trainer.fit()
    found = estimator if method != "fit" or not fails else trainer.fit()
    for name in {"predict", *methods} - {"fit"}:
        if not _are_equal(_call(found, trainer, name), _call(fresh, trainer, name)):
            raise Wrong(f"{trainer.name}: {name} gives something else after memory ran out")
    return outcome


def _outcome(shortage: Callable, call: Callable[[], Any]) -> str:
    try:
        with shortage() as failed:
            call()
    except MemoryError:
        return "MemoryError"
    except SystemError as error:
        if "without" in str(error) and "exception" in str(error):
            return "SystemError of NumPy"
        raise
    return "answered, as nothing failed" if failed == [0] else "answered all the same"


def _call(estimator: Any, trainer: Trainer, method: str) -> Any:
    arguments = (trainer.X, trainer.y) if method == "fit" else (trainer.X,)
    return answered(estimator, method, *arguments) if hasattr(estimator, method) else None


def _are_equal(answers: Any, others: Any) -> bool:
    return all(
        answer == other if isinstance(answer, list) else np.array_equal(answer, other)
        for answer, other in zip(answers, others, strict=True)
    )


OPTIONS: dict[str, Any] = {"prepare": prepare, "allowed": (), "limit": 60.0}
CAMPAIGNS = [Campaign(of.__name__, of, **OPTIONS) for of in (allocations, kernels)]
