"""The cases of extreme sizes, made small."""

import numpy as np
import pytest

from sklearn_crcrf import HMM


@pytest.fixture
def extremes(load):
    return load("_extremes")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_cases_run(extremes):
    cases = extremes.cases(0.002)
    assert cases.keys() == extremes.CASES.keys()
    for case in cases.values():
        case()


class Short(HMM):
    def predict(self, X):
        return super().predict(X[:-1])


class Unknown(HMM):
    def predict(self, X):
        labels = super().predict(X)
        labels.data[:] = "?"
        return labels


class Improper(HMM):
    def confidence(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (Short(), "predict gives other lengths"),
        (Unknown(), "predict gives unknown labels"),
        (Improper(), "confidence is no probability"),
    ],
)
def test_faults_are_found(extremes, load, faulty, message):
    with pytest.raises(load("_campaign").Wrong, match=message):
        extremes.fit_and_ask(faulty, (5, 4, 10, 3))
