"""Nothing hangs: clients that close, work that is cancelled, clusters without workers."""

import asyncio
import sys
import threading
import time

import dask
import pytest

from sklearn_crcrf import HMM
from sklearn_crcrf.dask import (
    ComputationError,
    DaskCRF,
    DaskEmpiricalCRF,
    DaskHMM,
    computing,
    read_conll,
)


@pytest.fixture
def waiting(tmp_path, own_client):
    """A part that is read when a file is there, and a function that makes this file."""
    path = str(tmp_path / "allowed")

    def read():
        import os
        import time

        end = time.monotonic() + 300
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.01)
        return [["a", "b"]]

    yield (
        [dask.delayed(read, pure=False)()],
        [dask.delayed([["A", "B"]], pure=False)],
        (tmp_path / "allowed").touch,
    )
    (tmp_path / "allowed").touch()


def in_thread(estimator, X, y):
    """Start a fit; returns the thread, and a list of the exception that it raised."""
    raised = []

    def run():
        try:
            estimator.fit(X, y)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, raised


def until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("estimator", [DaskEmpiricalCRF, DaskCRF])
def test_a_client_that_closes_meanwhile(estimator, waiting, own_client):
    X, y, _ = waiting
    client = own_client()
    thread, raised = in_thread(estimator(client=client), X, y)
    until(lambda: client.futures)
    client.close()
    thread.join(300)
    assert isinstance(raised[0], ComputationError)
    with pytest.raises(ComputationError, match="not connected to a cluster, but closed"):
        estimator(client=client).fit(X, y)


def test_a_client_that_closes_between_a_look_and_its_use(waiting, own_client, monkeypatch):
    X, y, _ = waiting
    client = own_client()
    submit = client.compute

    def close_and_submit(wanted):
        client.close()
        return submit(wanted)

    monkeypatch.setattr(client, "compute", close_and_submit)
    with pytest.raises(ComputationError, match="the client was closed"):
        DaskHMM(client=client).fit(X, y)


def test_work_that_is_cancelled(waiting, own_client):
    X, y, _ = waiting
    client = own_client()
    thread, raised = in_thread(DaskHMM(client=client), X, y)
    until(lambda: client.futures)
    client.cancel([distributed_future(client, key) for key in list(client.futures)], force=True)
    thread.join(300)
    assert "the computation was cancelled" in str(raised[0])


def distributed_future(client, key):
    from distributed import Future

    return Future(key, client)


def test_an_interrupt_ends_the_work(waiting, own_client, monkeypatch):
    X, y, _ = waiting
    client, looks = own_client(), []

    def interrupt(self):
        looks.append(1)
        if client.futures:
            raise KeyboardInterrupt

    monkeypatch.setattr(computing, "INTERVAL", 0.01)
    monkeypatch.setattr(computing._Watch, "look", interrupt)
    with pytest.raises(KeyboardInterrupt):
        DaskHMM(client=client).fit(X, y)
    until(lambda: not client.futures)


def test_no_workers(waiting, own_client):
    X, y, allow = waiting
    client = own_client(0)
    expected = pytest.raises(ComputationError, match=r"has had no worker for \d seconds")
    with dask.config.set({computing.NO_WORKERS: "300ms"}), expected:
        DaskHMM(client=client).fit(X, y)
    allow()
    thread, raised = in_thread(hmm := DaskHMM(client=client), X, y)
    client.cluster.scale(1)
    thread.join(300)
    assert not raised and hmm.classes_.tolist() == ["A", "B"]


def test_a_scheduler_that_does_not_answer(waiting, own_client, monkeypatch):
    X, y, _ = waiting
    client, never = own_client(0), threading.Event()
    monkeypatch.setattr(client, "nthreads", lambda: never.wait(300))
    monkeypatch.setattr(computing, "INTERVAL", 0.01)
    expected = pytest.raises(ComputationError, match=r"has not answered for \d seconds")
    with dask.config.set({computing.NO_WORKERS: "10ms"}), expected:
        DaskHMM(client=client).fit(X, y)
    never.set()


def test_all_workers_gone(waiting, own_client):
    X, y, _ = waiting
    client = own_client(1)
    with dask.config.set({computing.NO_WORKERS: "300ms"}):
        thread, raised = in_thread(DaskCRF(client=client), X, y)
        until(lambda: client.futures)
        client.cluster.scale(0)
        thread.join(300)
    assert "the cluster has had no worker" in str(raised[0])


def test_other_versions_on_workers(monkeypatch, in_parts, client):
    monkeypatch.setattr(computing, "__version__", "0.0.1")
    wanted = computing.task(len, "abc")
    monkeypatch.undo()
    with pytest.raises(ComputationError, match=r"but the client has 0\.0\.1: install the same"):
        computing.compute(wanted, client)


def test_two_fits_at_once(corpus, in_parts, client):
    X, y = in_parts(corpus[0]), in_parts(corpus[1])
    fits = [DaskHMM(client=client), DaskCRF(tol=1e-2, client=client), DaskHMM(client=client)]
    threads = [in_thread(fit, X, y) for fit in fits]
    for thread, raised in threads:
        thread.join(300)
        assert not raised
    assert fits[0].counts_ == fits[2].counts_ == HMM().fit(*corpus).counts_
    assert fits[1].loss_curve_ == DaskCRF(tol=1e-2).fit(X, y).loss_curve_


def test_nothing_is_left_on_the_cluster(corpus, in_parts, client):
    X, y = in_parts(corpus[0]), in_parts(corpus[1])
    # A test that failed as it should may have left an exception, whose frames hold futures.
    before = set(client.futures)
    for estimator in (DaskHMM(client=client), DaskCRF(tol=1e-1, client=client)):
        estimator.fit(X, y)
        until(lambda: set(client.futures) <= before)


def test_an_asynchronous_client(in_parts):
    async def fit():
        from distributed import Client

        given = {"processes": False, "n_workers": 0, "dashboard_address": None}
        async with Client(**given, asynchronous=True) as client:
            with pytest.raises(ComputationError, match="the client is asynchronous"):
                DaskHMM(client=client).fit(in_parts([["a"]], [0, 1]), in_parts([["A"]], [0, 1]))

    asyncio.run(fit())


def test_without_dask(monkeypatch):
    for name in ("dask", "dask.bag"):
        monkeypatch.setitem(sys.modules, name, None)
    for use in (lambda: read_conll("x"), lambda: DaskHMM().fit([["a"]], [["A"]])):
        with pytest.raises(ImportError, match=r'needs dask.*: pip install "dask\[distributed\]"'):
            use()
