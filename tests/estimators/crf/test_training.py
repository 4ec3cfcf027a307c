"""Solvers reach the optimum, and the same one; what a fit reports."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from log_linear import all_weights, distribution, rows_of, score
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from toy import make_corpus

from sklearn_crcrf import CRF
from sklearn_crcrf.criteria import log_loss

X, y = make_corpus(n_sequences=40)
RNG = np.random.default_rng(0)
ROWS = [RNG.normal(size=(len(x), 3)) for x in X]
EXACT = {"tol": 1e-13, "max_iter": 5000}


@pytest.fixture(scope="module")
def optimum():
    return CRF(sigma=0.5, **EXACT).fit(X, y)


@for_each(("n_labels", "factor"), [(3, 1.0), (2, 2.0)])
@for_each("kind", [np.asarray, sp.csr_array])
def test_rows_alone_are_a_logistic_regression(n_labels, factor, kind):
    rng = np.random.default_rng(n_labels)
    rows = rng.normal(size=(120, 4))
    labels = np.array(["a", "b", "c"])[(rows @ rng.normal(size=(4, n_labels)) * 2).argmax(axis=1)]
    labels = np.where(rng.random(120) < 0.2, "a", labels)
    crf = CRF(sigma=1.5, sample_unit="token", **EXACT).fit(kind(rows), labels)
    # For two labels LogisticRegression penalises the difference of their weights.
    regression = LogisticRegression(
        fit_intercept=False, C=factor * 1.5**2, tol=1e-12, max_iter=5000
    ).fit(rows, labels)
    assert crf.classes_.tolist() == regression.classes_.tolist()
    assert_allclose(crf.predict_proba(rows), regression.predict_proba(rows), atol=1e-6)
    contrast = crf.coef_.T - crf.coef_.T[0]
    expected = regression.coef_ - regression.coef_[0] if n_labels > 2 else regression.coef_
    assert_allclose(contrast[1:] if n_labels == 2 else contrast, expected, atol=1e-5)
    assert_allclose(crf.transitions_, 0, atol=1e-12)


@for_each("solver", ["lbfgs", "owlqn", "newton-cg", "cg"])
@for_each("features", ["all", "observed"])
def test_solvers_reach_the_same_optimum(solver, features):
    expected = CRF(sigma=0.5, features=features, **EXACT).fit(X, y)
    crf = CRF(sigma=0.5, features=features, solver=solver, **EXACT).fit(X, y)
    assert_allclose(crf.loss_curve_[-1], expected.loss_curve_[-1], rtol=1e-9)
    assert_allclose(all_weights(crf), all_weights(expected), atol=1e-4)


@for_each(
    ("solver", "options", "rtol"),
    [
        ("gis", {"tol": 1e-8, "max_iter": 3000}, 1e-5),
        ("sgd", {"tol": 1e-6, "max_iter": 200, "random_state": 0}, 1e-2),
        ("rprop", {"tol": 1e-8}, 1e-5),
        ("quickprop", {"tol": 1e-8}, 1e-5),
    ],
)
def test_slow_solvers_come_close(solver, options, rtol, optimum):
    crf = CRF(sigma=0.5, solver=solver, **options).fit(X, y)
    assert_allclose(crf.loss_curve_[-1], optimum.loss_curve_[-1], rtol=rtol)


@pytest.mark.parametrize("features", ["all", "observed"])
def test_the_optimum_does_not_depend_on_how_attributes_are_stored(features):
    crf = CRF(features=features, **EXACT)
    dense = all_weights(crf.fit(ROWS, y))
    sparse = all_weights(crf.fit([sp.csr_array(row) for row in ROWS], y))
    assert_allclose(sparse, dense, atol=1e-5)


def test_observed_columns_of_a_dense_array():
    # Every column is seen with one label only.
    one_hot = [np.eye(4)[["ABCD".index(label) for label in s]] for s in y]
    crf = CRF(features="observed").fit(one_hot, y)
    assert_allclose(crf.coef_.nonzero(), [range(4), range(4)])


def counts(crf, rows, paths, probability):
    """How often attributes with labels, transitions, first and last labels are expected."""
    n_labels = len(crf.classes_)
    state = np.zeros((rows.shape[1], n_labels))
    transition, begin, end = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    for path, p in zip(paths, probability, strict=True):
        np.add.at(state.T, list(path), p * rows)
        np.add.at(transition, (path[:-1], path[1:]), p)
        begin[path[0]] += p
        end[path[-1]] += p
    return np.concatenate([part.ravel() for part in (state, transition, begin, end)])


@for_each("c1", [0.0, 0.7])
@for_each("features", ["all", "observed"])
def test_the_subgradient_is_zero(features, c1):
    short = [(x[:4], s[:4]) for x, s in zip(X, y, strict=True)]
    crf = CRF(sigma=2.0, c1=c1, features=features, boundaries=True, **EXACT)
    crf.fit(*zip(*short, strict=True))
    expected = seen = 0.0
    for x, labels in short:
        rows, ids = rows_of(crf, x), tuple("ABCD".index(label) for label in labels)
        expected = expected + counts(crf, rows, *distribution(crf, rows))
        seen = seen + counts(crf, rows, [ids], [1.0])
    w = all_weights(crf)
    slope = expected - seen + w / crf.sigma**2
    ends = np.arange(len(w)) >= len(w) - 8
    trained = (seen > 0) | ends if features == "observed" else np.ones(len(w), dtype=bool)
    assert_allclose((slope + c1 * np.sign(w))[trained & (w != 0)], 0, atol=1e-5)
    assert abs(slope[trained & (w == 0)]).max(initial=0) <= c1 + 1e-5
    assert not w[~trained].any()
    assert (np.count_nonzero(w[trained]) < trained.sum()) == (c1 > 0)


def test_observed_values_may_cancel():
    tokens = [[{"sign": 1, "is": False}, {"sign": -1, "is": True}]], [["A", "A"]]
    more = [[{"sign": 1, "is": False}]], [["B"]]
    crf = CRF(features="observed").fit(tokens[0] + more[0], tokens[1] + more[1])
    # The sum of the signs with A is zero, and "is" is only zero with B; both have a weight.
    assert crf.coef_.nnz == 4
    assert set(crf.state_features_) == {(a, b) for a in ("sign", "is") for b in "AB"}


def test_observed_features():
    crf = CRF(features="observed").fit(X, y)
    names, labels = crf.attribute_names_, crf.classes_
    stored = sp.coo_array(crf.coef_)
    pairs = {
        (word, label) for x, s in zip(X, y, strict=True) for word, label in zip(x, s, strict=True)
    }
    assert set(zip(names[stored.row], labels[stored.col], strict=True)) == pairs
    follow = {(a, b) for s in y for a, b in pairwise(s)}
    assert set(crf.transition_features_) == follow
    assert len(follow) < 16


def test_rare_attributes_are_left_out():
    frequency = Counter(word for x in X for word in x)
    crf = CRF(min_freq=3).fit(X, y)
    assert set(crf.attribute_names_) == {word for word, n in frequency.items() if n >= 3}
    masked = [[word if frequency[word] >= 3 else "?" for word in x] for x in X]
    assert crf.predict(X).tolist() == crf.predict(masked).tolist()
    table = np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.5, 3.0, 0.0]])
    crf = CRF(min_freq=2).fit(table, ["a", "b", "a"])
    assert crf.attribute_names_.tolist() == ["x0"]
    assert_allclose(crf.predict_proba(table), crf.predict_proba(table * [1, 7, 7]))


def test_the_loss_falls_in_every_iteration():
    crf = CRF(sigma=3.0, **EXACT).fit(X, y)
    assert (np.diff(crf.loss_curve_) <= 0).all()
    assert len(crf.loss_curve_) == crf.n_iter_ > 10
    assert crf.converged_
    assert crf.validation_curve_ == []


def test_too_few_iterations():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        crf = CRF(max_iter=3).fit(X, y)
    assert crf.n_iter_ == 3
    assert not crf.converged_
    assert crf.score(X, y) > 0.5
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        assert_allclose(CRF(max_iter=0).fit(X, y).coef_, 0)


def test_progress_is_told(capsys):
    crf = CRF(verbose=4, validation_fraction=0.2, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == crf.n_iter_ // 4
    pattern = (
        r"iteration 4: [\d.]+ s, loss ([\d.]+), gradient norm [\d.]+, validation loss ([\d.]+)"
    )
    loss, validation_loss = map(float, re.fullmatch(pattern, lines[0]).groups())
    assert_allclose(loss, crf.loss_curve_[3], rtol=1e-4)
    assert_allclose(validation_loss, crf.validation_curve_[3], rtol=1e-4)
    CRF().fit(X, y)
    assert capsys.readouterr().out == ""


@for_each(
    "parameters",
    [{}, {"features": "observed"}, {"c1": 0.1}, {"solver": "sgd", "random_state": 0}],
)
def test_threads_do_not_change_a_bit(parameters):
    one = CRF(n_jobs=1, **parameters).fit(X, y)
    two = CRF(n_jobs=2, **parameters).fit(X, y)
    assert one.loss_curve_ == two.loss_curve_
    assert np.array_equal(all_weights(one), all_weights(two))
    assert np.array_equal(np.vstack(one.predict_proba(X)), np.vstack(two.predict_proba(X)))


def test_random_state():
    crf = CRF(solver="sgd", validation_fraction=0.2, random_state=1)
    first, again = crf.fit(X, y).coef_, crf.fit(X, y).coef_
    assert np.array_equal(first, again)
    assert not np.array_equal(first, crf.set_params(random_state=2).fit(X, y).coef_)


def test_single_precision(optimum):
    crf = CRF(sigma=0.5, dtype="float32", tol=1e-7).fit(X, y)
    assert crf.coef_.dtype == np.float32
    assert_allclose(crf.loss_curve_[-1], optimum.loss_curve_[-1], rtol=1e-5)
    assert_allclose(crf.coef_, optimum.coef_, atol=2e-3)
    assert CRF().fit([rows.astype(np.float32) for rows in ROWS], y).coef_.dtype == np.float32
    assert CRF(dtype="float64").fit([r.astype(np.float32) for r in ROWS], y).coef_.dtype == float


def test_the_best_iterate_of_the_validation_is_kept():
    crf = CRF(sigma=100.0, validation_fraction=0.3, n_iter_no_change=5, random_state=0, tol=0.0)
    crf.fit(X, y)
    curve = crf.validation_curve_
    best = int(np.argmin(curve))
    assert best < len(curve) - 1
    assert crf.n_iter_ == len(curve) == best + 6
    assert crf.converged_
    # Training goes through the same points, whatever the number of iterations.
    with pytest.warns(ConvergenceWarning):
        shorter = clone(crf).set_params(max_iter=best + 1).fit(X, y)
    assert np.array_equal(crf.coef_, shorter.coef_)
    assert shorter.validation_curve_ == curve[: best + 1]
    loss = -np.mean([log_probability(crf, X[i], y[i]) for i in held_out_sequences(12)])
    assert_allclose(loss, curve[best])


def held_out_sequences(n):
    longest_first = sorted(range(40), key=lambda i: -len(X[i]))
    return [longest_first[i] for i in np.random.RandomState(0).permutation(40)[:n]]


def log_probability(crf, x, labels):
    """Of the labels of a long sequence, by their distance to the best ones."""
    rows = rows_of(crf, x)
    gold, best = (
        score(crf, rows, ["ABCD".index(label) for label in path])
        for path in (labels, crf.predict([x])[0])
    )
    return gold - best + np.log(crf.confidence([x])[0])


def test_validation_does_not_change_the_objective():
    held_out = held_out_sequences(4)
    crf = CRF(validation_fraction=0.1, n_iter_no_change=1000, random_state=0).fit(X, y)
    trained = [i for i in range(40) if i not in held_out]
    expected = CRF().fit([X[i] for i in trained], [y[i] for i in trained])
    assert_allclose(crf.loss_curve_[-1], expected.loss_curve_[-1], rtol=1e-5)


def test_ctrl_c_leaves_the_weights_of_the_last_iteration():
    calls = []

    def criterion(structure, parts, labels):
        calls.append(1)
        if len(calls) > 6:
            raise KeyboardInterrupt
        return log_loss(structure, parts, labels)

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        crf = CRF(criterion).fit(X, y)
    assert not crf.converged_
    assert 0 < crf.n_iter_ == len(crf.loss_curve_) < 6
    assert crf.score(X, y) > 0.5


def test_an_own_criterion():
    def doubled(structure, parts, labels):
        loss, pullback = log_loss(structure, parts, labels)
        return 2 * loss, lambda weight, out=None: pullback(2 * weight, out)

    crf = CRF(doubled, sigma=1.0, **EXACT).fit(X, y)
    assert_allclose(crf.coef_, CRF(sigma=2**0.5, **EXACT).fit(X, y).coef_, atol=1e-4)
    with pytest.raises(ValueError, match="needs a criterion with curvature"):
        CRF(doubled, solver="newton-cg").fit(X, y)


def test_empty_sequences_are_not_held_out():
    X, y = [["a", "b"], [], [], [], ["b"]], [["x", "y"], [], [], [], ["y"]]
    crf = CRF(validation_fraction=0.5, random_state=0).fit(X, y)
    assert len(crf.validation_curve_) == crf.n_iter_


@pytest.mark.parametrize("sigma", [1e160, np.inf])
def test_the_bundle_needs_a_penalty(sigma):
    with pytest.raises(ValueError, match="needs a finite sigma, below 1e"):
        CRF("max_margin", sigma, solver="bundle").fit([["a", "b"]], [["x", "y"]])


def test_options_of_solvers():
    options = {"memory": 2, "period": 3, "epsilon": 1e-3}
    for c1 in (0.0, 0.1):
        crf = CRF(c1=c1, solver_options=options).fit([["a", "b"]] * 3, [["x", "y"]] * 3)
        usual = CRF(c1=c1).fit([["a", "b"]] * 3, [["x", "y"]] * 3)
        assert crf.converged_ and crf.n_iter_ < usual.n_iter_
    for given in ({"solver": "cg"}, {"solver_options": {"memories": 3}}):
        with pytest.raises(ValueError, match="does not take solver_options="):
            CRF(**{"solver_options": options, **given}).fit([["a"]], [["x"]])
