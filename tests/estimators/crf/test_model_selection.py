"""CRF inside the model selection of scikit-learn, with plain lists and SequenceArray."""

import numpy as np
import pytest
from log_linear import all_weights
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import FeatureUnion, Pipeline
from toy import make_corpus

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.metrics import get_sequence_scorer

X_LIST, Y_LIST = make_corpus(n_sequences=40)
X_LIST, Y_LIST = [*X_LIST, []], [*Y_LIST, []]


def doubled_loss(structure, parts, y):
    loss, pullback = log_loss(structure, parts, y)
    return 2 * loss, lambda weight, out=None: pullback(2 * weight, out)


@pytest.fixture(params=["lists", "SequenceArray"])
def corpus(request):
    if request.param == "lists":
        return X_LIST, Y_LIST
    return SequenceArray.from_sequences(X_LIST), SequenceArray.from_sequences(Y_LIST)


of_lists = pytest.mark.parametrize("corpus", ["lists"], indirect=True)
of_arrays = pytest.mark.parametrize("corpus", ["SequenceArray"], indirect=True)


def take(which):
    return [X_LIST[i] for i in which], [Y_LIST[i] for i in which]


@pytest.fixture(scope="module")
def scores_by_hand():
    return [CRF().fit(*take(a)).score(*take(b)) for a, b in KFold(3).split(X_LIST)]


def test_cross_validation(corpus, scores_by_hand):
    X, y = corpus
    assert cross_val_score(CRF(), X, y, cv=3).tolist() == scores_by_hand
    assert cross_val_score(CRF(), X, y, cv=3, n_jobs=2).tolist() == scores_by_hand
    grouped = cross_val_score(CRF(), X, y, groups=np.arange(41) // 4, cv=GroupKFold(3))
    assert np.isfinite(grouped).all()
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert 0 < CRF().fit(X_train, y_train).score(X_test, y_test) < 1


def test_predictions_out_of_fold(corpus):
    X, y = corpus
    predicted = cross_val_predict(CRF(), X, y, cv=3)
    assert isinstance(predicted, SequenceArray if isinstance(X, SequenceArray) else np.ndarray)
    train, test = next(iter(KFold(3).split(X_LIST)))
    expected = CRF().fit(*take(train)).predict(take(test)[0])
    assert predicted[: len(test)].tolist() == expected.tolist()


@of_lists
def test_learning_curve(corpus):
    sizes, train, test = learning_curve(CRF(), *corpus, train_sizes=[0.1, 1.0], cv=3)
    assert sizes.tolist() == [2, 27]
    assert test[1].mean() > test[0].mean()
    assert train[0].mean() > train[1].mean()
    in_parts = learning_curve(
        CRF(random_state=0),
        *corpus,
        train_sizes=[0.5, 1.0],
        cv=3,
        exploit_incremental_learning=True,
    )
    assert np.isfinite(in_parts[2]).all()


def test_grid_search(corpus, scores_by_hand):
    X, y = corpus
    grid = {"sigma": [0.1, 1.0], "criterion": ["log_loss", doubled_loss]}
    search = GridSearchCV(CRF(), grid, cv=3).fit(X, y)
    default = [p == {"sigma": 1.0, "criterion": "log_loss"} for p in search.cv_results_["params"]]
    of_default = search.cv_results_["mean_test_score"][default]
    assert of_default == pytest.approx(np.mean(scores_by_hand))
    refitted = CRF(**search.best_params_).fit(X, y)
    assert search.predict(X).tolist() == refitted.predict(X).tolist()
    assert search.score(X, y) == refitted.score(X, y)


@of_arrays
@pytest.mark.parametrize("name", ["token_f1_macro", "neg_log_loss", "sequence_accuracy"])
def test_scorers(corpus, name):
    X, y = corpus
    scorer = get_sequence_scorer(name)
    scores = cross_val_score(CRF(), X, y, scoring=scorer, cv=3)
    train, test = next(iter(KFold(3).split(X_LIST)))
    assert scores[0] == pytest.approx(scorer(CRF().fit(*take(train)), *take(test)))


def test_search_in_a_pipeline(corpus):
    X, y = corpus
    union = FeatureUnion([("own", TokenFeatures(["lower", "suffix2"])), ("near", Window([-1, 0]))])
    for pipeline in (
        Pipeline([("features", union), ("crf", CRF())]),
        Pipeline([("features", union), ("vectors", SequenceVectorizer()), ("crf", CRF())]),
    ):
        grid = {"crf__sigma": [0.3, 1.0], "crf__features": ["observed"]}
        search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
        refitted = clone(search.best_estimator_).fit(X, y)
        assert search.predict(X).tolist() == refitted.predict(X).tolist()
        assert search.predict_proba(X[:3])[0].shape == (len(Y_LIST[0]), 4)


def test_clone_and_set_params():
    crf = CRF(sigma=2.0, edge_columns=["token"], constraints={"A": ["B"]}, class_weight={"A": 2.0})
    twin = clone(crf)
    assert twin.get_params() == crf.get_params()
    assert not hasattr(twin, "classes_")
    twin.set_params(**CRF().get_params())
    assert twin.get_params() == CRF().get_params()
    assert np.array_equal(twin.fit(X_LIST, Y_LIST).coef_, CRF().fit(X_LIST, Y_LIST).coef_)


@of_arrays
def test_weights_are_routed(corpus, scores_by_hand):
    X, y = corpus
    half = np.arange(41) % 2
    options = {"cv": 3, "return_estimator": True}
    with config_context(enable_metadata_routing=True):
        crf = CRF().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        ones = cross_validate(crf, X, y, params={"sample_weight": np.ones(41)}, **options)
        result = cross_validate(crf, X, y, params={"sample_weight": half}, **options)
    assert ones["test_score"].tolist() == scores_by_hand
    train, _ = next(iter(KFold(3).split(X_LIST)))
    expected = CRF().fit(*take(train), half[train])
    assert_allclose(all_weights(result["estimator"][0]), all_weights(expected))


def test_rows_are_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 0] > 0.5, "a", np.where(X[:, 1] > 0, "b", "c"))
    crf = CRF(sample_unit="token", boundaries=True)
    for scoring in ("accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr", None):
        scores = cross_val_score(crf, X, y, scoring=scoring, cv=3)
        assert (scores < 0).all() if scoring == "neg_log_loss" else (scores > 0.6).all()
    search = GridSearchCV(crf, {"sigma": [0.5, 1.0]}, cv=StratifiedKFold(3), scoring="f1_macro")
    assert search.fit(X, y).classes_.tolist() == ["a", "b", "c"]
    assert cross_val_predict(crf, X, y, method="predict_proba", cv=3).shape == (150, 3)


