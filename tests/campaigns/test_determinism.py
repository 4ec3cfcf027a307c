"""Models that differ are found, whatever differs."""

import time
from random import Random

import numpy as np
import pytest

from sklearn_crcrf import CRF, HMM


@pytest.fixture
def determinism(load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return load("_determinism")


def trainer_of(estimator):
    from _models import Trainer, examples

    kinds, y = examples()
    return Trainer("some trainer", estimator, kinds["words"], y)


class Later(HMM):
    def fit(self, X, y):
        super().fit(X, y)
        self.time_ = time.perf_counter_ns()
        return self


class Noisy(HMM):
    def confidence(self, X):
        return super().confidence(X) * (1 - 1e-15 * np.random.default_rng().random(len(X)))


class WithThreads(CRF):
    def fit(self, X, y):
        super().fit(X, y)
        self.begin_ = self.begin_ + 1e-16 * (self.n_jobs or 0) + 1e-16
        return self


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Later(), "Later fitted again has other time_"),
        (Noisy(), "Noisy fitted again has other confidence"),
        (WithThreads(max_iter=2), "WithThreads with n_jobs=1 has other begin_"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_differences_are_found(determinism, load, monkeypatch, estimator, message):
    monkeypatch.setattr(determinism, "random_trainer", lambda rng: trainer_of(estimator))
    with pytest.raises(load("_campaign").Wrong, match=message):
        determinism.here(Random(0), 0)


def test_equal_models_pass(determinism, monkeypatch):
    monkeypatch.setattr(determinism, "random_trainer", lambda rng: trainer_of(HMM()))
    assert determinism.here(Random(0), 0) == "HMM"


def test_another_process_is_compared(determinism, load, monkeypatch):
    monkeypatch.setattr(determinism, "all_trainers", [trainer_of(HMM())])
    monkeypatch.setattr(determinism, "N_ELSEWHERE", 1)
    told = '{"some trainer": {"predict": "another digest"}}'
    monkeypatch.setattr(
        determinism.subprocess,
        "run",
        lambda *args, **options: determinism.subprocess.CompletedProcess(args, 0, told, ""),
    )
    with pytest.raises(load("_campaign").Wrong, match=r"some trainer with .* has other .*predict"):
        determinism.elsewhere(Random(0), 0)
