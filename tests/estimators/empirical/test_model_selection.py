"""EmpiricalCRF inside the model selection of scikit-learn, with plain lists and SequenceArray."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, SequenceArray
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.metrics import get_sequence_scorer, get_sequence_scorer_names

CV = {"cv": 3}
WORDS = {"D": ["the", "a"], "N": ["dog", "cat", "walks", "x7"], "V": ["walks", "sleeps", "a"]}
NEXT = {"D": ["N"], "N": ["V", "N", "D"], "V": ["D", "N"]}


def make_corpus(n_sequences=40, seed=0):
    """Sentences with ambiguous words, and unique ones at some of their ends."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n_sequences):
        labels = [str(rng.choice(["D", "N"]))]
        for _ in range(rng.integers(1, 5)):
            labels.append(str(rng.choice(NEXT[labels[-1]])))
        words = [str(rng.choice(WORDS[label])) for label in labels]
        if i % 4 == 0:
            words[-1] = f"w{i}"
        X.append(words)
        y.append(labels)
    return [*X, []], [*y, []]


X_LIST, Y_LIST = make_corpus()


@pytest.fixture(params=["lists", "SequenceArray"])
def corpus(request):
    if request.param == "lists":
        return X_LIST, Y_LIST
    return SequenceArray.from_sequences(X_LIST), SequenceArray.from_sequences(Y_LIST)


# All of scikit-learn's tools take rows in the same way: the main ones are tried with both.
of_lists = pytest.mark.parametrize("corpus", ["lists"], indirect=True)
of_arrays = pytest.mark.parametrize("corpus", ["SequenceArray"], indirect=True)


@pytest.fixture(scope="module")
def scores_by_hand():
    scores = []
    for train, test in KFold(3).split(X_LIST):
        crf = EmpiricalCRF().fit([X_LIST[i] for i in train], [Y_LIST[i] for i in train])
        scores.append(crf.score([X_LIST[i] for i in test], [Y_LIST[i] for i in test]))
    return scores


def test_train_test_split(corpus):
    X, y = corpus
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    assert type(X_train) is type(X)
    assert len(X_train) == len(y_train) == 30
    assert EmpiricalCRF().fit(X_train, y_train).score(X_test, y_test) > 0.8


def test_cross_val_score(corpus, scores_by_hand):
    assert cross_val_score(EmpiricalCRF(), *corpus, cv=3, n_jobs=2).tolist() == scores_by_hand
    shuffled = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(EmpiricalCRF(), *corpus, cv=shuffled).min() > 0.7


@of_arrays
def test_groups(corpus):
    groups = np.arange(41) // 4
    scores = cross_val_score(EmpiricalCRF(), *corpus, groups=groups, cv=GroupKFold(3))
    assert scores.shape == (3,)
    assert scores.min() > 0.7


def test_cross_val_predict(corpus):
    X, y = corpus
    predicted = cross_val_predict(EmpiricalCRF(), X, y, **CV)
    assert [len(s) for s in predicted] == [len(s) for s in X_LIST]
    assert isinstance(predicted, SequenceArray if isinstance(X, SequenceArray) else np.ndarray)
    assert predicted.tolist() == EmpiricalCRF().predict_out_of_fold(X_LIST, Y_LIST, cv=3).tolist()


@of_arrays
def test_learning_curve(corpus):
    sizes, train, test = learning_curve(EmpiricalCRF(), *corpus, train_sizes=[0.1, 1.0], **CV)
    assert sizes.tolist() == [2, 27]
    assert train.shape == test.shape == (2, 3)
    assert test[1].mean() > test[0].mean()
    in_parts = learning_curve(
        EmpiricalCRF(), *corpus, train_sizes=[0.1, 1.0], exploit_incremental_learning=True, **CV
    )
    assert np.array_equal(in_parts[2], test)


@of_lists
def test_validation_curve(corpus, scores_by_hand):
    train, test = validation_curve(
        EmpiricalCRF(), *corpus, param_name="sigma", param_range=[0.05, 1.0], **CV
    )
    assert train.shape == (2, 3)
    assert test[1].tolist() == scores_by_hand


GRID = {"mu_oov": [0.0, 1.0, 2.0], "sigma": [0.3, 1.0]}


