"""EmpiricalCRF of probabilities of labels."""

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from soft_labels import random_rows

from sklearn_crcrf import EmpiricalCRF, GraphArray
from sklearn_crcrf.model_files import load_model, save_model

LABELS = ["V", "N", "D"]
WORDS = ["dog", "Dogs", "run-up", "walks", "7"]
RNG = np.random.default_rng(0)
X = [[str(w) for w in RNG.choice(WORDS, size=n)] for n in RNG.integers(1, 7, 40)]
ROWS = [random_rows(len(x), 3, RNG) for x in X]


def test_frequencies_are_means_of_the_probabilities():
    rows = [np.array([row]) for row in ([1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.2, 0.8])]
    crf = EmpiricalCRF.ecrn().fit([["a"], ["a"], ["b"], ["a"]], rows, labels=["N", "D"])
    assert crf.classes_.tolist() == ["D", "N"]
    mean = np.mean([[0.0, 1.0], [0.5, 0.5], [0.8, 0.2]], axis=0)
    assert_allclose(crf.predict_proba([["a"]])[0], [mean], atol=1e-9)


@for_each("params", [{}, {"order": 2}, {"zeros": "floored"}])
def test_saved_and_loaded(params, tmp_path):
    crf = EmpiricalCRF(**params).fit(X, ROWS, labels=[*LABELS])
    save_model(crf, tmp_path / "model.crcrf")
    again = load_model(tmp_path / "model.crcrf").estimator
    assert again.counts_ == crf.counts_
    for a, b in zip(again.predict_proba(X), crf.predict_proba(X), strict=True):
        assert_array_equal(a, b)
    again.forget(X[:3], ROWS[:3], labels=LABELS)
    assert again.classes_.tolist() == sorted(LABELS)


def test_tagger():
    crf = EmpiricalCRF().fit(X, ROWS, labels=LABELS)
    tagger = crf.tagger()
    assert [tagger(x) for x in X] == [*crf.predict(X)]


def test_forgotten_strings_can_be_purged():
    crf = EmpiricalCRF().fit([*X, ["secret", "dog"]], [*ROWS, ROWS[0][:2]], labels=LABELS)
    crf.forget([["secret", "dog"]], [ROWS[0][:2]], labels=LABELS, purge=True)
    assert crf.receipt_.strings
    expected = EmpiricalCRF().fit(X, ROWS, labels=LABELS)
    for a, b in zip(crf.predict_proba(X), expected.predict_proba(X), strict=True):
        assert_allclose(a, b, rtol=1e-9)


def test_the_smallest_probabilities(tmp_path):
    # Products of these underflow: what is left has all its digits, so files hold it.
    rows = [np.array([[1.0, 1e-200, 0.0], [1e-200, 1.0, 1e-320], [1.0, 1e-160, 1e-150]])]
    crf = EmpiricalCRF(order=3).fit([["a", "b", "c"]], rows, labels=LABELS)
    for _, counts in crf.counts_.values():
        assert counts.min() >= np.finfo(float).tiny
    save_model(crf, tmp_path / "model.crcrf")
    assert load_model(tmp_path / "model.crcrf").estimator.counts_ == crf.counts_
    assert_allclose(crf.predict_proba([["a", "b"]])[0].sum(axis=1), 1.0)


def test_graphs_with_cycles():
    words = [["a", "b", "c", "a"], ["b", "a", "c"]]
    ring = GraphArray.from_edges(words, [[(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2)]])
    certain = [np.eye(3)[[0, 1, 2, 0]], np.eye(3)[[1, 0, 2]]]
    hard = EmpiricalCRF().fit(ring, [["V", "N", "D", "V"], ["N", "V", "D"]])
    soft = EmpiricalCRF().fit(ring, certain, labels=LABELS)
    assert soft.counts_ == hard.counts_
    assert soft.predict(ring).tolist() == hard.predict(ring).tolist()


def test_exponents_are_fitted_afterwards():
    crf = EmpiricalCRF().fit(X, ROWS, labels=LABELS)
    y = crf.predict(X)
    assert crf.fit_exponents(X, [*y]).n_iter_ >= 1
    with pytest.raises(ValueError, match=r"y must have one value .* need labels="):
        crf.fit_exponents(X, ROWS)
