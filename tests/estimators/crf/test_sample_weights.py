"""Weights of samples and of labels."""

import numpy as np
import pytest
from log_linear import all_weights, objective
from numpy.testing import assert_allclose
from toy import make_corpus

from sklearn_crcrf import CRF, SequenceArray

X, y = make_corpus(n_sequences=24)
ROWS = [np.random.default_rng(i).normal(size=(min(4, len(x)), 3)) for i, x in enumerate(X)]
SHORT = [s[:4] for s in y]
WEIGHTS = np.arange(24) % 3
EXACT = {"tol": 1e-13, "max_iter": 5000}


@pytest.mark.parametrize("parameters", [{}, {"features": "observed"}, {"c1": 0.2}], ids=str)
def test_a_weight_is_a_number_of_copies(parameters):
    copies = [i for i, n in enumerate(WEIGHTS) for _ in range(n)]
    crf = CRF(**parameters, **EXACT).fit(ROWS, SHORT, WEIGHTS)
    copied = CRF(**parameters, **EXACT).fit([ROWS[i] for i in copies], [SHORT[i] for i in copies])
    assert_allclose(all_weights(crf), all_weights(copied), atol=1e-5)
    left_out = CRF(**parameters, **EXACT).fit(ROWS, SHORT, WEIGHTS > 0)
    kept = np.flatnonzero(WEIGHTS)
    expected = CRF(**parameters, **EXACT).fit([ROWS[i] for i in kept], [SHORT[i] for i in kept])
    assert_allclose(all_weights(left_out), all_weights(expected), atol=1e-5)
    assert abs(all_weights(left_out) - all_weights(crf)).max() > 1e-3


def test_the_objective_is_a_weighted_sum():
    weights = np.random.default_rng(0).uniform(size=24)
    crf = CRF().fit(ROWS, SHORT, weights)
    corpus = list(zip(ROWS, SHORT, strict=True))
    assert_allclose(crf.loss_curve_[-1], objective(crf, corpus, weights))


def test_weights_of_tokens_are_averaged():
    nested = [
        [w + 0.5 * (-1) ** t for t in range(len(s))] for w, s in zip(WEIGHTS + 1, y, strict=True)
    ]
    means = [np.mean(w) for w in nested]
    expected = CRF().fit(X, y, means)
    for weights in (nested, SequenceArray.from_sequences(nested)):
        assert_allclose(CRF().fit(X, y, weights).coef_, expected.coef_, rtol=1e-6, atol=1e-9)


def test_weights_of_labels():
    weight = {"A": 3.0, "C": 0.5}
    means = [np.mean([weight.get(label, 1.0) for label in s]) for s in y]
    crf = CRF(class_weight=weight).fit(X, y)
    assert_allclose(crf.coef_, CRF().fit(X, y, means).coef_, rtol=1e-6, atol=1e-9)
    flat = np.concatenate(y)
    balanced = {label: len(flat) / (4 * np.sum(flat == label)) for label in "ABCD"}
    assert_allclose(
        CRF(class_weight="balanced").fit(X, y).coef_,
        CRF(class_weight=balanced).fit(X, y).coef_,
        rtol=1e-6,
        atol=1e-9,
    )
    # Labels that are not known count 1.
    partial = [[None, *s[1:]] for s in y]
    means = [np.mean([1.0, *(weight.get(label, 1.0) for label in s[1:])]) for s in y]
    assert_allclose(
        CRF(class_weight=weight).fit(X, partial).coef_,
        CRF().fit(X, partial, means).coef_,
        rtol=1e-6,
        atol=1e-9,
    )


def test_bad_weights_are_named():
    with pytest.raises(ValueError, match="sample_weight is zero for all tokens"):
        CRF().fit(X, y, np.zeros(24))
    with pytest.raises(ValueError, match="sample_weight, sequence 3, position 0"):
        CRF().fit(X, y, [1, 1, 1, -1, *np.ones(20)])
    with pytest.raises(ValueError, match="leave no sequence with any weight"):
        CRF(class_weight=dict.fromkeys("ABCD", 0)).fit(X, y)
    with pytest.raises(ValueError, match="validation_fraction leaves nothing of 1 sequences"):
        CRF(validation_fraction=0.5).fit(X, y, np.arange(24) == 0)
