"""SemiSupervisedClassifier: against its steps by hand, and as an estimator."""

import warnings

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from sklearn_crcrf import (
    CRF,
    HMM,
    EmpiricalCRF,
    SemiSupervisedClassifier,
    SequenceArray,
    StructuredPerceptron,
    TokenFeatures,
    make_sequence_pipeline,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators import semi_supervised
from sklearn_crcrf.model_files import load_model, save_model

X, y = make_addresses(120, random_state=0)
N = 12
# The labels of the first sequences, of some tokens of the next ones, and none of the others.
KNOWN = [
    *y[:N],
    *([label if t % 2 else None for t, label in enumerate(labels)] for labels in y[N : 2 * N]),
    *([None] * len(labels) for labels in y[2 * N : 60]),
]
X_TRAIN, X_TEST, Y_TEST = X[:60], X[60:], y[60:]


def weights_by_hand(weight, scale=1.0):
    return [[scale if label is not None else scale * weight for label in own] for own in KNOWN]


@for_each("estimator", {"empirical": EmpiricalCRF(), "hmm": HMM(), "crf": CRF(max_iter=5)})
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_best_labels_are_filled_in(estimator):
    estimator = {"empirical": EmpiricalCRF(), "hmm": HMM(), "crf": CRF(max_iter=5)}[estimator]
    first = type(estimator)(**estimator.get_params()).fit(X_TRAIN[: 2 * N], KNOWN[: 2 * N])
    filled = first.predict(X_TRAIN, allowed=KNOWN)
    for known, labels in zip(KNOWN, filled, strict=True):
        assert all(a in (None, b) for a, b in zip(known, labels, strict=True))
    second = type(estimator)(**estimator.get_params())
    second.fit(X_TRAIN, filled, sample_weight=weights_by_hand(0.3))
    model = SemiSupervisedClassifier(estimator, unlabelled_weight=0.3).fit(X_TRAIN, KNOWN)
    assert model.n_iter_ == 1
    for a, b in zip(model.predict_proba(X_TEST), second.predict_proba(X_TEST), strict=True):
        assert a.tobytes() == b.tobytes()
    assert model.predict(X_TEST).tolist() == second.predict(X_TEST).tolist()


def given_known(model, words, known):
    """Probabilities of labels, given the known ones, over all labellings of a short sequence."""
    classes = model.classes_.tolist()
    proba = np.zeros((len(words), len(classes)))
    for labels, p in model.predict_k_best([words], len(classes) ** len(words))[0]:
        if all(a in (None, b) for a, b in zip(known, labels, strict=True)):
            for t, label in enumerate(labels):
                proba[t, classes.index(label)] += p
    return proba / proba.sum(axis=1, keepdims=True)


def test_expected_labels_are_given_the_known_ones():
    X = [["the", "dog"], ["the", "cat", "sleeps"], ["a", "dog"], ["cat", "sleeps"]]
    y = [["D", "N"], ["D", None, "V"], [None, "N"], [None, None]]
    first = HMM().fit(X[:3], y[:3])
    proba = [given_known(first, *pair) for pair in zip(X, y, strict=True)]
    assert proba[1][0].tolist() == [1, 0, 0] and 0 < proba[1][1, 1] < 1
    weights = [[1.0 if label else 0.1 for label in labels] for labels in y]
    second = HMM().fit(X, proba, sample_weight=weights, labels=first.classes_)
    model = SemiSupervisedClassifier(HMM(), fill="expected").fit(X, y)
    for a, b in zip(model.predict_proba(X), second.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_improbable_labels_are_left_out():
    """So that the ways to label several tokens stay few where there are many labels."""
    given = []

    class Recording(EmpiricalCRF):
        def fit(self, X, y, sample_weight=None, labels=None, pair_marginals=None):
            given.append(y)
            return super().fit(X, y, sample_weight=sample_weight, labels=labels)

    SemiSupervisedClassifier(Recording(), fill="expected").fit(X_TRAIN, KNOWN)
    proba = np.concatenate(list(given[-1]))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba[proba > 0].min() >= semi_supervised.LEAST
    assert (proba == 0).mean() > 0.4


def test_it_stops_when_labels_stay():
    model = SemiSupervisedClassifier(EmpiricalCRF(), n_iter=50).fit(X_TRAIN, KNOWN)
    assert 1 <= model.n_iter_ < 50
    again = SemiSupervisedClassifier(EmpiricalCRF(), n_iter=model.n_iter_).fit(X_TRAIN, KNOWN)
    assert again.predict(X_TEST).tolist() == model.predict(X_TEST).tolist()
    filled = model.predict(X_TRAIN, allowed=KNOWN).tolist()
    final = EmpiricalCRF().fit(X_TRAIN, filled, sample_weight=weights_by_hand(0.1))
    assert final.predict(X_TRAIN, allowed=KNOWN).tolist() == filled


def test_few_labels_gain():
    X, y = make_addresses(600, random_state=0)
    for n in (5, 20, 40):
        known = y[:n] + [[None] * len(labels) for labels in y[n:400]]
        alone = EmpiricalCRF().fit(X[:n], y[:n]).score(X[400:], y[400:])
        model = SemiSupervisedClassifier(EmpiricalCRF()).fit(X[:400], known)
        assert model.score(X[400:], y[400:]) > alone + 0.02


def test_all_layouts_are_alike():
    model = SemiSupervisedClassifier(EmpiricalCRF()).fit(X_TRAIN, KNOWN)
    expected = model.predict(X_TEST).tolist()
    arrays = SequenceArray.from_sequences(X_TRAIN), SequenceArray.from_sequences(KNOWN)
    own = SemiSupervisedClassifier(EmpiricalCRF()).fit(*arrays)
    assert own.predict(X_TEST).tolist() == expected
    pipeline = make_sequence_pipeline(TokenFeatures([]), EmpiricalCRF())
    for fill in ("best", "expected"):
        inside = SemiSupervisedClassifier(pipeline, fill=fill).fit(X_TRAIN, KNOWN)
        outside = SemiSupervisedClassifier(EmpiricalCRF(), fill=fill)
        rows = pipeline[:-1].fit_transform(X_TRAIN)
        outside.fit(rows, KNOWN)
        found = outside.predict(pipeline[:-1].fit(X_TRAIN).transform(X_TEST))
        assert inside.predict(X_TEST).tolist() == found.tolist()
    places = [(i, t) for i, words in enumerate(X_TRAIN) for t in range(len(words))]
    index = pd.MultiIndex.from_tuples(places, names=["sequence", "position"])
    frame = pd.DataFrame({"token": [X_TRAIN[i][t] for i, t in places]}, index=index)
    labels = [KNOWN[i][t] for i, t in places]
    table = SemiSupervisedClassifier(EmpiricalCRF(), sample_unit="token").fit(frame, labels)
    index = pd.MultiIndex.from_product([[0], range(len(X_TEST[0]))])
    words = pd.DataFrame({"token": X_TEST[0]}, index=index)
    assert table.predict(words).tolist() == expected[0]


def test_weights_of_samples_count():
    weights = [2.0 + i % 3 for i in range(60)]
    model = SemiSupervisedClassifier(HMM()).fit(X_TRAIN, KNOWN, sample_weight=weights)
    first = HMM().fit(X_TRAIN[: 2 * N], KNOWN[: 2 * N], sample_weight=weights[: 2 * N])
    filled = first.predict(X_TRAIN, allowed=KNOWN)
    by_token = [
        [w if label is not None else 0.1 * w for label in own]
        for own, w in zip(KNOWN, weights, strict=True)
    ]
    second = HMM().fit(X_TRAIN, filled, sample_weight=by_token)
    np.testing.assert_array_equal(model.estimator_.transitions_, second.transitions_)


def test_bad_input():
    with pytest.raises(ValueError, match="y: all labels are None, so nothing can be learned"):
        SemiSupervisedClassifier(HMM()).fit(X[:2], [[None] * len(x) for x in X[:2]])
    with pytest.raises(ValueError, match="must be a sequence classifier"):
        SemiSupervisedClassifier(TokenFeatures([])).fit(X_TRAIN, KNOWN)
    with pytest.raises(ValueError, match="needs an estimator that takes probabilities as y, but S"):
        SemiSupervisedClassifier(StructuredPerceptron(), fill="expected").fit(X_TRAIN, KNOWN)
    for bad in ({"n_iter": 0}, {"fill": "worst"}, {"unlabelled_weight": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            SemiSupervisedClassifier(HMM(), **bad).fit(X_TRAIN, KNOWN)


def test_it_warns_where_it_is_known_to_harm(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SemiSupervisedClassifier(HMM(), fill="expected").fit(X_TRAIN, KNOWN)
        SemiSupervisedClassifier(HMM(), n_iter=2).fit(X_TRAIN, KNOWN)
    with pytest.warns(UserWarning, match=r"accuracy has fallen .* but n_iter is 2") as caught:
        SemiSupervisedClassifier(HMM(), 2, fill="expected").fit(X_TRAIN, KNOWN)
    assert caught[0].filename == __file__
    monkeypatch.setattr(semi_supervised, "MANY", 30)
    with pytest.warns(UserWarning, match=r"\d+ tokens have labels; with more than 30, unlab"):
        SemiSupervisedClassifier(HMM()).fit(X_TRAIN, KNOWN)


def test_without_unlabelled_tokens_it_is_the_estimator():
    with pytest.warns(UserWarning, match="y has the label of every token; labels that are not"):
        model = SemiSupervisedClassifier(HMM()).fit(X[:9], y[:9])
    assert model.n_iter_ == 0
    assert model.predict(X).tolist() == HMM().fit(X[:9], y[:9]).predict(X).tolist()


def test_a_failed_fit_leaves_it_as_it_was(tmp_path):
    model = SemiSupervisedClassifier(EmpiricalCRF()).fit(X_TRAIN, KNOWN)
    expected = model.predict(X_TEST).tolist()
    with pytest.raises(ValueError, match="all labels are None"):
        model.fit(X[:1], [[None] * len(X[0])])
    assert model.predict(X_TEST).tolist() == expected
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").estimator.predict(X_TEST).tolist() == expected