def test_grid_search(corpus, scores_by_hand):
    X, y = corpus
    search = GridSearchCV(EmpiricalCRF(), GRID, **CV).fit(X, y)
    default = [p == {"mu_oov": 1.0, "sigma": 1.0} for p in search.cv_results_["params"]]
    of_default = search.cv_results_["mean_test_score"][default]
    assert of_default == pytest.approx(np.mean(scores_by_hand))
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.best_estimator_.get_params()["sigma"] == search.best_params_["sigma"]
    refitted = EmpiricalCRF(**search.best_params_).fit(X, y)
    assert search.score(X, y) == refitted.score(X, y)
    assert search.predict(X).tolist() == refitted.predict(X).tolist()


@of_lists
def test_randomized_search(corpus):
    search = RandomizedSearchCV(EmpiricalCRF(), GRID, n_iter=2, random_state=0, **CV)
    assert len(search.fit(*corpus).cv_results_["params"]) == 2
    assert search.best_score_ > 0.8


@of_arrays
def test_halving_search(corpus):
    search = HalvingGridSearchCV(EmpiricalCRF(), GRID, random_state=0, min_resources=10, **CV)
    search.fit(*corpus)
    assert search.n_resources_[0] == 10
    assert search.n_iterations_ == 2
    assert search.best_score_ > 0.5


def make_tagger():
    features = FeatureUnion([("own", TokenFeatures(["lower", "suffix2"])), ("near", Window([-1]))])
    return Pipeline([("features", features), ("crf", EmpiricalCRF(observation="lower"))])


def make_attribute_tagger():
    union = FeatureUnion([("own", TokenFeatures("simple")), ("near", Window([-1, 0, 1]))])
    return Pipeline([("tokens", union), ("vectors", SequenceVectorizer()), ("crf", EmpiricalCRF())])


@pytest.mark.parametrize("make", [make_tagger, make_attribute_tagger])
def test_search_in_a_pipeline(corpus, make):
    X, y = corpus
    grid = {"crf__sigma": [0.5, 1.0]}
    search = GridSearchCV(make(), grid, **CV).fit(X, y)
    assert search.best_score_ > 0.7
    refitted = clone(search.best_estimator_).fit(X, y)
    assert search.predict(X).tolist() == refitted.predict(X).tolist()
    assert search.predict_proba(X[:3])[0].shape == (len(Y_LIST[0]), 3)
    assert search.score(X, y) > 0.8


@of_lists
def test_search_over_the_words_and_windows(corpus):
    search = GridSearchCV(
        make_pipeline(TokenFeatures(), EmpiricalCRF()),
        {"tokenfeatures__features": [["lower"], ["lower", "shape"]]},
        cv=3,
    )
    assert search.fit(*corpus).best_score_ > 0.7


def test_clone():
    crf = EmpiricalCRF.ecrn(mu_oov=1.5, exponents={"word": 0.5}).fit(X_LIST, Y_LIST)
    twin = clone(crf)
    assert twin.get_params() == crf.get_params()
    assert not hasattr(twin, "classes_")
    assert twin.fit(X_LIST, Y_LIST).predict(X_LIST).tolist() == crf.predict(X_LIST).tolist()


@of_lists
def test_scorers(corpus):
    X, y = corpus
    y = [["O" if label == "D" else f"B-{label}" for label in s] for s in y]
    scorers = {name: get_sequence_scorer(name) for name in get_sequence_scorer_names()}
    found = cross_validate(EmpiricalCRF(), X, y, scoring=scorers, cv=2)
    search = GridSearchCV(
        make_tagger(), {"crf__mu_oov": [2.0]}, scoring=scorers, refit="token_accuracy", cv=2
    ).fit(X, y)
    for name in scorers:
        assert np.isfinite(found[f"test_{name}"]).all(), name
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all(), name
    assert search.best_score_ == search.cv_results_["mean_test_token_accuracy"][0]


@of_arrays
def test_several_scorers_at_once(corpus):
    names = ["known_accuracy", "unknown_accuracy", "token_accuracy", "neg_log_loss"]
    scoring = {name: get_sequence_scorer(name) for name in names}
    result = cross_validate(EmpiricalCRF(), *corpus, scoring=scoring, **CV)
    train, test = next(iter(KFold(3).split(X_LIST)))
    crf = EmpiricalCRF().fit([X_LIST[i] for i in train], [Y_LIST[i] for i in train])
    correct, known, gold = [], [], []
    for i in test:
        labels, seen = crf.predict([X_LIST[i]])[0], crf.known_tokens([X_LIST[i]])[0]
        correct += [a == b for a, b in zip(labels, Y_LIST[i], strict=True)]
        known += seen
        (proba,) = crf.predict_proba([X_LIST[i]])
        gold += [p["DNV".index(label)] for p, label in zip(proba, Y_LIST[i], strict=True)]
    correct, known = np.array(correct), np.array(known)
    assert 0 < known.sum() < len(known)
    assert result["test_token_accuracy"][0] == pytest.approx(correct.mean())
    assert result["test_known_accuracy"][0] == pytest.approx(correct[known].mean())
    assert result["test_unknown_accuracy"][0] == pytest.approx(correct[~known].mean())
    assert result["test_neg_log_loss"][0] == pytest.approx(np.log(gold).mean())


