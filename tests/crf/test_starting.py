"""Where training starts, and how it goes on."""

import numpy as np
import pytest
from log_linear import all_weights
from numpy.testing import assert_allclose
from sklearn.base import clone
from toy import make_corpus

from sklearn_crcrf import CRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.linear import Weights

X, y = make_corpus(n_sequences=40)
EXACT = {"tol": 1e-13, "max_iter": 5000}


def weights_of(crf):
    return Weights(crf.coef_, crf.transitions_, crf.begin_, crf.end_, crf.edge_coef_)


def start_of(crf, X, y):
    """The weights with which training starts."""
    with pytest.warns(match="max_iter=0"):
        return clone(crf).set_params(max_iter=0).fit(X, y)


@pytest.mark.parametrize("features", ["all", "observed"])
def test_counting_saves_iterations(features):
    words, labels = make_addresses(150, random_state=0)
    zeros = CRF(features=features).fit(words, labels)
    crf = CRF(features=features, init="empirical").fit(words, labels)
    assert_allclose(crf.loss_curve_[-1], zeros.loss_curve_[-1], rtol=1e-3)

    def iterations(crf, loss):
        return int(np.argmax(np.array(crf.loss_curve_) <= loss))

    for factor in (2.0, 1.5, 1.25):
        loss = factor * zeros.loss_curve_[-1]
        assert iterations(crf, loss) < iterations(zeros, loss)
    assert start_of(crf, words, labels).score(words, labels) > 0.8
    assert start_of(zeros, words, labels).score(words, labels) < 0.5


def test_the_empirical_start_is_counted():
    crf = start_of(CRF(init="empirical"), [["a", "b"], ["a"]], [["A", "B"], ["A"]])
    prior = np.array([3.0, 2.0]) / 5
    assert_allclose(crf.coef_[0], [0.4 * np.log1p(2 / prior[0]), 0])
    assert_allclose(crf.coef_[1], [0, 0.4 * np.log1p(1 / prior[1])])
    rate = (np.array([[0, 1.0], [0, 0]]) + np.outer(prior, prior)) / (2 * np.outer(prior, prior))
    assert_allclose(crf.transitions_, 0.4 * np.log(rate))


@pytest.mark.parametrize(
    "parameters", [{}, {"features": "observed"}, {"boundaries": True}], ids=str
)
def test_given_weights(parameters):
    optimum = CRF(**parameters, **EXACT).fit(X, y)
    crf = CRF(**parameters, init=weights_of(optimum), tol=1e-10)
    assert clone(crf).fit(X, y).n_iter_ <= 10
    assert_allclose(all_weights(start_of(crf, X, y)), all_weights(optimum))


def test_given_weights_must_fit():
    weights = weights_of(CRF().fit(X, y))
    with pytest.raises(ValueError, match=r"init.transition has shape \(3, 4\), but it must be"):
        CRF(init=weights._replace(transition=weights.transition[1:])).fit(X, y)
    with pytest.raises(ValueError, match=r"init.state has shape"):
        CRF(init=weights).fit(X[:3], y[:3])


def test_a_warm_start_goes_on():
    crf = CRF(warm_start=True, **EXACT).fit(X, y)
    first = all_weights(crf)
    assert crf.fit(X, y).n_iter_ <= 10
    assert_allclose(all_weights(crf), first, atol=1e-5)
    cold = CRF(sigma=1.1, tol=1e-9).fit(X, y)
    warm = clone(cold).set_params(sigma=1.0, warm_start=True).fit(X, y)
    warm.set_params(sigma=1.1).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert_allclose(warm.loss_curve_[-1], cold.loss_curve_[-1], rtol=1e-6)


def test_a_warm_start_on_other_attributes_and_labels():
    crf = CRF(warm_start=True, edge_columns=["token"], boundaries=True).fit(X, y)
    before = {**crf.state_features_}
    transitions = crf.transitions_
    more = [["first", *X[0]], *X[5:]]
    with pytest.warns(match="max_iter=0"):
        crf.set_params(max_iter=0).fit(more, [["E", *y[0]], *y[5:]])
    assert crf.classes_.tolist() == ["A", "B", "C", "D", "E"]
    names = set(crf.attribute_names_)
    kept = {pair: w for pair, w in before.items() if pair[0] in names}
    assert crf.state_features_ == kept
    assert_allclose(crf.transitions_[:4, :4], transitions)
    assert not crf.transitions_[4].any()
    new = crf.attribute_names_.tolist().index("first")
    assert not crf.edge_coef_[new].any()
    assert crf.edge_coef_.any()


def test_without_a_warm_start_fit_forgets():
    crf = CRF().fit(X[20:], y[20:])
    assert np.array_equal(crf.fit(X, y).coef_, CRF().fit(X, y).coef_)


def test_another_fit_leaves_nothing_of_the_one_before():
    crf = CRF().fit(np.eye(3), [0, 1, 0])
    crf.fit([["a", "b"]], [["x", "y"]])
    assert not hasattr(crf, "n_features_in_")
