"""Ctrl-C at any time of a fit, for every trainer with every solver, criterion and option.

The estimator is what it was before, or has the best model so far; it takes half a second at most,
and the process can go on. Inputs go round the trainers in turn. Run one job at a time, on a machine
that does nothing else: how long it takes is measured.
"""

import os
import select
import signal
import struct
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import joblib
import numpy as np
from _answers import check_answers
from _campaign import Campaign, Outcome, Wrong, show
from _models import Trainer, all_trainers, is_same, prepare_trainers
from sklearn.base import clone

N_SEQUENCES = 3000
N_SMALL = 40
ENDLESS = {"max_iter": 10**6, "max_iterations": 10**6, "tol": 1e-12}
LATEST = 1.0  # seconds from the first fit to the interrupt
MOST = 0.5  # seconds that it may take


def interrupt(rng: Random, number: int) -> Outcome:
    """Fit again and again until SIGINT comes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    trainer = all_trainers[number % len(all_trainers)]
    small = trainer._replace(X=trainer.X[:N_SMALL], y=trainer.y[:N_SMALL])
    expected = small.fit().predict(small.X)
    estimator = small.fit() if rng.random() < 0.5 else clone(trainer.estimator)
    estimator.set_params(**{k: v for k, v in ENDLESS.items() if k in estimator.get_params()})
    name = rng.choice([name for name in ("fit", "partial_fit") if hasattr(estimator, name)])
    step, after = Step(getattr(estimator, name), trainer), rng.uniform(0.0, LATEST)
    show(trainer.name, name, "after", after)
    how, seconds = repeat_until_interrupted(step, after)
    show(how, seconds)
    if seconds > MOST:  # or the machine was busy: then not twice
        how, seconds = repeat_until_interrupted(step, after)
    if seconds > MOST:
        raise Wrong(f"{trainer.name}: {name} takes more than {MOST} s to react", f"{seconds} s")
    if how == "interrupted" and not (is_same(step.before, vars(estimator)) or step.is_done()):
        raise Wrong(f"{trainer.name}: an interrupted {name} has changed the estimator")
    if how == "returned":
        check_answers(rng, estimator, small.X)
    if not _are_equal(small.fit().predict(small.X), expected):
        raise Wrong(f"{trainer.name}: after an interrupt the same fit gives another model")
    kind = type(estimator).__name__
    return Outcome(f"{kind}: {how}", {"seconds to react": seconds, f"of {kind}": seconds})


class Step:
    """A fit, and the state of the estimator before it.

    Parameters
    ----------
    fit : bound method
        ``fit`` or ``partial_fit`` of an estimator.
    trainer : Trainer
        The data to fit.
    """

    def __init__(self, fit: Callable, trainer: Trainer):
        self._fit, self._trainer = fit, trainer
        self.before = dict(vars(fit.__self__))

    def __call__(self) -> None:
        """Record the state, and fit."""
        self.before = dict(vars(self._fit.__self__))
        self._fit(self._trainer.X, self._trainer.y)

    def is_done(self) -> bool:
        """Whether the estimator is as if it had not been interrupted: it may just have finished."""
        estimator = self._fit.__self__
        twin = clone(estimator)
        vars(twin).update(self.before)
        getattr(twin, self._fit.__name__)(self._trainer.X, self._trainer.y)
        return joblib.hash(vars(twin)) == joblib.hash(vars(estimator))


def repeat_until_interrupted(step: Callable[[], Any], after: float) -> tuple[str, float]:
    """Call a function until SIGINT comes from another process.

    Returns
    -------
    how : {"interrupted", "returned", "between two fits"}
        Whether the last call raised KeyboardInterrupt, or returned nevertheless.
    seconds : float
        Time from the interrupt to the end of the call.
    """
    reader, writer = os.pipe()
    sender, how = _send_interrupt(after, writer), "between two fits"
    try:
        while not select.select([reader], [], [], 0)[0]:
            how = "interrupted"
            step()
            end, how = time.perf_counter(), "returned"
        # The interrupt may come only now.
        os.waitid(os.P_PID, sender, os.WEXITED | os.WNOWAIT)
    except KeyboardInterrupt:
        end = time.perf_counter()
        how = "interrupted" if how == "interrupted" else "between two fits"
    os.waitpid(sender, 0)
    (sent,) = struct.unpack("d", os.read(reader, 8))
    return how, max(end - sent, 0.0)


def _send_interrupt(after: float, writer: int) -> int:
    """Start a process that writes when it sends SIGINT to this one, and then does so."""
    receiver, child = os.getpid(), os.fork()
    if child:
        return child
    try:
        time.sleep(after)
        os.write(writer, struct.pack("d", time.perf_counter()))
        os.kill(receiver, signal.SIGINT)
    finally:
        os._exit(0)


def _are_equal(labels: Any, others: Any) -> bool:
    return all(map(np.array_equal, labels, others))


prepare = partial(prepare_trainers, N_SEQUENCES)
CAMPAIGNS = [Campaign("interrupts", interrupt, prepare=prepare, allowed=(), limit=20.0)]
