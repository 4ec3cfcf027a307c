import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn_crcrf._kernels.sparse.weights import gaussian_penalty

import sklearn_crcrf._kernels.threads as threads_module
from sklearn_crcrf._kernels.threads import Threads, my_threads


@pytest.fixture(params=[0, 10, 3000], ids="patience {}".format)
def patience(request, monkeypatch):
    """How long threads stay awake; with none they sleep at once."""
    monkeypatch.setattr(threads_module, "PATIENCE", request.param)
    return request.param


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 7])
def test_results_are_in_the_order_of_the_tasks(n_threads, n_tasks, patience):
    threads = Threads(n_threads)
    for _ in range(3):
        with threads:
            for _ in range(2):
                squares = threads.map(lambda i: i * i, range(n_tasks))
                assert squares == [i * i for i in range(n_tasks)]


def test_all_threads_take_part(patience):
    n_threads = 3
    together = threading.Barrier(n_threads, timeout=60)

    def meet(_):
        together.wait()
        return threading.get_ident()

    threads = Threads(n_threads)
    for pause in (0, 0.05):
        time.sleep(pause)  # after which the others sleep
        with threads:
            taken = threads.map(meet, range(n_threads))
        assert len(set(taken)) == n_threads
        assert threading.get_ident() in taken


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_tasks_are_begun_in_the_order_in_which_they_were_started(n_threads, patience):
    begun = []

    def begin(task):
        begun.append(task)
        return -task

    with Threads(n_threads) as threads:
        first = threads.start(begin, range(20))
        second = threads.start(begin, range(20, 30))
        assert second.results() == [-task for task in range(20, 30)]
        assert first.results() == [-task for task in range(20)]
    if n_threads == 1:
        assert begun == list(range(30))
    assert sorted(begun) == list(range(30))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_kernels_and_the_interpreter_take_turns(n_threads, patience):
    w = np.arange(5000.0)

    def work(k):
        total = 0.0
        for _ in range(50):
            out = np.empty_like(w)
            total += gaussian_penalty(w, k, out)
            assert out[-1] == k * w[-1]
        return total

    expected = [50 * 0.5 * k * (w @ w) for k in range(8)]
    with Threads(n_threads) as threads:
        assert threads.map(work, range(8)) == pytest.approx(expected)


def test_each_thread_has_threads_of_its_own(patience):
    def use(k):
        for _ in range(20):
            with my_threads(2) as threads:
                assert threads.map(lambda i: i + k, range(5)) == list(range(k, k + 5))
        return threads

    assert my_threads(2) is my_threads(2)
    assert my_threads(3) is not my_threads(2)
    with ThreadPoolExecutor(3) as pool:
        used = list(pool.map(use, range(30)))
    assert my_threads(2) not in used


def test_threads_end_with_what_they_are_for(patience):
    before = set(threading.enumerate())
    threads = Threads(3)
    with threads:
        threads.map(str, range(4))
    others = set(threading.enumerate()) - before
    assert len(others) == 2
    del threads
    gc.collect()
    for other in others:
        other.join(60)
    assert not any(other.is_alive() for other in others)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("bad", range(3))
def test_errors_are_raised(n_threads, bad, patience):
    def fail(i):
        time.sleep(0.01)
        if i == bad:
            raise ArithmeticError(f"task {i}")

    threads = Threads(n_threads)
    for _ in range(2):
        with pytest.raises(ArithmeticError, match=f"task {bad}"), threads:
            threads.map(fail, range(3))
    with threads:
        assert threads.map(abs, [-1, -2]) == [1, 2]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_after_an_error_nothing_goes_on(n_threads, patience):
    done = []

    def work(_):
        time.sleep(0.02)
        done.append(True)

    threads = Threads(n_threads)
    with pytest.raises(KeyboardInterrupt), threads:
        threads.start(work, range(100))
        raise KeyboardInterrupt
    n_done = len(done)
    assert n_done < 100
    time.sleep(0.1)
    assert len(done) == n_done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_new_threads(patience):
    with my_threads(2) as threads:
        threads.map(abs, range(5))
    child = os.fork()
    if child == 0:
        try:
            assert my_threads(2) is not threads
            with my_threads(2) as own:
                assert own.map(abs, [-1, -2, -3]) == [1, 2, 3]
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
