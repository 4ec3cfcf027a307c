"""A worker that is killed changes no bit."""

import os
import signal

import dask
import numpy as np
import pytest

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.dask import DaskCRF, DaskEmpiricalCRF, DaskSeparateCRF, computing, read_conll
from sklearn_crcrf.dask.shards import GradientTree
from sklearn_crcrf.datasets import write_conll
from sklearn_crcrf.training.monitor import listening


@pytest.fixture(autouse=True)
def patience(processes):
    """Another worker is there when one is killed; a busy machine may take long to start it."""
    processes.wait_for_workers(2, timeout=300)
    with dask.config.set({computing.NO_WORKERS: "300s"}):
        yield


def killed_at_first(marker, X):
    """X, read by a worker that is killed when it first reads it."""

    def read():
        import os
        import signal

        if not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return X

    return dask.delayed(read, pure=False)()


def test_while_counting(corpus, in_parts, processes, tmp_path):
    X, y = corpus
    parts = in_parts(X, bag=False)
    parts[4] = killed_at_first(str(tmp_path / "marker"), X[24:28])
    model = DaskEmpiricalCRF(client=processes).fit(parts, in_parts(y))
    one = EmpiricalCRF().fit(X, y)
    assert (tmp_path / "marker").exists()
    assert model.counts_ == one.counts_
    pairs = zip(model.predict_proba(X), one.predict_proba(X), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def test_between_two_iterations(corpus, processes, tmp_path):
    X, y = ([sequence for sequence in data if sequence] for data in corpus)
    for k in range(4):
        write_conll(tmp_path / f"{k}.txt", X[10 * k : 10 * k + 10], y[10 * k : 10 * k + 10])
    files = read_conll(tmp_path / "*.txt")
    expected = DaskCRF(features="observed", tol=0.1).fit(*files)
    pids = processes.run(os.getpid)

    def kill(iteration):
        if iteration.number == 3:
            os.kill(next(iter(pids.values())), signal.SIGKILL)

    with listening(kill):
        model = DaskCRF(features="observed", tol=0.1, client=processes).fit(*files)
    assert model.loss_curve_ == expected.loss_curve_
    assert np.array_equal(model.coef_.data, expected.coef_.data)
    assert model.predict(files[0]).compute() == expected.predict(files[0]).compute()


def test_while_nodes_and_pairs_are_trained(corpus, in_parts, processes, monkeypatch):
    X, y = corpus
    rough = CRF(features="observed", tol=0.1)
    expected = DaskSeparateCRF(rough, pairs=rough).fit(in_parts(X), in_parts(y))
    pids, calls, evaluate = processes.run(os.getpid), [], GradientTree.__call__

    def killing_one(self, own_weights):
        calls.append(self)
        if len(calls) == 5:
            os.kill(next(iter(pids.values())), signal.SIGKILL)
        return evaluate(self, own_weights)

    monkeypatch.setattr(GradientTree, "__call__", killing_one)
    model = DaskSeparateCRF(rough, pairs=rough, client=processes).fit(in_parts(X), in_parts(y))
    assert len(calls) > 5
    assert model.estimator_.loss_curve_ == expected.estimator_.loss_curve_
    pairs = zip(model.predict_proba(X), expected.predict_proba(X), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
