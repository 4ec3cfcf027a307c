"""Interrupts reach fits, and what they must not do is found."""

import signal
import time
from random import Random

import pytest

from sklearn_crcrf import CRF, HMM


@pytest.fixture
def interrupts(load, monkeypatch):
    module, before = load("_interrupts"), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(module, "LATEST", 0.1)
    yield module
    signal.signal(signal.SIGINT, before)


def trainer_of(estimator):
    from _models import Trainer, examples

    kinds, y = examples(50)
    return Trainer("some trainer", estimator, kinds["words"], y)


def raises():
    time.sleep(10.0)


def returns():
    try:
        time.sleep(10.0)
    except KeyboardInterrupt:
        return


@pytest.mark.parametrize(
    ("step", "how"), [(raises, "interrupted"), (returns, "returned"), (int, "between two fits")]
)
def test_what_an_interrupted_call_does(interrupts, step, how):
    found, seconds = interrupts.repeat_until_interrupted(step, 0.05)
    # A call that takes no time may be hit, too.
    assert found == how or step is int
    assert 0.0 <= seconds < 5.0


@pytest.mark.parametrize("estimator", [CRF(random_state=0), HMM()])
@pytest.mark.parametrize("number", range(3))
@pytest.mark.filterwarnings("ignore:training did not converge")
def test_fits_are_interrupted(interrupts, estimator, number):
    interrupts.all_trainers.append(trainer_of(estimator))
    outcome = interrupts.interrupt(Random(number), 0)
    assert 0.0 <= outcome.measures["seconds to react"] <= interrupts.MOST


class Slow(HMM):
    def fit(self, X, y):
        try:
            if len(X) == 50:
                time.sleep(10.0)
        except KeyboardInterrupt:
            time.sleep(0.7)
            raise
        return super().fit(X, y)

    partial_fit = fit


class Unsafe(HMM):
    def fit(self, X, y):
        if len(X) < 50:
            return super().fit(X, y)
        self.begin_ = None
        time.sleep(0.5)
        return super().fit(X, y)

    partial_fit = fit


def test_a_call_that_has_just_finished(interrupts):
    step = interrupts.Step(HMM().partial_fit, trainer_of(HMM()))
    step()
    assert step.is_done()
    step._fit.__self__.begin_ = None
    assert not step.is_done()


class Different(HMM):
    calls = 0

    def fit(self, X, y):
        type(self).calls += 1
        if len(X) == 50:
            time.sleep(10.0)
        return super().fit(X, [labels[::-1] for labels in y] if self.calls > 2 else y)

    partial_fit = fit


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (Slow(), "takes more than 0.5 s to react"),
        (Unsafe(), "has changed the estimator"),
        (Different(), "the same fit gives another model"),
    ],
)
def test_faults_are_found(interrupts, faulty, message, load):
    interrupts.all_trainers.append(trainer_of(faulty))
    with pytest.raises(load("_campaign").Wrong, match=message):
        interrupts.interrupt(Random(1), 0)
