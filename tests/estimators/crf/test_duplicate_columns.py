"""Attributes that are equal in all tokens: training is what it is without sharing their weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.linear import Weights
from sklearn_crcrf.linear import problem as problems

N_ATTRIBUTES, N_LABELS = 12, 3


def tokens(n_sequences=40, seed=0):
    """Some of the attributes are equal: four, three and two of them."""
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(rng.integers(1, 8, size=n_sequences)))
    X = (rng.random((offsets[-1], N_ATTRIBUTES)) < 0.3).astype(float)
    X[:, [3, 7, 9]] = X[:, [1]]
    X[:, [4, 10]] = X[:, [2]]
    X[:, 11] = X[:, 6]
    y = (X[:, [1, 2, 0]] @ [1, 1, 1] + rng.integers(2, size=len(X))).astype(int) % N_LABELS
    return SequenceArray(sp.csr_array(X), offsets), SequenceArray(y, offsets)


@pytest.fixture
def apart(monkeypatch):
    """No weights are shared."""

    def fit(crf, *data):
        with monkeypatch.context() as patch:
            patch.setattr(problems, "FEWER", -1)
            return crf.fit(*data)

    return fit


@pytest.fixture
def n_attributes(monkeypatch):
    """How many attributes each shard has."""
    seen, shard = [], problems.Problem.shard

    def spy(problem, *args, **options):
        seen.append(problem.corpus.X.shape[1])
        return shard(problem, *args, **options)

    monkeypatch.setattr(problems.Problem, "shard", spy)
    return seen


def assert_same(one, two):
    for name in ("coef_", "transitions_", "begin_", "edge_coef_"):
        a, b = (getattr(crf, name) for crf in (one, two))
        if sp.issparse(a):
            assert_array_equal(a.indices, b.indices)
            a, b = a.toarray(), b.toarray()
        assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    assert_allclose(one.loss_curve_, two.loss_curve_, rtol=1e-7)


@pytest.mark.parametrize("features", ["all", "observed"])
@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_training_goes_the_same_way(features, sigma, apart, n_attributes):
    data = tokens()
    crf = CRF(features=features, sigma=sigma, boundaries=True, max_iter=15, tol=0)
    with pytest.warns(UserWarning, match="converge"):
        one, two = clone(crf).fit(*data), apart(crf, *data)
    assert n_attributes == [6, 12]
    assert_same(one, two)


def test_validation_is_the_same(apart, n_attributes):
    data = tokens()
    crf = CRF(validation_fraction=0.3, n_iter_no_change=2, sigma=10.0, random_state=0)
    one, two = clone(crf).fit(*data), apart(crf, *data)
    assert n_attributes == [6, 6, 12, 12]
    assert_allclose(one.validation_curve_, two.validation_curve_, rtol=1e-5)
    assert_same(one, two)


def test_attributes_of_transitions_stay_apart(apart, n_attributes):
    data = tokens()
    crf = CRF(edge_columns=[7, 2], max_iter=15, tol=0)
    with pytest.warns(UserWarning, match="converge"):
        one, two = clone(crf).fit(*data), apart(crf, *data)
    assert n_attributes == [8, 12]
    assert_same(one, two)


def test_different_starting_weights_are_not_tied(n_attributes):
    X, y = tokens()
    coef = np.zeros((N_ATTRIBUTES, N_LABELS))
    coef[3, 0] = 1.0
    zeros = np.zeros(N_LABELS)
    start = Weights(coef, np.zeros((3, 3)), zeros, zeros, np.zeros((0, 3, 3)))
    CRF(init=start).fit(X, y)
    coef[[1, 7, 9], 0] = 1.0
    CRF(init=start).fit(X, y)
    assert n_attributes == [12, 6]


def test_training_goes_on_from_tied_weights(apart, n_attributes):
    data = tokens()
    one, two = CRF(warm_start=True, tol=1e-9), CRF(warm_start=True, tol=1e-9)
    one.fit(*data), apart(two, *data)
    one.set_params(sigma=2.0).fit(*data)
    apart(two.set_params(sigma=2.0), *data)
    assert n_attributes == [6, 12, 6, 12]
    assert_allclose(one.loss_curve_[-1], two.loss_curve_[-1])
    assert_allclose(one.coef_, two.coef_, atol=1e-3)
