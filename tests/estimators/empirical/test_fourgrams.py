"""Chains of third order: rates of four labels in a row, and what depends on them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.base.batches import Batch
from sklearn_crcrf.counts import count_tokens
from sklearn_crcrf.estimators.empirical.run_rates import RUNS, SHARE, STRENGTH, RunRates
from sklearn_crcrf.labels import AtMost

EVERY = np.array(list(np.ndindex(3, 3, 3, 3))).T


def rates(sequences, strength):
    labels = np.array([label for s in sequences for label in s], dtype=int)
    offsets = np.cumsum([0, *map(len, sequences)])
    return RunRates(count_tokens({}, labels, offsets, RUNS[1:])[RUNS[1]], 3, strength, 1.0)


@given(
    st.lists(st.lists(st.integers(0, 2), max_size=8), min_size=1, max_size=8),
    st.sampled_from([0.2, 1.0, 4.0]),
)
def test_the_smoothed_estimate_over_its_prior(sequences, strength):
    c = np.zeros((3,) * 4)
    for labels in sequences:
        for four in zip(*(labels[k:] for k in range(4)), strict=False):
            c[four] += 1
    expected, s = np.zeros(c.shape), STRENGTH * strength
    for h, i, j, k in np.ndindex(*c.shape):
        given_middle = c[:, i, j, k].sum() / max(c[:, i, j].sum(), 1.0)
        if c[h, i, j].sum():
            # Of labels that never follow the middle, the limit for ever rarer ones.
            estimate = (c[h, i, j, k] + s * given_middle) / (c[h, i, j].sum() + s)
            ratio = estimate / given_middle if given_middle else s / (c[h, i, j].sum() + s)
            expected[h, i, j, k] = SHARE * np.log(ratio)
    assert_allclose(rates(sequences, strength)(*EVERY), expected.ravel(), atol=1e-12)


def test_without_smoothing_all_scores_are_finite():
    scores = rates([[0, 1, 2, 0], [1, 1, 2, 1]], 0.0)(*EVERY).reshape((3,) * 4)
    assert np.isfinite(scores).all()
    assert scores[0, 1, 2, 1] < -300 < scores[0, 1, 2, 0] == SHARE * np.log(2.0)
    assert_array_equal(rates([[0, 1, 2], [2]], 1.0)(*EVERY), 0.0)


X = [["x"] * 4] * 40
Y = [["0", "1", "1", "2"], ["3", "1", "1", "4"]] * 20


@pytest.fixture(scope="module")
def crf():
    return EmpiricalCRF(order=3).fit(X, Y)


def test_the_third_order_sees_what_three_labels_cannot(crf):
    """After 0 1 1 comes 2 and after 3 1 1 comes 4, whatever the words."""
    second = EmpiricalCRF(order=2).fit(X, Y)

    def odds(model):
        found = {tuple(path): p for path, p in model.predict_k_best(X[:1], 400)[0]}
        return found["0", "1", "1", "4"] / found["0", "1", "1", "2"]

    assert_allclose(odds(second), 1.0)
    expected = (STRENGTH / (20 + STRENGTH)) / ((20 / 0.5 + STRENGTH) / (20 + STRENGTH))
    assert_allclose(odds(crf), expected ** (SHARE * crf.exponents_["transition"]))


def test_all_ways_to_predict_agree_with_all_paths(crf):
    paths = list(itertools.product(range(5), repeat=4))
    tokens = SequenceArray.from_sequences([x for x in X[:1] for _ in paths])
    ids = np.array(paths).ravel()
    structure, prepared = crf._structure(tokens), crf._prepare(tokens)
    scores = crf._scores(prepared, Batch(0, len(ids), structure, 0))
    values = structure.score(scores, ids)[0]
    probability = np.exp(values - np.logaddexp.reduce(values))
    marginals = np.zeros((4, 5))
    for p, path in zip(probability, paths, strict=True):
        marginals[np.arange(4), path] += p
    assert_allclose(crf.predict_proba(X[:1])[0], marginals, atol=2e-3)
    best = crf.classes_[list(paths[values.argmax()])].tolist()
    assert crf.predict(X[:1])[0] == best
    (found,) = crf.predict_k_best(X[:1], 5)
    assert found[0][0] == best
    assert_allclose([p for _, p in found], np.sort(probability)[::-1][:5], rtol=2e-3)
    assert_allclose(crf.confidence(X[:1]), probability.max(), rtol=2e-3)
    entropy = -(probability * np.log(probability)).sum()
    assert_allclose(crf.entropy(X[:1]), entropy, rtol=1e-2)
    assert len(crf.sample(X[:1], 3, random_state=0)) == 3


def test_training_goes_on(crf):
    parts = EmpiricalCRF(order=3).fit(X[:7], Y[:7]).partial_fit(X[7:], Y[7:])
    for ours, theirs in zip(parts.predict_proba(X), crf.predict_proba(X), strict=True):
        assert_array_equal(ours, theirs)
    parts.fit_exponents(X[:10], Y[:10])
    again = EmpiricalCRF(order=3, exponents=parts.exponents_).fit(X, Y)
    assert parts._run_rates[1].exponent == SHARE * parts.exponents_["transition"]
    assert_array_equal(parts.predict_proba(X[:2])[1], again.predict_proba(X[:2])[1])


def test_constraints_on_all_labels_of_a_sequence(crf):
    free = crf.predict(X[:2]).tolist()
    assert all(labels.count("1") == 2 for labels in free)
    found = crf.predict(X[:2], subject_to=[AtMost("1", 1)]).tolist()
    assert all(labels.count("1") <= 1 for labels in found)
    assert crf.predict(X[:2], subject_to=[AtMost("1", 2)]).tolist() == free


def test_what_it_refuses():
    with pytest.raises(ValueError, match="order"):
        EmpiricalCRF(order=4).fit(X, Y)
