"""Scorers, in all that takes a scorer."""

import pickle
import warnings

import numpy as np
import pytest
from cases import for_each
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline

from sklearn_crcrf import CRF, SequenceArray, as_sequences
from sklearn_crcrf.metrics import (
    get_sequence_scorer,
    get_sequence_scorer_names,
    known_accuracy,
    segment_f1,
    segment_precision,
    segment_recall,
    sequence_accuracy,
    token_accuracy,
    token_f1,
    token_log_loss,
    unknown_accuracy,
)


class WordTagger(BaseEstimator):
    """Gives every word the label it had most often; a stand-in for a real tagger."""

    def __init__(self, smoothing=1.0):
        self.smoothing = smoothing

    def fit(self, X, y):
        words, labels, _ = as_sequences(X, y)
        self.classes_ = np.unique(labels.data)
        self.counts_ = {word: np.zeros(len(self.classes_)) for word in set(words.data)}
        self.prior_ = np.zeros(len(self.classes_))
        for word, j in zip(words.data, np.searchsorted(self.classes_, labels.data), strict=True):
            self.counts_[word][j] += 1
            self.prior_[j] += 1
        return self

    def _probabilities(self, words):
        prior = self.smoothing * self.prior_ / self.prior_.sum() + 1e-6
        rows = np.array([self.counts_.get(word, 0.0) + prior for word in words])
        return rows / rows.sum(axis=1, keepdims=True)

    def predict(self, X):
        words, _, mirror = as_sequences(X)
        return mirror(self.classes_[self._probabilities(words.data).argmax(axis=1)])

    def predict_proba(self, X):
        words, _, mirror = as_sequences(X)
        return mirror(self._probabilities(words.data))

    def known_tokens(self, X):
        words, _, mirror = as_sequences(X)
        return mirror(np.array([word in self.counts_ for word in words.data]))


class LowerCase(TransformerMixin, BaseEstimator):
    __sklearn_is_fitted__ = lambda self: True  # noqa: E731

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        words, _, _ = as_sequences(X)
        return SequenceArray(np.array([w.lower() for w in words.data], object), words.offsets)


def make_corpus(layout):
    rng = np.random.default_rng(0)
    words = np.array([f"{c}{i}" for i in range(15) for c in "wW"], dtype=object)
    labels = np.array(["O", "B-X", "I-X"], dtype=object)
    lengths = rng.integers(1, 8, 60)
    ids = rng.integers(0, 30, lengths.sum())
    noisy = np.where(rng.random(len(ids)) < 0.2, rng.integers(0, 3, len(ids)), ids % 3)
    X = SequenceArray.from_lengths(words[ids], lengths)
    y = SequenceArray.from_lengths(labels[noisy], lengths)
    return (X, y) if layout == "SequenceArray" else (X.tolist(), y.tolist())


ALL_SCORERS = get_sequence_scorer_names()


def test_scorer_names():
    assert ALL_SCORERS == [
        "known_accuracy",
        "neg_log_loss",
        "segment_f1",
        "segment_precision",
        "segment_recall",
        "sequence_accuracy",
        "token_accuracy",
        "token_f1_macro",
        "token_f1_micro",
        "token_f1_weighted",
        "unknown_accuracy",
    ]
    with pytest.raises(ValueError, match=r"name must be one of .*, got 'accuracy'"):
        get_sequence_scorer("accuracy")


def test_scorers_equal_their_metrics():
    X, y = make_corpus("list")
    model = WordTagger().fit(X[:20], y[:20])
    X, y = X[20:], y[20:]
    y_pred, known = model.predict(X), model.known_tokens(X)
    expected = {
        "known_accuracy": known_accuracy(y, y_pred, known),
        "unknown_accuracy": unknown_accuracy(y, y_pred, known, zero_division=0.0),
        "neg_log_loss": -token_log_loss(y, model.predict_proba(X), model.classes_),
        "segment_f1": segment_f1(y, y_pred),
        "segment_precision": segment_precision(y, y_pred),
        "segment_recall": segment_recall(y, y_pred),
        "sequence_accuracy": sequence_accuracy(y, y_pred),
        "token_accuracy": token_accuracy(y, y_pred),
        "token_f1_macro": token_f1(y, y_pred, average="macro"),
        "token_f1_micro": token_f1(y, y_pred, average="micro"),
        "token_f1_weighted": token_f1(y, y_pred, average="weighted"),
    }
    for name, value in expected.items():
        assert get_sequence_scorer(name)(model, X, y) == value, name