@of_arrays
def test_weights_are_routed(corpus, scores_by_hand):
    X, y = corpus
    half = np.arange(41) % 2
    odd = [i for i in range(41) if half[i]]
    with config_context(enable_metadata_routing=True):
        crf = EmpiricalCRF().set_fit_request(sample_weight=True)
        plain = crf.set_score_request(sample_weight=False)
        ones = cross_validate(plain, X, y, params={"sample_weight": np.ones(41)}, **CV)
        result = cross_validate(
            plain, X, y, params={"sample_weight": half}, return_estimator=True, **CV
        )
        scored = cross_validate(
            clone(crf).set_score_request(sample_weight=True),
            X,
            y,
            params={"sample_weight": half},
            cv=3,
        )
    assert ones["test_score"].tolist() == scores_by_hand
    train, test = next(iter(KFold(3).split(X_LIST)))
    chosen = [i for i in train if half[i]]
    expected = EmpiricalCRF().fit([X_LIST[i] for i in chosen], [Y_LIST[i] for i in chosen])
    fold = result["estimator"][0]
    assert fold.predict(X_LIST).tolist() == expected.predict(X_LIST).tolist()
    counted = [i for i in test if i in odd]
    assert scored["test_score"][0] == pytest.approx(
        expected.score([X_LIST[i] for i in counted], [Y_LIST[i] for i in counted])
    )


def make_frame():
    pd = pytest.importorskip("pandas")
    rows = [(i, t, w) for i, s in enumerate(X_LIST) for t, w in enumerate(s)]
    frame = pd.DataFrame(rows, columns=["sequence", "position", "word"])
    return frame.set_index(["sequence", "position"]), np.array([v for s in Y_LIST for v in s])


def test_rows_are_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] > 0.5, "a", np.where(X[:, 1] > 0, "b", "c"))
    crf = EmpiricalCRF(sample_unit="token")
    for scoring in ("accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr", None):
        scores = cross_val_score(crf, X, y, scoring=scoring, **CV)
        assert scores.shape == (3,)
        assert (scores < 0).all() if scoring == "neg_log_loss" else (scores > 0.6).all()
    stratified = GridSearchCV(crf, {"sigma": [0.5, 1.0]}, cv=StratifiedKFold(3), scoring="f1_macro")
    assert stratified.fit(X, y).best_score_ > 0.6
    assert stratified.classes_.tolist() == ["a", "b", "c"]
    assert cross_val_predict(crf, X, y, method="predict_proba", **CV).shape == (200, 3)


def test_tokens_of_a_frame_are_samples():
    X, y = make_frame()
    crf = EmpiricalCRF(sample_unit="token")
    groups = X.index.get_level_values("sequence")
    for scoring in ("f1_macro", "neg_log_loss"):
        whole = cross_val_score(crf, X, y, groups=groups, cv=GroupKFold(3), scoring=scoring)
        assert np.isfinite(whole).all()
    assert whole.max() < 0
    scores = cross_val_score(crf, X, y, cv=StratifiedKFold(3), scoring="f1_macro")
    assert scores.mean() > 0.7
    search = GridSearchCV(crf, {"mu_oov": [1.0, 2.0]}, scoring="accuracy", **CV).fit(X, y)
    assert search.predict(X).shape == y.shape


def test_sequences_are_samples_by_default():
    with pytest.raises(ValueError, match=r"multiclass|sequence"):
        cross_val_score(EmpiricalCRF(), X_LIST, Y_LIST, cv=StratifiedKFold(3))


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_probabilities_of_cross_val_predict_are_refused_for_sequences(method):
    X, y = [["a", "b"], ["b", "c"]] * 3, [["A", "B"], ["B", "C"]] * 3
    array = SequenceArray.from_sequences(X)
    for estimator in (EmpiricalCRF(), make_pipeline(Window([0]), CRF(tol=0.1))):
        for given in (X, array):
            for labels in (y, np.array(y)):
                with pytest.raises(ValueError, match=f"cross_val_predict.*{method}.*one label for"):
                    cross_val_predict(estimator, given, labels, cv=2, method=method)
