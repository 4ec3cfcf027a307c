"""Several estimators trained at once, each with its own threads: the same bits as alone."""

import sys
import threading
from random import Random

import numpy as np
from _answers import answered
from _campaign import Campaign, Wrong, show
from _command import main
from _models import Trainer, trainers
from sklearn.base import clone

N_AT_ONCE = 3
N_SEQUENCES = 60

_trainers: list[Trainer] = []


def prepare() -> None:
    """Estimators that take a number of threads."""
    found = trainers(N_SEQUENCES)
    _trainers.extend(t for t in found if "n_jobs" in t.estimator.get_params(deep=False))


def together(rng: Random, number: int) -> str:
    """Train and predict in some threads at once, and compare with one thread after another."""
    chosen = rng.sample(_trainers, N_AT_ONCE)
    n_jobs = [rng.choice([1, 2, 3, 4]) for _ in chosen]
    show([trainer.name for trainer in chosen], n_jobs)
    answers: list = [None] * N_AT_ONCE

    def answer(k: int) -> None:
        answers[k] = _answer(chosen[k], n_jobs[k])

    threads = [threading.Thread(target=answer, args=(k,)) for k in range(N_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for trainer, of_many in zip(chosen, answers, strict=True):
        of_one = _answer(trainer, 1)
        if of_many is None or not np.array_equal(of_one, of_many):
            raise Wrong(f"{trainer.name}: not what one thread answers")
    return "the same bits"


def _answer(trainer: Trainer, n_jobs: int) -> np.ndarray:
    """The probabilities of a newly trained estimator, in a new thread or not."""
    estimator = clone(trainer.estimator).set_params(n_jobs=n_jobs).fit(trainer.X, trainer.y)
    has_probabilities = hasattr(estimator, "predict_proba")
    answer = answered(estimator, "predict_proba", trainer.X) if has_probabilities else ""
    if isinstance(answer, str):
        answer = estimator.predict(trainer.X)
    return np.concatenate(list(answer)).astype(str)


CAMPAIGNS = [Campaign("threads", together, prepare=prepare, n=200, limit=60.0, batch=10)]

if __name__ == "__main__":
    sys.exit(main(__doc__, CAMPAIGNS))
