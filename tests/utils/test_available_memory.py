"""A check of memory before the work."""

import numpy as np
import pytest
import scipy.sparse as sp

import sklearn_crcrf
from sklearn_crcrf import CRF, HMM, EmpiricalCRF, SequenceLabelModel, TextTagger
from sklearn_crcrf.feature_extraction import Window
from sklearn_crcrf.utils import memory
from sklearn_crcrf.utils.memory import available_memory, require_memory

N_LABELS = 1500
CLASSES = [
    value
    for name in sklearn_crcrf.__all__
    if isinstance(value := getattr(sklearn_crcrf, name), type)
    and hasattr(value, "predict")
    and value not in (SequenceLabelModel, TextTagger)  # which take votes, and texts
]


@pytest.fixture
def little(monkeypatch):
    """Little memory is left."""
    monkeypatch.setattr(memory, "available_memory", lambda: 1e8)


def test_there_is_memory():
    assert 0 < available_memory() < 2**60
    require_memory(1e6, "it", "nothing")


def test_limits_of_the_process_count():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = available_memory()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (2**36, hard))
        assert available_memory() <= min(before * 1.5, 2**36)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def made(kind):
    try:
        return kind()
    except TypeError:  # it needs other estimators
        return None


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.usefixtures("little")
def test_too_many_labels_are_an_error_before_the_work(kind):
    estimator = made(kind)
    if estimator is None:
        pytest.skip("it needs other estimators")
    words = np.arange(2 * N_LABELS) % 5
    X = np.eye(5)[words].reshape(-1, 10, 5)
    X = [*X] if kind.__name__ == "BoostedCRF" else [[f"w{k}" for k in s.argmax(axis=1)] for s in X]
    if kind.__name__ == "CRFsuiteCRF":
        X = [[{"w": word} for word in s] for s in X]
    y = [[f"label{k % N_LABELS}" for k in range(i, i + 10)] for i in range(0, 2 * N_LABELS, 10)]
    with pytest.raises(ValueError, match=r"y has 1,500 different labels.*--columns"):
        estimator.fit(X, y)
    if kind in (CRF, HMM):
        y[0][0] = None
        with pytest.raises(ValueError, match="y has 1,500 different labels"):
            estimator.fit(X, y)


@pytest.mark.usefixtures("little")
def test_too_many_columns_and_weights_are_an_error_before_the_work():
    wide = sp.csr_array((np.ones(2), ([0, 1], [3, 2_000_000])), shape=(2, 2**31 - 1))
    for kind in (CRF, HMM, EmpiricalCRF):
        with pytest.raises(ValueError, match="the weights and names of the 2,147,483,647 columns"):
            kind(sample_unit="token").fit(wide, ["A", "B"])
    with pytest.raises(ValueError, match=r"the 1\d,\d+,\d+ weights of attributes and pairs of"):
        CRF().fit([[f"w{k}" for k in range(12_000)]], [[f"l{k % 1000}" for k in range(12_000)]])
    keys = [[{f"{t} {k}": True for k in range(4)} for t in range(2000)]]
    with pytest.raises(ValueError, match="a column for each of the 8,000 keys of the 2,000"):
        Window((-1, 0)).fit_transform(keys)
