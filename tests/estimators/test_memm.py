"""MEMM: products of conditional probabilities, and their label bias."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from log_linear import all_weights, rows_of
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from toy import make_corpus

from sklearn_crcrf import CRF, MEMM, SequenceArray, explain
from sklearn_crcrf.datasets import make_label_bias
from sklearn_crcrf.feature_extraction import SequenceVectorizer, Window
from sklearn_crcrf.structures import Chain

X, y = make_corpus(n_sequences=24)
X, y = [s[:4] for s in X], [s[:4] for s in y]
X, y = [*X, []], [*y, []]
FOLLOW = {"A": list("ABC"), "B": list("BCD")}


@parametrize_with_checks([MEMM(sample_unit="token", features="observed", boundaries=True, tol=0.1)])
def test_estimator_checks(estimator, check):
    check(estimator)


def steps(memm, x, edges=False):
    """log p(j | i) of every token of a sequence of strings, in one row for each label i."""
    rows, n = rows_of(memm, x), len(memm.classes_)
    forbidden = np.zeros((n, n))
    if memm.constraints is not None:
        for label, followers in memm.constraints.items():
            forbidden[memm.classes_ == label] = np.where(
                np.isin(memm.classes_, followers), 0, -np.inf
            )
    for t, row in enumerate(rows):
        scores = np.tile(row @ memm.coef_, (n, 1))
        scores += memm.begin_ if t == 0 else memm.transitions_ + forbidden
        scores += memm.end_ * (t == len(x) - 1)
        if edges and t:
            scores += np.einsum("k,kij->ij", row[memm._encoder.edge_attributes], memm.edge_coef_)
        yield log_softmax(scores, axis=1)


def path_log_probabilities(memm, x, **options):
    """Every path with the logarithm of its probability."""
    local = list(steps(memm, x, **options))
    paths = list(product(range(len(memm.classes_)), repeat=len(x)))
    values = [
        sum(p[i, j] for p, i, j in zip(local, (0, *path), path, strict=False)) for path in paths
    ]
    return paths, np.array(values, dtype=float)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"boundaries": True}, {"edge_columns": ["token"]}, {"constraints": FOLLOW}],
    ids=str,
)
def test_predictions_are_those_of_enumeration(parameters):
    allowed = [not any(j not in FOLLOW.get(i, "ABCD") for i, j in pairwise(s)) for s in y]
    train = [s for s, ok in zip(X, allowed, strict=True) if ok]
    memm = MEMM(**parameters).fit(train, [s for s, ok in zip(y, allowed, strict=True) if ok])
    new = [*train[:5], [], ["never", train[0][0]]]
    k_best, marginals = memm.predict_k_best(new, 3), memm.predict_proba(new)
    for s, x in enumerate(new):
        paths, values = path_log_probabilities(memm, x, edges="edge_columns" in parameters)
        assert_allclose(np.exp(values).sum(), 1.0)
        top = np.sort(values)[::-1][:3]
        assert_allclose([p for _, p in k_best[s]], np.exp(top), rtol=1e-9)
        best = [*map(memm.classes_.tolist().index, memm.predict(new)[s])]
        assert_allclose(values[paths.index(tuple(best))], top[0], rtol=1e-9, atol=1e-12)
        expected = np.zeros((len(x), len(memm.classes_)))
        for path, value in zip(paths, values, strict=True):
            expected[np.arange(len(x)), path] += np.exp(value)
        assert_allclose(marginals[s], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nothing_is_left_to_normalise(dtype):
    memm = MEMM(dtype=dtype, boundaries=True, edge_columns=["token"]).fit(X, y)
    log_z, _ = memm._map(X, lambda chain, parts, first: chain.log_partition(parts)[0])
    assert_allclose(np.concatenate(log_z), 0.0, atol=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"boundaries": True, "features": "observed"}], ids=str)
def test_training_minimises_the_loss_of_what_is_predicted(parameters):
    weights = np.random.default_rng(0).uniform(size=len(X))
    memm = MEMM(sigma=2.0, **parameters).fit(X, y, sample_weight=weights)
    loss = 0.0
    for x, labels, weight in zip(X, y, weights, strict=True):
        paths, values = path_log_probabilities(memm, x)
        gold = tuple(np.searchsorted(memm.classes_, labels))
        loss -= weight * values[paths.index(gold)]
    w = all_weights(memm)
    assert_allclose(memm.loss_curve_[-1], loss + w @ w / 8.0, rtol=1e-7)
    assert memm.converged_


def test_rows_of_a_table_have_no_neighbours():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    exact = {"tol": 1e-12, "sample_unit": "token"}
    memm, crf = MEMM(**exact).fit(rows, labels), CRF(**exact).fit(rows, labels)
    assert_allclose(memm.predict_proba(rows), crf.predict_proba(rows), atol=1e-5)


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "sgd", "gis"])
def test_solvers_agree(solver):
    options = {"max_iter": 20_000, "random_state": 0}
    tol = {"sgd": 1e-7, "gis": 1e-9}.get(solver, 1e-10)
    memm = MEMM(solver=solver, tol=tol, **options).fit(X, y)
    best = MEMM(tol=1e-12, **options).fit(X, y)
    assert_allclose(memm.loss_curve_[-1], best.loss_curve_[-1], rtol=1e-3)


def test_there_is_no_other_criterion_nor_newton():
    assert "criterion" not in MEMM().get_params()
    with pytest.raises(TypeError, match="criterion"):
        MEMM(criterion="log_loss")
    with pytest.raises(ValueError, match="'solver'"):
        MEMM(solver="newton-cg").fit(X, y)


def test_all_labels_must_be_known():
    with pytest.raises(ValueError, match="not known"):
        MEMM().fit(X[:2], [[None, *y[0][1:]], y[1]])


def test_label_bias():
    """[EP] 4.4: models that cannot use the second symbol are less accurate than all others."""
    follow = {"R1": ["I"], "R2": ["O"], "I": ["B"], "O": ["B"]}
    scores = {"weak prior": [], "one follower": [], "crf": []}
    for k in range(2):
        train, test = (
            make_label_bias(2000, random_state=k),
            make_label_bias(500, random_state=100 + k),
        )
        scores["weak prior"].append(MEMM(sigma=10.0).fit(*train).score(*test))
        scores["one follower"].append(MEMM(constraints=follow).fit(*train).score(*test))
        scores["crf"].append(CRF().fit(*train).score(*test))
    mean = {name: 100 * np.mean(values) for name, values in scores.items()}
    assert abs(mean["weak prior"] - 66.7) < 1.0
    assert abs(mean["one follower"] - 66.7) < 1.0
    assert abs(mean["crf"] - 95.8) < 1.0


def test_rib_and_rob():
    """[ECRN] II-B3: after X only I was seen, so p(XIB | rob) = 12/21 and p(YOB | rob) = 9/21."""
    X = [list("rib")] * 11 + [list("rob")] * 10
    y = [list("XIB")] * 11 + [list("YOB")] * 9 + [list("XIB")]
    memm = MEMM(sigma=np.inf, tol=1e-9, max_iter=1000).fit(X, y)
    (found,) = memm.predict_k_best([list("rob")], 2)
    assert [labels for labels, _ in found] == [list("XIB"), list("YOB")]
    assert_allclose([p for _, p in found], [12 / 21, 9 / 21], atol=1e-7)


def test_search_in_a_pipeline():
    vectorized = [("window", Window([-1, 0])), ("vectors", SequenceVectorizer()), ("memm", MEMM())]
    search = GridSearchCV(Pipeline(vectorized), {"memm__sigma": [0.3, 1.0]}, cv=3).fit(X, y)
    refitted = clone(search.best_estimator_).fit(X, y)
    assert search.predict(X).tolist() == refitted.predict(X).tolist()
    as_array = SequenceArray.from_sequences(X), SequenceArray.from_sequences(y)
    assert_allclose(cross_val_score(MEMM(), *as_array, cv=3), cross_val_score(MEMM(), X, y, cv=3))


def test_a_weight_is_a_number_of_copies():
    weights = np.arange(len(X)) % 3
    copies = [i for i, n in enumerate(weights) for _ in range(n)]
    exact = {"tol": 1e-13, "max_iter": 5000}
    weighted = MEMM(**exact).fit(X, y, sample_weight=weights)
    copied = MEMM(**exact).fit([X[i] for i in copies], [y[i] for i in copies])
    kept = [x for x, n in zip(X, weights, strict=True) if n]
    probability = np.vstack(weighted.predict_proba(kept))
    assert_allclose(probability, np.vstack(copied.predict_proba(kept)), atol=1e-5)


def test_explanations_add_up_to_the_logarithm_of_the_probability():
    memm = MEMM(boundaries=True).fit(X, y)
    for x, labels in zip(X[:5], y[:5], strict=True):
        paths, values = path_log_probabilities(memm, x)
        path = tuple(np.searchsorted(memm.classes_, labels).tolist())
        found = explain(memm, x, labels).contributions.value.sum()
        assert_allclose(found, values[paths.index(path)])


def test_training_in_parts_and_storing():
    memm = MEMM(random_state=0).partial_fit(X[:12], y[:12]).partial_fit(X[12:], y[12:])
    loaded = pickle.loads(pickle.dumps(memm))
    assert loaded.get_params() == memm.get_params()
    assert loaded.predict(X).tolist() == memm.predict(X).tolist()
    assert loaded.fit(X, y).score(X, y) == memm.fit(X, y).score(X, y)


def test_threads_do_not_matter():
    one, two = (MEMM(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(all_weights(one), all_weights(two))


def test_the_structure_is_a_chain():
    assert type(MEMM()._structure(SequenceArray(np.zeros((1, 1)), [0, 1]))) is Chain
