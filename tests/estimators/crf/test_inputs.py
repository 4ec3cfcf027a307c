"""Every accepted input, and how predictions mirror it."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose
from sklearn.base import clone
from toy import make_corpus

from sklearn_crcrf import CRF, MaxMarginCRF, SequenceArray, StructuredPerceptron
from sklearn_crcrf.feature_extraction import SequenceVectorizer, Window

pd = pytest.importorskip("pandas")

X, y = make_corpus(n_sequences=30)
X, y = [*X, []], [*y, []]
NEW = [["walks", X[0][0]], [], [X[1][0], "zebra", "und"]]
LABELS = [label for s in y for label in s]
ROWS = [np.random.default_rng(i).normal(size=(len(s), 3)) for i, s in enumerate(X)]
NEW_ROWS = ROWS[:3]


def flat(X):
    return SequenceArray.from_sequences(X)


def dicts(X):
    return [[{"word": word} for word in s] for s in X]


def indexed(values, like):
    index = [(i, t) for i, s in enumerate(like) for t in range(len(s))]
    return pd.DataFrame(values, index=pd.MultiIndex.from_tuples(index))


def words_frame(X):
    return indexed({"word": [w for s in X for w in s]}, X)


def as_list(predicted):
    return [list(s) for s in predicted]


def test_the_same_words_have_the_same_labels_in_any_container():
    crf = CRF().fit(X, y)
    labels, probability = crf.predict(NEW).tolist(), crf.predict_proba(NEW)
    strings = SequenceArray(np.array([w for s in X for w in s]), flat(X).offsets)
    window, vectorizer = Window(["token[0]"]), SequenceVectorizer()
    one_hot = vectorizer.fit_transform(X)
    for X_fit, y_fit, X_new in [
        (flat(X), flat(y), flat(NEW)),
        (strings, SequenceArray(np.array(LABELS), flat(y).offsets), NEW),
        ([tuple(s) for s in X], [np.array(s) for s in y], [np.array(s) for s in NEW]),
        (dicts(X), y, dicts(NEW)),
        (flat(dicts(X)), y, flat(dicts(NEW))),
        (window.fit_transform(X), y, window.transform(NEW)),
        (one_hot, y, vectorizer.transform(NEW)),
        (list(one_hot), y, list(vectorizer.transform(NEW))),
    ]:
        crf.fit(X_fit, y_fit)
        assert as_list(crf.predict(X_new)) == labels
        assert_allclose(np.vstack(list(crf.predict_proba(X_new))), np.vstack(probability))
    crf.set_params(sample_unit="token").fit(words_frame(X), LABELS)
    assert crf.predict(words_frame(NEW)).tolist() == [label for s in labels for label in s]
    assert_allclose(crf.predict_proba(words_frame(NEW)), np.vstack(probability))


def test_the_same_numbers_have_the_same_labels_in_any_container():
    crf = CRF(tol=1e-12).fit(ROWS, y)
    labels, probability = crf.predict(NEW_ROWS).tolist(), np.vstack(crf.predict_proba(NEW_ROWS))
    coef, offsets = crf.coef_, flat(X).offsets
    stacked, new = np.vstack(ROWS), np.vstack(NEW_ROWS)
    sparse = sp.csr_array(stacked)
    for X_fit, X_new in [
        (flat(ROWS), flat(NEW_ROWS)),
        (SequenceArray(stacked, offsets), NEW_ROWS),
        (SequenceArray(np.asfortranarray(stacked), offsets), NEW_ROWS),
        (SequenceArray(sparse, offsets), flat([sp.csr_array(rows) for rows in NEW_ROWS])),
        ([sp.csr_array(rows) for rows in ROWS], [sp.csr_array(rows) for rows in NEW_ROWS]),
        (ROWS, flat([sp.csc_array(rows) for rows in NEW_ROWS])),
    ]:
        crf.fit(X_fit, y)
        assert as_list(crf.predict(X_new)) == labels
        assert_allclose(crf.coef_, coef, atol=1e-6)
        assert_allclose(np.vstack(list(crf.predict_proba(X_new))), probability, atol=1e-6)
    crf.set_params(sample_unit="token").fit(indexed(stacked, X), LABELS)
    assert_allclose(crf.predict_proba(indexed(new, NEW_ROWS)), probability, atol=1e-6)


def test_rows_of_a_table_are_sequences_of_one_token():
    table, labels = np.vstack(ROWS), np.array(LABELS)
    crf = CRF(sample_unit="token", tol=1e-12).fit([rows[None] for rows in table], labels[:, None])
    coef, expected = crf.coef_, np.vstack(crf.predict_proba([rows[None] for rows in table]))
    assert_allclose(crf.transitions_, 0)
    for rows in (
        table,
        table.tolist(),
        sp.csr_array(table),
        sp.csc_matrix(table),
        pd.DataFrame(table),
    ):
        crf.fit(rows, labels)
        assert crf.predict(rows).shape == crf.confidence(rows).shape == (len(labels),)
        assert_allclose(crf.coef_, coef, atol=1e-6)
        assert_allclose(crf.predict_proba(rows), expected, atol=1e-6)
        assert crf.n_features_in_ == 3


def test_lists_are_mirrored():
    crf = CRF().fit(X, y)
    predicted = crf.predict(NEW)
    assert predicted.dtype == object
    assert [type(s) for s in predicted] == [list] * 3
    assert [len(s) for s in predicted] == [2, 0, 3]
    for mirrored in (crf.predict_proba(NEW), crf.predict_log_proba(NEW)):
        assert isinstance(mirrored, list)
        assert [p.shape for p in mirrored] == [(n, 4) for n in (2, 0, 3)]
    assert crf.predict([]).tolist() == crf.predict_proba([]) == []
    assert crf.predict([["und", "und"], ["X", "X"]]).shape == (2,)


def test_sequence_arrays_are_mirrored():
    crf, new = CRF().fit(X, y), flat(NEW)
    for mirrored, shape in [(crf.predict(new), (3,)), (crf.predict_proba(new), (3, 4))]:
        assert isinstance(mirrored, SequenceArray)
        assert mirrored.shape == shape
        assert np.array_equal(mirrored.offsets, new.offsets)
    assert crf.predict_k_best(new) == crf.predict_k_best(NEW)


def test_rows_of_a_frame_keep_their_order():
    crf, new = CRF(sample_unit="token").fit(words_frame(X), LABELS), words_frame(NEW)
    expected = pd.Series(crf.predict(new), index=new.index)
    shuffled = new.sample(frac=1, random_state=0)
    assert crf.predict(shuffled).tolist() == expected[shuffled.index].tolist()
    assert crf.feature_names_in_.tolist() == ["word"]
    with pytest.raises(ValueError, match="feature names"):
        crf.predict(new.rename(columns={"word": "other"}))


def test_values_of_feature_dicts_are_attributes():
    tokens = [[{"w": "a", "n": 2.5, "is": True, "in": {"z": "b"}, "of": ["c", "d"]}, {"w": "b"}]]
    crf = CRF().fit(tokens, [["A", "B"]])
    assert crf.attribute_names_.tolist() == ["w=a", "n", "is", "in:z=b", "of:c", "of:d", "w=b"]
    scores = crf.coef_[:6].T @ [1, 2.5, 1, 1, 1, 1]
    (proba,) = crf.predict_log_proba([[tokens[0][0]]])
    assert_allclose(proba[0, 0] - proba[0, 1], scores[0] - scores[1])


@pytest.mark.parametrize(
    "translate",
    [
        {"A": 2, "B": 0, "C": 1, "D": -7},
        {"A": True, "B": False, "C": True, "D": False},
        {"A": ("A", 1), "B": ("B",), "C": "C", "D": 4},
    ],
)
def test_labels_of_any_kind(translate):
    labels = [[translate[label] for label in s] for s in y]
    crf = CRF(sigma=100.0).fit(X, labels)
    predicted = crf.predict(X)
    assert {type(v) for s in predicted for v in s} <= {type(v) for v in translate.values()}
    assert set(predicted[0]) <= set(translate.values())
    assert crf.score(X, labels) > 0.7
    assert crf.predict(flat(X)).tolist() == predicted.tolist()


def test_what_is_not_seen_in_training_has_no_weight():
    crf = CRF().fit(X, y)
    assert_allclose(crf.predict_proba([["never"]])[0], 0.25)
    crf = CRF().fit(dicts(X), y)
    assert_allclose(crf.predict_proba([[{"other": 1.0, "word": "never"}]])[0], 0.25)


def test_bad_input_is_named():
    crf = CRF().fit(ROWS, y)
    rows = [row.copy() for row in ROWS]
    last = len(rows[3]) - 1
    rows[3][last, 0] = np.nan
    for call in (lambda: crf.predict(rows), lambda: CRF().fit(rows, y)):
        with pytest.raises(ValueError, match=f"sequence 3, position {last}: nan is not finite"):
            call()
    with pytest.raises(ValueError, match="X has 2 features, but CRF is expecting 3"):
        crf.predict([np.ones((1, 2))])
    with pytest.raises(ValueError, match="X must be numeric"):
        crf.predict(X)
    with pytest.raises(ValueError, match="X has no tokens"):
        CRF().fit([[], []], [[], []])
    with pytest.raises(ValueError, match="requires y to be passed"):
        CRF().fit(X, None)
    with pytest.raises(ValueError, match=f"X has 31 sequences, but y has {len(y) - 1}"):
        CRF().fit(X, y[:-1])


def test_a_failed_fit_leaves_the_model_as_it_was():
    crf = CRF().fit(X, y)
    before = crf.predict_proba(NEW)
    with pytest.raises(ValueError, match="sequences"):
        crf.fit(X, y[1:])
    assert_allclose(np.vstack(crf.predict_proba(NEW)), np.vstack(before))


@for_each(
    ("parameters", "message"),
    [
        ({"sigma": 0}, "'sigma'"),
        ({"c1": -1.0}, "'c1'"),
        ({"features": "some"}, "'features'"),
        ({"solver": "none"}, "'solver'"),
        ({"c1": 1.0, "solver": "lbfgs"}, "needs solver"),
        ({"min_freq": 0}, "'min_freq'"),
        ({"edge_columns": ["nowhere"]}, "no such columns"),
        ({"validation_fraction": 1.0}, "'validation_fraction'"),
        ({"validation_fraction": 0.99}, "leaves nothing of 30 sequences"),
        ({"constraints": "IOB3"}, "constraints"),
        ({"class_weight": {"Q": 1.0}}, "class_weight"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        CRF(**parameters).fit(X, y)


def test_balanced_weights_of_labels_of_several_types():
    X, y = [["a", "b", "b"], ["b"]], [["N", b"N", 1], [("N", 1)]]
    mixed = CRF(class_weight="balanced").fit(X, y)
    names = {label: f"{j}" for j, label in enumerate(mixed.classes_.tolist())}
    alike = CRF(class_weight="balanced").fit(X, [[names[label] for label in of] for of in y])
    assert np.array_equal(mixed.coef_, alike.coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["sgd", "lbfgs"])
def test_no_attributes_at_all(solver):
    crf = CRF(solver=solver, features="observed", min_freq=5, boundaries=True, max_iter=3)
    crf.partial_fit([np.ones((3, 2))], [["a", "b", "a"]])
    crf.fit([np.ones((3, 2))], [["a", "b", "a"]])
    (probability,) = crf.predict_proba([np.ones((2, 2))])
    assert_allclose(probability.sum(axis=1), 1.0)


@for_each("weight", [-1.0, np.inf, np.nan])
@for_each("estimator", [CRF(), StructuredPerceptron(), MaxMarginCRF()])
def test_weights_of_classes_must_be_finite_and_not_negative(estimator, weight):
    estimator = clone(estimator).set_params(class_weight={LABELS[0]: weight})
    with pytest.raises(ValueError, match="class_weight must be finite and not negative"):
        estimator.fit(X, y)


def test_a_choice_of_features_must_return_features():
    with pytest.raises(TypeError, match="must return Features, got 1"):
        CRF(features=lambda corpus, n_labels: 1).fit([["a"]], [["A"]])
