"""How soon the gap closes on a corpus."""

import os

import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import MaxMarginCRF, SequenceVectorizer, StructuredPerceptron, Window
from sklearn_crcrf.datasets import fetch_conll2000

TEMPLATES = [f"{column}[{i}]" for column in ("word", "pos") for i in (-1, 0, 1)]

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not os.environ.get("SKLEARN_CRCRF_DATA"), reason="SKLEARN_CRCRF_DATA is not set"
    ),
]


@pytest.fixture(scope="module")
def corpus():
    X, y = fetch_conll2000("train", return_X_y=True)
    attributes = make_pipeline(Window(TEMPLATES), SequenceVectorizer()).fit_transform(X[:800])
    return attributes[:500], y[:500], attributes[500:], y[500:800]


@pytest.mark.parametrize("solver", ["bcfw", "smo"])
def test_thirty_passes_are_enough(corpus, solver):
    X, y, X_new, y_new = corpus
    crf = MaxMarginCRF(0.1, solver, max_iter=30, random_state=0).fit(X, y)
    assert crf.converged_
    assert crf.duality_gap_ <= 0.01 * crf.loss_curve_[-1]
    assert crf.score(X_new, y_new) > 0.92


def test_the_mean_is_better_than_the_last_weights(corpus):
    X, y, X_new, y_new = corpus
    accuracy = {
        averaging: StructuredPerceptron(averaging, random_state=0).fit(X, y).score(X_new, y_new)
        for averaging in ("none", "mean")
    }
    assert accuracy["mean"] > accuracy["none"] + 0.005
    assert accuracy["mean"] > 0.92
