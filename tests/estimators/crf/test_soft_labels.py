"""CRF trained on probabilities of labels, by the expected log-likelihood."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from soft_labels import labellings, random_markov, random_rows

from sklearn_crcrf import (
    CRF,
    MEMM,
    EmpiricalCRF,
    GraphArray,
    GraphCRF,
    SemiMarkovCRF,
    make_sequence_pipeline,
    text_features,
)
from sklearn_crcrf.estimators.crf import features

LABELS = ["V", "N", "D"]
X = [["the", "dog", "walks"], ["a", "cat"], [], ["dogs", "sleep", "the"]]
Y = [["D", "N", "V"], ["D", "N"], [], ["N", "V", "D"]]
CERTAIN = [
    np.array([[y == c for c in LABELS] for y in labels]).reshape(-1, 3) * 1.0 for labels in Y
]
RNG = np.random.default_rng(0)
ROWS = [random_rows(len(x), 3, RNG) for x in X]
MARKOV = [random_markov(len(x), 3, RNG) for x in X]
WEIGHTS = np.array([1.0, 0.5, 1.0, 2.0])


def all_weights(crf):
    state, *others = crf._named_weights().weights
    dense = state.toarray() if sp.issparse(state) else state
    return np.concatenate([part.ravel() for part in (dense, *others)])


@for_each("markov", [False, True])
@for_each(
    "params",
    [
        {},
        {"features": "observed", "boundaries": True},
        {"init": "empirical", "edge_columns": ["token"]},
        {"c1": 0.01},
        {"solver": "newton-cg"},
        {"solver": "bundle"},
        {"solver": "gis", "max_iter": 5000, "tol": 1e-9},
    ],
)
def test_probabilities_are_all_labellings_with_their_probability_as_weight(params, markov):
    rows, pairs = zip(*MARKOV, strict=True) if markov else (ROWS, None)
    samples, y, weights = [], [], []
    for i, row in enumerate(rows):
        for ids, p in labellings(row, None if pairs is None else pairs[i]):
            samples.append(X[i])
            y.append([LABELS[k] for k in ids])
            weights.append(p * WEIGHTS[i])
    params = {"tol": 1e-10, **params}
    expected = CRF(**params).fit(samples, y, weights)
    crf = CRF(**params).fit(X, [*rows], WEIGHTS, labels=LABELS, pair_marginals=pairs)
    assert crf.classes_.tolist() == expected.classes_.tolist()
    assert_allclose(crf.loss_curve_[-1], expected.loss_curve_[-1], rtol=1e-6)
    assert_allclose(all_weights(crf), all_weights(expected), atol=2e-3)


@for_each(
    "params",
    [
        {},
        {"features": "observed"},
        {"init": "empirical"},
        {"init": EmpiricalCRF()},
        {"solver": "sgd", "max_iter": 5, "random_state": 0},
        {"validation_fraction": 0.3, "random_state": 0},
        {"constraints": {"D": ["N"], "N": ["V"]}, "boundaries": True},
        {"dtype": "float32"},
    ],
)
@pytest.mark.filterwarnings("ignore:training did not converge")
def test_certain_labels_give_the_model_of_these_labels(params):
    expected = CRF(**params).fit(X, Y)
    crf = CRF(**params).fit(X, CERTAIN, labels=LABELS)
    assert_allclose(crf.loss_curve_, expected.loss_curve_, rtol=1e-5)
    assert_allclose(all_weights(crf), all_weights(expected), atol=1e-4)


def test_the_model_of_a_token_has_the_given_probabilities():
    rows = [np.array([[0.2, 0.5, 0.3]])]
    crf = CRF(sigma=1e6, tol=1e-14).fit([["a"]], rows, labels=LABELS)
    assert_allclose(crf.predict_proba([["a"]])[0], [[0.3, 0.5, 0.2]], atol=1e-5)


def test_pairs_are_learned():
    # Both tokens are A or both are B: the probabilities of labels alone do not say so.
    rows, pairs = np.full((2, 2), 0.5), np.array([[[0.5, 0.0], [0.0, 0.5]]])
    data = [["a", "b"]] * 20
    crf = CRF(sigma=10.0).fit(data, [rows] * 20, labels=["A", "B"], pair_marginals=[pairs] * 20)
    ((best, p), (other, q), *_) = crf.predict_k_best([["a", "b"]], 4)[0]
    assert {tuple(best), tuple(other)} == {("A", "A"), ("B", "B")} and p + q > 0.99
    independent = CRF(sigma=10.0).fit(data, [rows] * 20, labels=["A", "B"])
    assert_allclose(independent.confidence([["a", "b"]]), 0.25)


def test_forests():
    trees = GraphArray.from_parents(X, [[-1, 0, 0], [1, -1], [], [1, -1, 1]])
    expected = CRF(tol=1e-10).fit(trees, Y)
    crf = CRF(tol=1e-10).fit(trees, CERTAIN, labels=LABELS)
    assert_allclose(crf.transitions_, expected.transitions_, atol=1e-4)
    with pytest.raises(ValueError, match="pair_marginals are for sequences"):
        rows, pairs = zip(*MARKOV, strict=True)
        CRF().fit(trees, [*rows], labels=LABELS, pair_marginals=[*pairs])


def test_rows_of_a_table():
    table, rows = np.eye(3), np.array([[0.7, 0.3], [0.0, 1.0], [0.5, 0.5]])
    with pytest.warns(UserWarning, match="one token"):
        crf = CRF(sample_unit="token", sigma=1e6, tol=1e-14).fit(table, rows, labels=["no", "yes"])
    assert_allclose(crf.predict_proba(table)[[0, 2]], rows[[0, 2]], atol=1e-4)


def test_partial_fit_and_warm_start():
    crf = CRF(random_state=0).partial_fit(X[:2], CERTAIN[:2], labels=LABELS)
    assert crf.classes_.tolist() == ["D", "N", "V"]
    crf.partial_fit(X[2:], Y[2:]).partial_fit(X, ROWS, labels=["V", "N", "D"])
    with pytest.raises(ValueError, match=r"'X' is not among the classes"):
        crf.partial_fit(X, ROWS, ["D", "N", "V"], labels=["V", "N", "X"])
    warm = CRF(warm_start=True).fit(X, ROWS, labels=LABELS)
    n_iter = warm.n_iter_
    assert warm.fit(X, ROWS, labels=LABELS).n_iter_ <= n_iter


def test_labels_without_probability_are_classes():
    rows = [np.column_stack([row, np.zeros(len(row))]) for row in CERTAIN]
    crf = CRF().fit(X, rows, labels=[*LABELS, "A"])
    assert crf.classes_.tolist() == ["A", "D", "N", "V"]
    observed = features.observed_features
    assert CRF(features=observed).fit(X, rows, labels=[*LABELS, "A"]).coef_[:, [0]].nnz == 0


def test_constraints():
    follow = {"D": ["N"], "N": ["V"], "V": ["D", "N", "V"]}
    with pytest.raises(ValueError, match="y, sequence 0: labels have a positive probability"):
        CRF(constraints=follow).fit(X, [np.full((len(x), 3), 1 / 3) for x in X], labels=LABELS)
    # Pairs that are forbidden have no probability in the marginals of a constrained chain.
    rows = np.array([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    pairs = np.array([[[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.5, 0.0]]])
    crf = CRF(constraints=follow)
    crf.fit([["a", "b"]], [rows], labels=LABELS, pair_marginals=[pairs])
    assert np.isfinite(crf.loss_curve_).all()
    with pytest.raises(ValueError, match="y, sequence 0: labels have a positive probability"):
        crf.fit([["a", "b"]], [rows], labels=LABELS)


def test_probabilities_of_another_model():
    teacher = EmpiricalCRF().fit(X, Y)
    student = CRF().fit(X, teacher.predict_proba(X), labels=teacher.classes_)
    assert student.predict(X).tolist() == Y


def test_pairs_of_another_model():
    teacher = CRF(sigma=3.0).fit(X, Y)
    proba, pairs = teacher.predict_proba(X), teacher.predict_pair_proba(X)
    assert [pair.shape for pair in pairs] == [(2, 3, 3), (1, 3, 3), (0, 3, 3), (2, 3, 3)]
    assert_allclose(pairs[3].sum(axis=2), proba[3][:-1])
    assert_allclose(pairs[3].sum(axis=1), proba[3][1:])
    # Without a penalty, the student is the teacher: its loss is the entropy of the teacher.
    params = {"sigma": 1e6, "tol": 1e-12, "boundaries": True}
    student = CRF(**params).fit(X, proba, labels=teacher.classes_, pair_marginals=pairs)
    assert_allclose(student.loss_curve_[-1], teacher.entropy(X).sum(), rtol=1e-4)
    for a, b in zip(student.predict_pair_proba(X), pairs, strict=True):
        assert_allclose(a, b, atol=1e-3)
    pipeline = make_sequence_pipeline(text_features("tags"), CRF()).fit(X, Y)
    found = pipeline.predict_pair_proba(X)
    assert_array_equal(found[0], pipeline[-1].predict_pair_proba(pipeline[:-1].transform(X))[0])
    trees = GraphArray.from_parents(X, [[-1, 0, 0], [1, -1], [], [1, -1, 1]])
    with pytest.raises(ValueError, match="CRF needs pair_marginals, which Forest does not have"):
        teacher.predict_pair_proba(trees)
    with pytest.raises(ValueError, match="which HigherOrderChain does not have"):
        EmpiricalCRF(order=2).fit(X, Y).predict_pair_proba(X)


def test_pipelines_and_routing():
    teacher = EmpiricalCRF().fit(X, Y)
    proba, labels = teacher.predict_proba(X), teacher.classes_
    pipeline = make_sequence_pipeline(text_features("tags"), CRF())
    expected = pipeline.fit(X, proba, crf__labels=labels).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        routed = make_sequence_pipeline(
            text_features("tags"), CRF().set_fit_request(labels=True, pair_marginals=False)
        )
        found = routed.fit(X, proba, labels=labels).predict_proba(X)
    for a, b in zip(found, expected, strict=True):
        assert_array_equal(a, b)


@for_each(
    "estimator, message",
    [
        *(
            (CRF(name), "y has probabilities of labels, but criterion=")
            for name in (
                "piecewise",
                "pseudo_likelihood",
                "marginal_likelihood",
                "max_margin",
                "softmax_margin",
                "expected_cost",
                "token_error",
                "mce",
                "mce_f1",
            )
        ),
        (CRF(lambda *_: None), "y has probabilities of labels, but criterion="),
        (
            CRF(class_weight="balanced"),
            "y has probabilities of labels, but class_weight=",
        ),
        (MEMM(), "y has probabilities of labels, but criterion="),
        (GraphCRF("log_loss"), "y has probabilities of labels, but GraphCRF"),
        (SemiMarkovCRF(), "y, with probabilities of labels, needs expected_score"),
    ],
)
def test_what_needs_labels_is_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, CERTAIN, labels=["B-X", "I-X", "O"])


def test_probabilities_without_labels_are_refused():
    with pytest.raises(ValueError, match=r"y must have one value .* need labels="):
        CRF().fit(X, CERTAIN)
    with pytest.raises(ValueError, match="labels are given, but y is None"):
        CRF().fit(X, labels=LABELS)