@for_each("name", ALL_SCORERS)
def test_scorers_pickle_and_weigh_samples(name):
    X, y = make_corpus("list")
    model = WordTagger().fit(X[:4], y[:4])
    scorer = pickle.loads(pickle.dumps(get_sequence_scorer(name)))
    X, y = X[4:], y[4:]
    half = np.arange(len(X)) < 20
    assert scorer(model, X, y, sample_weight=half.astype(float)) == pytest.approx(
        scorer(model, X[:20], y[:20])
    )
    assert scorer(model, X, y) != pytest.approx(scorer(model, X[:20], y[:20]))


def test_scorer_options():
    X, y = [["a", "b"]], [["S-X", "O"]]
    model = WordTagger().fit(X, y)
    assert get_sequence_scorer("segment_f1", scheme="IOBES")(model, X, y) == 1.0
    with pytest.raises(ValueError, match="does not fit the scheme IOB2"):
        get_sequence_scorer("segment_f1")(model, X, y)
    nothing = get_sequence_scorer("unknown_accuracy", zero_division=np.nan)
    assert np.isnan(nothing(model, X, y))


@pytest.mark.parametrize("layout", ["list", "SequenceArray"])
def test_every_scorer_in_cross_validation(layout):
    X, y = make_corpus(layout)
    scoring = {
        name: get_sequence_scorer(name, **({"zero_division": 0.0} if "unknown" in name else {}))
        for name in ALL_SCORERS
    }
    folds = cross_validate(WordTagger(), X, y, cv=5, scoring=pickle.loads(pickle.dumps(scoring)))
    for name in ALL_SCORERS:
        assert np.isfinite(folds[f"test_{name}"]).all(), name
    scorer = get_sequence_scorer("neg_log_loss")
    single = cross_val_score(WordTagger(), X, y, cv=5, scoring=scorer)
    np.testing.assert_allclose(single, folds["test_neg_log_loss"])


@for_each("layout", ["list", "SequenceArray"])
@for_each("name", ["segment_f1", "known_accuracy", "neg_log_loss"])
def test_grid_search_over_a_pipeline(layout, name):
    X, y = make_corpus(layout)
    pipeline = Pipeline([("lower", LowerCase()), ("tag", WordTagger())])
    grid = {"tag__smoothing": [1e-3, 1.0, 1e3]}
    search = GridSearchCV(pipeline, grid, cv=5, scoring=get_sequence_scorer(name))
    search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0
    assert search.best_params_["tag__smoothing"] != 1e3


def test_known_tokens_are_asked_for_as_the_last_step_sees_them():
    X, y = [["a", "b"]], [["O", "B-X"]]
    new, truth = [["A", "C"]], [["O", "B-X"]]
    known = get_sequence_scorer("known_accuracy", zero_division=np.nan)
    lower = Pipeline([("lower", LowerCase()), ("tag", WordTagger())]).fit(X, y)
    alone = Pipeline([("tag", WordTagger())]).fit(X, y)
    nested = Pipeline([("inner", lower)])
    search = GridSearchCV(lower, {"tag__smoothing": [1.0]}, cv=2)
    search.set_params(scoring=get_sequence_scorer("token_accuracy")).fit(X * 2, y * 2)
    assert known(lower, new, truth) == 1.0
    assert known(nested, new, truth) == 1.0
    assert known(search, new, truth) == 1.0
    assert np.isnan(known(alone, new, truth))
    with pytest.raises(ValueError, match="CRF does not say which words are known"):
        known(CRF().fit(X, y), new, truth)


@pytest.mark.parametrize("name", ["token_accuracy", "known_accuracy", "neg_log_loss"])
def test_sample_weight_is_routed_to_the_scorer(name):
    X, y = make_corpus("list")
    weight = np.random.default_rng(1).random(len(X))
    with config_context(enable_metadata_routing=True):
        scorer = get_sequence_scorer(name).set_score_request(sample_weight=True)
        weighted = cross_val_score(
            WordTagger(), X, y, cv=5, scoring=scorer, params={"sample_weight": weight}
        )
        plain = cross_val_score(WordTagger(), X, y, cv=5, scoring=get_sequence_scorer(name))
    assert np.isfinite(weighted).all()
    assert (weighted != plain).any()


def test_no_warning_where_every_metric_is_defined():
    X, y = make_corpus("list")
    model = WordTagger().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ALL_SCORERS:
            if name != "unknown_accuracy":
                get_sequence_scorer(name)(model, X, y)


@for_each("name", get_sequence_scorer_names())
def test_scorers_have_names(name):
    assert get_sequence_scorer(name).__name__ == name
