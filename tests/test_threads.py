import threading
import time

import pytest

from sklearn_crcrf._threads import Threads


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 7])
def test_results_are_in_the_order_of_the_tasks(n_threads, n_tasks):
    with Threads(n_threads) as threads:
        for _ in range(2):
            assert threads.map(lambda i: i * i, range(n_tasks)) == [i * i for i in range(n_tasks)]


def test_all_threads_take_part():
    n_threads = 3
    together = threading.Barrier(n_threads, timeout=60)

    def meet(_):
        together.wait()
        return threading.get_ident()

    with Threads(n_threads) as threads:
        taken = threads.map(meet, range(n_threads))
    assert len(set(taken)) == n_threads
    assert threading.get_ident() in taken


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("bad", range(3))
def test_errors_are_raised(n_threads, bad):
    def fail(i):
        time.sleep(0.01)
        if i == bad:
            raise ArithmeticError(f"task {i}")

    with Threads(n_threads) as threads, pytest.raises(ArithmeticError, match=f"task {bad}"):
        threads.map(fail, range(3))