def test_tokens_of_a_frame_are_samples():
    pd = pytest.importorskip("pandas")
    index = [(i, t) for i, s in enumerate(X_LIST) for t in range(len(s))]
    words = {"word": [w for s in X_LIST for w in s]}
    X = pd.DataFrame(words, index=pd.MultiIndex.from_tuples(index))
    y = np.array([label for s in Y_LIST for label in s])
    crf, groups = CRF(sample_unit="token"), X.index.get_level_values(0)
    scores = cross_val_score(crf, X, y, groups=groups, cv=GroupKFold(3), scoring="accuracy")
    by_hand = []
    for train, test in GroupKFold(3).split(X, groups=groups):
        sequences = [sorted({groups[i] for i in part}) for part in (train, test)]
        by_hand.append(CRF().fit(*take(sequences[0])).score(*take(sequences[1])))
    assert_allclose(scores, by_hand)


def test_sequences_are_samples_by_default():
    with pytest.raises(ValueError, match=r"multiclass|sequence"):
        cross_val_score(CRF(), X_LIST, Y_LIST, cv=StratifiedKFold(3))


def test_threads_inside_of_processes_and_threads():
    grid = {"sigma": [0.5, 1.0]}
    inner = GridSearchCV(CRF(n_jobs=2), grid, cv=2, n_jobs=2).fit(X_LIST, Y_LIST)
    assert inner.best_score_ == GridSearchCV(CRF(), grid, cv=2).fit(X_LIST, Y_LIST).best_score_
