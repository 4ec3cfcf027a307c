import threading

import pytest
from sklearn_crcrf._kernels.machine import Turns


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def test_signals_are_counted():
    turns = Turns(0)
    turns.signal()
    turns.signal()
    assert turns.n_signals == 2


@pytest.mark.parametrize("patience", [0, 1, 1000])
def test_without_a_signal_a_thread_waits_for_some_time_only(patience):
    turns = Turns(patience)
    turns.join()
    turns.wait(0)
    turns.leave()
    assert turns.n_signals == 0


def test_a_signal_ends_the_waiting():
    turns = Turns(10**9)

    def signal_twice():
        turns.join()
        turns.signal()
        turns.wait(1)
        turns.leave()

    turns.join()
    other = in_thread(signal_twice)
    turns.wait(0)
    assert turns.n_signals == 1
    turns.signal()
    turns.leave()
    other.join(60)
    assert not other.is_alive()


def test_a_turn_that_is_not_given_back_is_taken_in_the_end():
    turns = Turns(100)
    in_thread(turns.join).join()
    turns.join()
    turns.leave()
