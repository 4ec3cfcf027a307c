"""EmpiricalCRFCV chooses what has the best score for sequences left out."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut, LeaveOneOut
from toy import make_corpus

from sklearn_crcrf import EmpiricalCRF, EmpiricalCRFCV, SequenceArray, explain
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import (
    get_sequence_scorer,
    segment_f1,
    sequence_accuracy,
    token_accuracy,
    token_log_loss,
)
from sklearn_crcrf.model_files import load_model, save_model

X, Y = make_addresses(40, random_state=0)
GRID = {"sigmas": [0.3, 1.0], "mu_oovs": [0.5, 2.0], "orders": [1, 2]}
LIKE = {
    "default": (EmpiricalCRF(), GRID),
    "floored": (EmpiricalCRF.ecrn(), {"sigmas": [np.inf], "mu_oovs": [0.5, 1.0], "orders": [1, 2]}),
    "maxent": (EmpiricalCRF.maxent(), {"sigmas": [1.0, 10.0], "mu_oovs": [1.0, 2.0]}),
    "segments": (EmpiricalCRF(segments="counted"), {"sigmas": [0.5, 1.0], "mu_oovs": [0.0, 1.0]}),
    "min_count": (EmpiricalCRF(min_count=2, exponents={"word": 0.5}), {"mu_oovs": [0.5, 1.0]}),
}


def candidates(crf, sigmas=(0.5, 1.0, 2.0), mu_oovs=(0.5, 1.0, 2.0), orders=(1,)):
    for sigma, mu_oov, order in product(sigmas, mu_oovs, orders):
        yield clone(crf).set_params(sigma=sigma, mu_oov=mu_oov, order=order)


@for_each("name", LIKE)
def test_scores_are_those_of_each_candidate_by_itself(name):
    crf, grid = LIKE[name]
    search = EmpiricalCRFCV(**grid, cv=4, estimator=crf).fit(X, Y)
    expected = [
        token_accuracy(Y, one.predict_out_of_fold(X, Y, cv=4)) for one in candidates(crf, **grid)
    ]
    results = search.cv_results_
    np.testing.assert_allclose(results["mean_test_score"], expected, rtol=1e-12)
    assert search.best_score_ == results["mean_test_score"].max() == max(expected)
    best = list(candidates(crf, **grid))[int(np.argmax(expected))]
    assert results["params"][int(np.argmax(expected))] == {
        "sigma": search.sigma_,
        "mu_oov": search.mu_oov_,
        "order": search.order_,
    }
    assert (search.sigma_, search.mu_oov_, search.order_) == (best.sigma, best.mu_oov, best.order)
    fitted = best.fit(X, Y)
    assert search.predict(X).tolist() == fitted.predict(X).tolist()
    for p, q in zip(search.predict_proba(X), fitted.predict_proba(X), strict=True):
        np.testing.assert_array_equal(p, q)
    assert search.estimator_.counts_ == fitted.counts_
    assert search.estimator_.exponents_ == fitted.exponents_


@for_each("name", ["default", "segments"])
@for_each("orders", [[1], [1, 2]])
@for_each("method", ["predict", "predict_proba"])
def test_settings_share_what_they_have_in_common(name, orders, method):
    crf, _ = LIKE[name]
    orders = [1] if crf.segments else orders
    scoring = {"predict": "sequence_accuracy", "predict_proba": "neg_log_loss"}[method]
    grid = {"sigmas": [0.5, 2.0], "mu_oovs": [0.0, 0.5, 2.0], "orders": orders}
    search = EmpiricalCRFCV(**grid, scoring=scoring, estimator=crf).fit(X, Y)
    classes = sorted({y for labels in Y for y in labels})
    for one, found in zip(
        candidates(crf, **grid), search.cv_results_["mean_test_score"], strict=True
    ):
        left_out = one.predict_out_of_fold(X, Y, LeaveOneOut(), method=method)
        if method == "predict":
            assert found == sequence_accuracy(Y, left_out)
        else:
            assert found == -token_log_loss(Y, left_out, classes)


def test_by_default_each_sequence_is_left_out_by_itself():
    search = EmpiricalCRFCV([0.5, 2.0], [1.0]).fit(X[:15], Y[:15])
    for sigma, found in zip([0.5, 2.0], search.cv_results_["mean_test_score"], strict=True):
        labels = []
        for i, words in enumerate(X[:15]):
            crf = EmpiricalCRF(sigma=sigma)
            crf.fit(*(part[:i] + part[i + 1 : 15] for part in (X, Y)))
            labels.append(crf.predict([words])[0])
        assert found == pytest.approx(token_accuracy(Y[:15], labels), rel=1e-12)


def test_log_probabilities_of_labellings():
    y = [[*Y[0][:-1], "rare"], *Y[1:20]]  # a label of which no other sequence knows
    search = EmpiricalCRFCV([0.5, 2.0], [1.0, 2.0], scoring="log_proba").fit(X[:20], y)
    expected = []
    for crf in candidates(EmpiricalCRF(), [0.5, 2.0], [1.0, 2.0]):
        given = crf.predict_out_of_fold(X[:20], y, cv=20, method="log_proba").sequences
        assert given[0] == -np.inf
        expected.append(given[np.isfinite(given)].mean())
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-12)
    ranks = search.cv_results_["rank_test_score"]
    assert ranks.tolist() == (1 + np.argsort(np.argsort(-np.array(expected)))).tolist()


def known_words(cv):
    known = []
    for train, test in cv.split(X):
        words = {word for i in train for word in X[i]}
        known += [[word in words for word in X[i]] for i in test]
    return known


SCORINGS = {
    "segment_f1": lambda found, cv: segment_f1(Y, found("predict")),
    "sequence_accuracy": lambda found, cv: sequence_accuracy(Y, found("predict")),
    "neg_log_loss": lambda found, cv: (
        -token_log_loss(Y, found("predict_proba"), sorted({y for labels in Y for y in labels}))
    ),
    "unknown_accuracy": lambda found, cv: np.mean(
        [
            y == z
            for labels, predicted, known in zip(Y, found("predict"), known_words(cv), strict=True)
            for y, z, is_known in zip(labels, predicted, known, strict=True)
            if not is_known
        ]
    ),
}


@for_each("name", SCORINGS)
def test_scorers_are_given_predictions_of_sequences_left_out(name):
    cv, grid = KFold(4), {"sigmas": [0.5, 1.0], "mu_oovs": [0.5, 2.0]}
    by_name, by_call = (
        EmpiricalCRFCV(**grid, cv=cv, scoring=scoring).fit(X, Y)
        for scoring in (name, get_sequence_scorer(name))
    )
    expected = [
        SCORINGS[name](lambda method, crf=crf: crf.predict_out_of_fold(X, Y, cv, method=method), cv)
        for crf in candidates(EmpiricalCRF(), **grid)
    ]
    np.testing.assert_allclose(by_name.cv_results_["mean_test_score"], expected, rtol=1e-12)
    np.testing.assert_array_equal(*(s.cv_results_["mean_test_score"] for s in (by_name, by_call)))


def test_scorers_of_scikit_learn_may_be_given():
    scoring = make_scorer(sequence_accuracy)
    search = EmpiricalCRFCV([1.0], [0.5, 1.0], cv=3, scoring=scoring).fit(X, Y)
    found = [
        sequence_accuracy(Y, EmpiricalCRF(mu_oov=mu).predict_out_of_fold(X, Y, cv=3))
        for mu in (0.5, 1.0)
    ]
    assert search.cv_results_["mean_test_score"].tolist() == found


def test_the_choice_is_that_of_a_search_with_the_same_folds():
    search = EmpiricalCRFCV([0.1, 1.0], [1.0], cv=KFold(4), scoring="segment_f1").fit(X, Y)
    scoring = get_sequence_scorer("segment_f1")
    grid = GridSearchCV(EmpiricalCRF(), {"sigma": [0.1, 1.0]}, scoring=scoring, cv=KFold(4))
    assert grid.fit(X, Y).best_params_["sigma"] == search.sigma_


def test_whole_groups_are_left_out():
    X_2, Y_2, groups = X[:20] * 2, Y[:20] * 2, np.tile(np.arange(20), 2)
    torn = EmpiricalCRFCV([1.0], [1.0]).fit(X_2, Y_2)
    whole = EmpiricalCRFCV([1.0], [1.0], cv=LeaveOneGroupOut()).fit(X_2, Y_2, groups=groups)
    assert whole.best_score_ < torn.best_score_
    labels = EmpiricalCRF().predict_out_of_fold(X_2, Y_2, LeaveOneGroupOut(), groups=groups)
    assert whole.best_score_ == token_accuracy(Y_2, labels)


def test_weights_of_sequences_and_of_tokens():
    weights = np.arange(len(X)) % 3
    tokens = [[float(w)] * len(words) for w, words in zip(weights, X, strict=True)]
    of_sequences, of_tokens, none = (
        EmpiricalCRFCV([0.5, 1.0], [1.0], cv=3).fit(X, Y, sample_weight=w)
        for w in (weights, tokens, None)
    )
    found = EmpiricalCRF(sigma=0.5).predict_out_of_fold(X, Y, cv=3, sample_weight=weights)
    expected = token_accuracy(Y, found, sample_weight=weights)
    scores = of_sequences.cv_results_["mean_test_score"]
    assert scores[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(scores, of_tokens.cv_results_["mean_test_score"])
    assert scores.tolist() != none.cv_results_["mean_test_score"].tolist()
    by_name = EmpiricalCRFCV([0.5], [1.0], cv=3, scoring="token_accuracy")
    assert by_name.fit(X, Y, sample_weight=weights).best_score_ == pytest.approx(expected)


def test_unknown_labels_do_not_count():
    y = [[None if i % 7 == 0 else label for label in labels] for i, labels in enumerate(Y)]
    search = EmpiricalCRFCV([1.0], [0.5, 1.0], cv=3).fit(X, y)
    found = EmpiricalCRF(mu_oov=0.5).predict_out_of_fold(X, y, cv=3)
    assert search.cv_results_["mean_test_score"][0] == token_accuracy(y, found)


def test_tables_of_tokens():
    index = [(i, t) for i, words in enumerate(X) for t in range(len(words))]
    index = pd.MultiIndex.from_tuples(index, names=["sequence", "position"])
    table = pd.DataFrame({"word": np.concatenate(X)}, index=index)
    crf = EmpiricalCRF(sample_unit="token", n_jobs=2)
    of_rows = EmpiricalCRFCV([0.5, 1.0], [1.0], cv=3, estimator=crf).fit(table, np.concatenate(Y))
    of_lists = EmpiricalCRFCV([0.5, 1.0], [1.0], cv=3).fit(X, Y)
    results = (search.cv_results_["mean_test_score"].tolist() for search in (of_rows, of_lists))
    assert next(results) == next(results)
    assert of_rows.feature_names_in_.tolist() == ["word"]
    assert of_rows.sample_unit == "token" and of_rows.n_jobs == 2
    with pytest.raises(ValueError, match="feature names"):
        of_rows.predict(table.rename(columns={"word": "other"}))


def test_it_is_an_estimator_like_the_one_it_has_chosen(tmp_path):
    search = EmpiricalCRFCV([1.0], [0.5, 1.0], [2], cv=3).fit(X, Y)
    expected = EmpiricalCRF(mu_oov=search.mu_oov_, order=2).fit(X, Y)
    for copied in (search, pickle.loads(pickle.dumps(search))):
        assert copied.predict(X[:3]).tolist() == expected.predict(X[:3]).tolist()
        assert copied.predict_k_best(X[:1], 2) == expected.predict_k_best(X[:1], 2)
        assert copied.confidence(X[:3]).tolist() == expected.confidence(X[:3]).tolist()
        assert copied.known_tokens([["x", X[0][0]]]).tolist() == [[False, True]]
        assert copied.tagger()(X[0]) == expected.predict(X[:1])[0]
    own, other = (explain(crf, X[0]).contributions for crf in (search, expected))
    assert own.value.tolist() == other.value.tolist()
    save_model(search, tmp_path / "model")
    loaded = load_model(tmp_path / "model").estimator
    assert loaded.best_score_ == search.best_score_ and loaded.mu_oov_ == search.mu_oov_
    assert loaded.predict(X[:3]).tolist() == expected.predict(X[:3]).tolist()
    flat = search.predict(SequenceArray.from_sequences(X))
    assert isinstance(flat, SequenceArray)


def test_what_does_not_fit_together_is_refused():
    search = EmpiricalCRFCV([1.0], [1.0], cv=3).fit(X, Y)
    search.classes_ = search.classes_[::-1]
    with pytest.raises(ValueError, match="classes_"):
        search.predict(X)


@for_each(
    ("parameters", "message"),
    [
        ({"sigmas": []}, "sigmas must be a list of at least one value"),
        ({"orders": 2}, "orders"),
        ({"sigmas": [-1.0]}, "'sigma' parameter of EmpiricalCRF"),
        ({"orders": [4]}, "'order' parameter of EmpiricalCRF"),
        ({"scoring": "accuracy"}, "scoring must be one of log_proba, known_accuracy"),
        ({"estimator": EmpiricalCRF(exponents="fit")}, 'exponents="fit"'),
        ({"estimator": "crf"}, "estimator"),
        ({"orders": [1, 2], "estimator": EmpiricalCRF(segments="counted")}, "order=1"),
        ({"scoring": lambda estimator, X, y: np.nan}, "no score is the best"),
        ({"cv": [([0], [1])]}, "exactly one test set"),
    ],
)
def test_what_cannot_be_searched_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalCRFCV(**parameters).fit(*make_corpus(n_sequences=8))


def test_a_failed_search_leaves_the_estimator_as_it_was():
    search = EmpiricalCRFCV([1.0], [1.0], cv=3).fit(X, Y)
    before = search.predict(X).tolist()
    with pytest.raises(ValueError, match="no score is the best"):
        search.set_params(scoring=lambda estimator, X, y: np.nan).fit(X[:10], Y[:10])
    assert search.predict(X).tolist() == before
