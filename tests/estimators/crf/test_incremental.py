"""Training on one part of the data after the other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from toy import make_corpus

from sklearn_crcrf import CRF

X, y = make_corpus(n_sequences=120)


@pytest.mark.parametrize("features", ["all", "observed"])
def test_parts_lead_towards_the_optimum(features):
    optimum = CRF(features=features).fit(X, y)
    crf, losses = CRF(features=features, random_state=0), []
    for _ in range(10):
        losses.append(0.0)
        for k in range(0, 120, 40):
            crf.partial_fit(X[k : k + 40], y[k : k + 40])
            losses[-1] += crf.loss_curve_[0]
    assert losses[-1] < 1.1 * optimum.loss_curve_[-1] < losses[0]
    assert crf.coef_.shape == optimum.coef_.shape
    if features == "observed":
        assert set(crf.state_features_) == set(optimum.state_features_)
        assert set(crf.transition_features_) == set(optimum.transition_features_)
    assert crf.get_params() == CRF(features=features, random_state=0).get_params()
    assert crf.n_iter_ == len(crf.loss_curve_) == 1


@pytest.mark.parametrize("features", ["all", "observed"])
def test_new_attributes_and_labels_may_come(features):
    crf = CRF(features=features, random_state=0).partial_fit([["a", "b"]] * 4, [["A", "B"]] * 4)
    assert crf.coef_.shape == (2, 2)
    for _ in range(3):
        crf.partial_fit([["c", "a", "d"]] * 4, [["0", "A", "Z"]] * 4)
        crf.partial_fit([["a", "b"]] * 4, [["A", "B"]] * 4)
    assert crf.classes_.tolist() == ["0", "A", "B", "Z"]
    assert crf.attribute_names_.tolist() == ["a", "b", "c", "d"]
    assert crf.predict([["c", "a", "d"], ["a", "b"]]).tolist() == [["0", "A", "Z"], ["A", "B"]]


def test_labels_may_be_declared():
    crf = CRF().partial_fit(X[:1], y[:1], classes=["D", "E", "A", "C", "B"])
    assert crf.classes_.tolist() == ["A", "B", "C", "D", "E"]
    crf.partial_fit(X, y, classes=["A", "B", "C", "D", "E"])
    with pytest.raises(ValueError, match="not the same as in the first call"):
        crf.partial_fit(X, y, classes=["A", "B"])
    with pytest.raises(ValueError, match="not among the classes"):
        CRF().partial_fit(X, y, classes=["A", "B"])


def test_numbers():
    rows = [np.random.default_rng(i).normal(size=(len(s), 2)) for i, s in enumerate(y)]
    rows = [r + (np.array(s) == "A")[:, None] * 3 for r, s in zip(rows, y, strict=True)]
    crf = CRF(boundaries=True, random_state=0)
    for k in range(0, 120, 40):
        crf.partial_fit(rows[k : k + 40], y[k : k + 40])
    assert crf.coef_.shape == (2, 4)
    with pytest.raises(ValueError, match="3 features"):
        crf.partial_fit([np.ones((1, 3))], [["A"]])


def test_the_first_part_is_an_epoch():
    crf = CRF(random_state=0).partial_fit(X, y)
    with pytest.warns(match="max_iter=1"):
        epoch = CRF(solver="sgd", max_iter=1, random_state=0).fit(X, y)
    assert_allclose(crf.coef_, epoch.coef_)


def test_fit_forgets_the_parts():
    crf = CRF().partial_fit(X[:20], y[:20])
    assert np.array_equal(crf.fit(X, y).coef_, CRF().fit(X, y).coef_)


def test_all_parts_share_the_penalty():
    """Of many parts, the penalty is as small against the losses as in a fit to all of them."""
    one = CRF(sigma=0.1).fit(X[:40], y[:40])
    crf = CRF(sigma=0.1, random_state=0)
    for _ in range(8):
        crf.partial_fit(X[:40], y[:40])
    assert np.linalg.norm(crf.coef_) > 2 * np.linalg.norm(one.coef_)


def test_absolute_values_cannot_be_penalised():
    with pytest.raises(ValueError, match=r"c1=0\.1"):
        CRF(c1=0.1).partial_fit(X, y)


def test_a_failed_part_leaves_the_model_as_it_was():
    crf = CRF(random_state=0).partial_fit(X, y)
    before = crf.coef_.copy()
    with pytest.raises(ValueError, match="sequences"):
        crf.partial_fit(X, y[1:])
    assert np.array_equal(crf.coef_, before)
    assert crf.get_params() == CRF(random_state=0).get_params()


def test_parts_have_no_absolute_penalty():
    with pytest.raises(ValueError, match="partial_fit has no penalty of absolute values"):
        CRF(c1=0.1).partial_fit([["a"]], [["x"]])
