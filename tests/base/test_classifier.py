"""The base class, over a chain whose scores are read from X itself."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from read_scores import ReadScores, enumerate_paths, fitted
from scipy.special import logsumexp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.base import batches
from sklearn_crcrf.base.batches import batches_of
from sklearn_crcrf.data.sequences import as_sequences
from sklearn_crcrf.structures import Chain

scores = arrays(np.float64, st.tuples(st.integers(0, 4), st.just(3)), elements=st.floats(-3, 3))


@settings(max_examples=30, deadline=None)
@given(st.lists(scores, max_size=4), st.integers(1, 7))
def test_every_prediction_is_that_of_enumeration(X, chunk):
    crf = fitted()
    before, batches.CHUNK = batches.CHUNK, chunk  # so that there are many batches
    try:
        predicted = crf.predict(X)
        marginals, logs = crf.predict_proba(X), crf.predict_log_proba(X)
        best, confidence = crf.predict_k_best(X, k=3), crf.confidence(X)
    finally:
        batches.CHUNK = before
    assert len(predicted) == len(marginals) == len(logs) == len(best) == len(confidence) == len(X)
    for i, s in enumerate(X):
        paths, values = enumerate_paths(s)
        probability = np.exp(values - logsumexp(values))
        assert probability[(paths == [*map("ABC".index, predicted[i])]).all(axis=1)].max(
            initial=0
        ) == pytest.approx(probability.max())
        assert confidence[i] == pytest.approx(probability.max())
        expected = np.zeros(s.shape)
        for path, p in zip(paths, probability, strict=True):
            expected[np.arange(len(s)), path] += p
        np.testing.assert_allclose(marginals[i], expected, atol=1e-12)
        np.testing.assert_allclose(np.exp(logs[i]), expected, atol=1e-12)
        top = np.sort(probability)[::-1][:3]
        np.testing.assert_allclose([p for _, p in best[i]], top, atol=1e-12)
        assert len({tuple(labels) for labels, _ in best[i]}) == len(top)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 100))
def test_batches_are_whole_sequences_in_order(lengths, scores_per_token):
    offsets = np.append(0, np.cumsum(lengths))
    before, batches.CHUNK = batches.CHUNK, 100
    try:
        found = list(batches_of(Chain(offsets), scores_per_token))
    finally:
        batches.CHUNK = before
    assert found[0].start == 0
    assert found[-1].stop == offsets[-1]
    joined = np.concatenate([[0], *(b.start + b.structure.offsets[1:] for b in found)])
    assert joined.tolist() == offsets.tolist()
    for batch in found:
        is_single = batch.structure.n_units == 1
        assert is_single or (batch.stop - batch.start) * scores_per_token <= 100


def test_lists_are_mirrored():
    X = [np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((2, 3))]
    crf = fitted()
    predicted = crf.predict(X)
    assert isinstance(predicted, np.ndarray)
    assert predicted.shape == (3,)
    assert predicted.dtype == object
    assert [type(labels) for labels in predicted] == [list] * 3
    assert {type(label) for labels in predicted for label in labels} == {str}
    assert isinstance(crf.predict_proba(X), list)
    assert [p.shape for p in crf.predict_proba(X)] == [(2, 3), (0, 3), (2, 3)]


def test_sequence_arrays_and_tables_are_mirrored():
    crf = fitted()
    X = SequenceArray(np.zeros((3, 3)), [0, 2, 2, 3])
    for method in (crf.predict, crf.predict_proba, crf.predict_log_proba):
        assert isinstance(method(X), SequenceArray)
        assert method(X).lengths.tolist() == [2, 0, 1]
    table = np.zeros((3, 3))
    assert crf.predict(table).shape == (3,)
    assert crf.predict_proba(sp.csr_array(table)).shape == (3, 3)
    assert crf.confidence(table).shape == (3,)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "confidence", "predict_k_best"])
def test_nothing_in_nothing_out(method):
    assert len(getattr(fitted(), method)([])) == 0


def test_impossible_sequences():
    X = [np.zeros((2, 3)), np.array([[0.0, 1.0, 2.0], [-np.inf] * 3])]
    crf = fitted()
    sequences = SequenceArray.from_sequences(X)
    crf._check_X = lambda X, y=None: as_sequences(SequenceArray(np.zeros((4, 3)), [0, 2, 4]), y)
    crf._prepare = lambda X: sequences.data
    assert crf.confidence(X)[0] > 0
    assert crf.confidence(X)[1] == 0
    assert [len(paths) for paths in crf.predict_k_best(X)] == [5, 0]
    for method in (crf.predict, crf.predict_proba, crf.sample):
        with pytest.raises(ValueError, match="no path of sequence 1 is possible"):
            method(X)
    assert np.isnan(crf.entropy(X)[1])


def test_paths_of_allowed_labels():
    crf, X = fitted(), [np.zeros((2, 3)), np.array([[0.0, 1.0, 2.0]])]
    assert crf.predict(X, allowed=[["B", {"A", "C"}], [None]]).tolist()[0][0] == "B"
    assert crf.predict(X, allowed=[[None, None], ["A"]]).tolist()[1] == ["A"]
    with pytest.raises(ValueError, match="allowed, sequence 1, position 0"):
        crf.predict(X, allowed=[[None, None], ["D"]])


def test_samples_follow_the_marginals():
    crf, X = fitted(), [np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5]])]
    drawn = np.array([sample.tolist()[0] for sample in crf.sample(X, 4000, random_state=0)])
    frequencies = (drawn[:, :, None] == crf.classes_).mean(axis=0)
    np.testing.assert_allclose(frequencies, crf.predict_proba(X)[0], atol=0.03)
    again = crf.sample(X, 4000, random_state=0)
    assert [sample.tolist()[0] for sample in again] == drawn.tolist()


def test_k_must_be_positive():
    with pytest.raises(ValueError, match="k == 0, must be >= 1"):
        fitted().predict_k_best([np.zeros((1, 3))], k=0)


def test_true_is_a_number_of_paths_and_of_samples():
    crf, X = fitted(), [np.zeros((2, 3))]
    assert crf.predict_k_best(X, k=True) == crf.predict_k_best(X, k=1)
    assert len(crf.sample(X, True, random_state=0)) == 1


def test_number_of_columns():
    crf = fitted()
    assert crf.n_features_in_ == 3
    for X in ([np.zeros((1, 2))], SequenceArray(np.zeros((1, 2)), [0, 1]), np.zeros((1, 2))):
        with pytest.raises(ValueError, match="X has 2 features, but ReadScores is expecting 3"):
            crf.predict(X)
    crf.fit(np.zeros((2, 2)), ["A", "B"])
    assert crf.n_features_in_ == 2


def test_threads_do_not_matter():
    X = list(np.random.default_rng(0).normal(size=(50, 4, 3)))
    before, batches.CHUNK = batches.CHUNK, 40
    try:
        one, two = fitted(n_jobs=1).predict_proba(X), fitted(n_jobs=2).predict_proba(X)
    finally:
        batches.CHUNK = before
    assert np.array_equal(one, two)


def test_score_is_the_weighted_accuracy_of_tokens():
    X = [np.array([[9.0, 0, 0], [0, 9, 0]]), np.empty((0, 3)), np.array([[0.0, 0, 9]])]
    y = [["A", "A"], [], ["C"]]
    crf = fitted()
    assert crf.score(X, y) == pytest.approx(2 / 3)
    assert crf.score(X, y, sample_weight=[1, 5, 3]) == pytest.approx(4 / 5)
    assert crf.score(X, y, sample_weight=[[1, 0], [], [0]]) == 1
    assert crf.score(X, [["A", 1], [], [("C",)]]) == pytest.approx(1 / 3)
    assert crf.score(np.vstack(X), ["A", "A", "C"], [1, 1, 2]) == pytest.approx(3 / 4)
    with pytest.raises(ValueError, match="nothing to score"):
        crf.score([], [])
    with pytest.raises(ValueError, match="nothing to score"):
        crf.score(X, y, sample_weight=[0, 1, 0])


def test_tags():
    from sklearn.base import is_classifier

    assert not is_classifier(ReadScores())
    assert is_classifier(ReadScores(sample_unit="token"))


def test_rows_of_one_token_are_warned_of():
    rows, labels = np.eye(4), ["a", "b", "a", "b"]
    with pytest.warns(UserWarning, match="every row of X is a sequence of one token"):
        CRF().fit(rows, labels)
    index = pd.MultiIndex.from_product([[0, 1], [0, 1]])
    frame = pd.DataFrame(rows, index=index, columns=[*"abcd"])
    with pytest.warns(UserWarning, match="keeps this index within PerToken"):
        make_pipeline(StandardScaler(), CRF()).fit(frame, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler = StandardScaler().set_output(transform="pandas")
        make_pipeline(scaler, CRF()).fit(frame, labels)
