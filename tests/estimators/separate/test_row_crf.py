"""RowCRF: a CRF of sequences of one token, against CRF and against its formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.estimators.separate import row_crf as module
from sklearn_crcrf.estimators.separate.row_crf import RowCRF, as_row_classifier, distinct_rows
from sklearn_crcrf.structures import Chain, Rows, Scores


def rows(n=60, n_attributes=8, n_labels=4, seed=0):
    """Sparse rows, many of which are equal."""
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 3, size=(12, n_attributes)) * (rng.random((12, n_attributes)) < 0.4)
    X = sp.csr_array(few[rng.integers(12, size=n)].astype(float))
    return X, rng.integers(n_labels, size=n), rng.integers(0, 3, size=n).astype(float)


def of_sequences(crf, X, y, weight):
    """The same by CRF, whose tokens have a column of ones and no neighbours."""
    ones = sp.csr_array(np.ones((X.shape[0], 1)))
    every = np.arange(X.shape[0] + 1)
    tokens = SequenceArray(sp.csr_array(sp.hstack([X, ones])), every)
    return crf.fit(tokens, SequenceArray(y, every), weight).coef_


@pytest.mark.parametrize(
    "parameters",
    [{}, {"sigma": 0.5, "features": "observed"}, {"c1": 0.7}, {"dtype": "float32"}],
)
@pytest.mark.parametrize("dense", [False, True])
def test_it_has_the_weights_of_a_crf_of_single_tokens(parameters, dense):
    X, y, weight = rows()
    crf = CRF(**{"tol": 1e-10, **parameters})
    expected = of_sequences(crf, X, y, weight)
    fitted = RowCRF(crf).fit(X.toarray() if dense else X, y, weight)
    found = sp.vstack([sp.csr_array(fitted.coef_), sp.csr_array(fitted.intercept_[None])])
    atol = 1e-3 if crf.dtype else 3e-5
    assert_allclose(found.toarray(), sp.csr_array(expected).toarray(), atol=atol)
    assert sp.issparse(fitted.coef_) == ("c1" in parameters or "features" in parameters)
    scores = X @ fitted.coef_ + fitted.intercept_
    scores = scores.toarray() if sp.issparse(scores) else scores
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert_allclose(fitted.predict_proba(X), p, rtol=1e-5)


def test_equal_rows_are_trained_on_as_one(monkeypatch):
    X, y, weight = rows()
    merged = RowCRF(CRF(tol=1e-12)).fit(X, y, weight)
    monkeypatch.setattr(module, "FEWER", 0.0)
    single = RowCRF(CRF(tol=1e-12)).fit(X, y, weight)
    assert_allclose(merged.coef_, single.coef_, atol=1e-6)


def test_distinct_rows_are_told_apart_even_if_their_keys_are_equal(monkeypatch):
    X, y, _ = rows()
    like = distinct_rows(X, y)
    dense = X.toarray()
    for t, first in enumerate(like):
        equal = (dense == dense[t]).all(axis=1) & (y == y[t])
        assert first == np.flatnonzero(equal)[0]
    monkeypatch.setattr(module, "MIX", np.uint64(0))  # all keys are equal
    like = distinct_rows(X, y)
    assert_array_equal(dense[like], dense)
    assert_array_equal(y[like], y)


@pytest.mark.parametrize("features", ["all", "observed"])
def test_training_goes_on_from_other_weights(features):
    X, y, _ = rows()
    crf = CRF(features=features, tol=1e-10)
    some = RowCRF(crf).fit(X[y != 2], y[y != 2])
    plain, warm = RowCRF(crf).fit(X, y), RowCRF(crf).fit(X, y, start=lambda: some.weights)
    again = RowCRF(crf).fit(X, y, start=lambda: plain.weights)
    assert again.loss_curve_[0] < plain.loss_curve_[0] and again.n_iter_ < plain.n_iter_ / 2
    for other in (warm, again):
        assert_allclose(*(sp.csr_array(it.coef_).toarray() for it in (plain, other)), atol=1e-4)


def test_the_result_does_not_depend_on_threads():
    X, y, _ = rows(2000)
    one, two = (RowCRF(CRF()).fit(X, y, n_threads=n) for n in (1, 2))
    assert_array_equal(one.coef_, two.coef_)


def test_other_parameters_are_refused():
    X, y, _ = rows()
    assert as_row_classifier(module, "pairs") is module
    with pytest.raises(ValueError, match=r"crf=CRF\(criterion='mce'\)"):
        RowCRF(CRF("mce")).fit(X, y)
    with pytest.raises(ValueError, match=r"crf=CRF\(constraints='IOB2'\)"):
        RowCRF(CRF(constraints="IOB2")).fit(X, y)
    with pytest.raises(ValueError, match="'sigma' parameter"):
        RowCRF(CRF(sigma=-1.0)).fit(X, y)
    with pytest.raises(ValueError, match='solver="newton-cg" needs covariance'):
        RowCRF(CRF(solver="newton-cg")).fit(X, y)


def test_the_structure_of_rows_is_that_of_chains_of_one_token():
    rng = np.random.default_rng(0)
    scores, y = Scores.of(3 * rng.normal(size=(5, 4)), np.zeros((4, 4))), rng.integers(4, size=5)
    structure, chain, weight = Rows(5), Chain(np.arange(6)), rng.random(5)
    for method in ("marginals", "maximum"):
        for found, expected in zip(
            getattr(structure, method)(scores), getattr(chain, method)(scores), strict=True
        ):
            assert_allclose(found, expected, atol=1e-12)
    for labels in (y, rng.random((5, 4)) < 0.6):
        labels = labels if labels.ndim == 1 else labels | (y[:, None] == np.arange(4))
        for out in (None, np.empty((5, 4))):
            found, expected = (
                log_loss.value_and_gradient(it, scores, labels, weight, out)
                for it in (structure, chain)
            )
            assert_allclose(found[0], expected[0], atol=1e-12)
            assert_allclose(found[1].state, expected[1].state, atol=1e-12)
    assert structure.take(slice(1, 3)).n_units == structure.take(np.array([4, 0])).n_units == 2
    assert [len(ends) for ends in structure.links()] == [0, 0]


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_large_scores_do_not_overflow(dtype):
    state = np.array([[1e4, 1e4 - 1, -1e4], [-1e4, -1e4, -1e4], [50.0, 0.0, -50.0]], dtype=dtype)
    log_z, marginals = Rows(3).marginals(Scores.of(state, np.zeros((3, 3))))
    e = np.exp(-1.0)
    assert_allclose(log_z, [1e4 + np.log1p(e), -1e4 + np.log(3), 50.0], rtol=1e-6)
    expected = [[1 / (1 + e), e / (1 + e), 0], [1 / 3] * 3, [1, 0, 0]]
    assert_allclose(marginals, expected, atol=1e-6)


def test_impossible_labels_of_rows():
    scores = Scores.of(np.array([[-np.inf, 0.0], [-np.inf, -np.inf]]), np.zeros((2, 2)))
    log_z, marginals = Rows(2).marginals(scores)
    assert_array_equal(log_z, [0.0, -np.inf])
    assert_array_equal(marginals, [[0.0, 1.0], [0.0, 0.0]])
