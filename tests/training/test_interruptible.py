"""Ctrl-C does not wait for code that does not look for signals."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

from sklearn_crcrf import BoostedCRF
from sklearn_crcrf.estimators.boosting import booster
from sklearn_crcrf.training import interruptible


def send_interrupt(after):
    threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def test_results_and_errors_are_those_of_the_function():
    assert interruptible(int, "12", base=3) == 5
    with pytest.raises(ValueError, match="invalid literal"):
        interruptible(int, "x")
    assert interruptible(threading.current_thread) is not threading.current_thread()


def test_other_threads_call_by_themselves():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(interruptible(threading.current_thread) is thread)
    )
    thread.start()
    thread.join()
    assert found == [True]


def test_without_another_thread_it_calls_by_itself(monkeypatch):
    def start_new_thread(function, arguments):
        raise RuntimeError("can't start new thread")

    name = "sklearn_crcrf.training.interruptible"
    monkeypatch.setattr(sys.modules[name], "start_new_thread", start_new_thread)
    assert interruptible(threading.current_thread) is threading.current_thread()


def test_a_long_call_is_left_at_once():
    is_left = threading.Event()
    send_interrupt(0.1)
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        interruptible(is_left.wait, 20.0)
    is_left.set()
    assert time.perf_counter() - start < 10.0


def test_boosting_does_not_wait_for_a_tree(monkeypatch):
    """The trees of scikit-learn grow in compiled code."""
    is_left, crf, (X, y) = threading.Event(), BoostedCRF(max_iter=3), _corpus()
    used = []

    class Slow(booster.DecisionTreeRegressor):
        def fit(self, *args, **kwargs):
            used.append(threading.current_thread())
            is_left.wait(20.0)
            return super().fit(*args, **kwargs)

    monkeypatch.setattr("sklearn_crcrf.estimators.boosting.estimator.DecisionTreeRegressor", Slow)
    send_interrupt(0.3)
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        crf.fit(X, y)
    is_left.set()
    assert time.perf_counter() - start < 10.0
    assert threading.main_thread() not in used
    assert len(used) == 1


def _corpus():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] > 0, "a", "b")


def test_a_thread_that_cannot_begin_is_not_waited_for(monkeypatch):
    module = sys.modules["sklearn_crcrf.training.interruptible"]
    monkeypatch.setattr(module, "start_new_thread", lambda *_: None)
    with pytest.raises(MemoryError, match="a thread ended before it began"):
        interruptible(int, "12")
