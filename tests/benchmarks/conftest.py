"""Programs of the benchmarks, and made data for them."""

import argparse
from pathlib import Path

import pytest
from programs import modules_of

from sklearn_crcrf.datasets import Splits, make_addresses
from sklearn_crcrf.estimators.empirical import estimator
from sklearn_crcrf.estimators.empirical.fit_exponents import held_out_folds as folds

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load():
    """Import a script by its name."""
    with modules_of(FOLDER) as load:
        yield load


@pytest.fixture(autouse=True)
def few_repetitions(load, monkeypatch):
    """Little is timed, and exponents are fitted on two held-out parts instead of ten."""
    monkeypatch.setattr(load("_training"), "LEAST_SECONDS", 0.01)
    monkeypatch.setattr(
        estimator, "held_out_folds", lambda offsets, _, n_labels: folds(offsets, 0.5, n_labels)
    )


@pytest.fixture
def splits():
    X, y = make_addresses(60, random_state=0)
    return Splits((X[:30], y[:30]), (X[30:40], y[30:40]), (X[40:], y[40:]))


@pytest.fixture
def corpora(load, splits, monkeypatch):
    """The corpora of crf.py are made up; chunks have parts of speech too. Returns its options."""
    tagged = Splits(
        *(
            ([[{"word": word, "pos": word[-2:]} for word in sentence] for sentence in X], y)
            for X, y in splits
        )
    )

    def load_splits(name, args):
        return tagged if name == "chunking" else splits

    for module in ("_features", "_usage"):
        monkeypatch.setattr(load(module), "load_splits", load_splits)
    return argparse.Namespace(runs=1, quick=False)
