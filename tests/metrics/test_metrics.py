import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from label_schemes import LETTERS, in_iobes_letters, labels_of
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline

from sklearn_crcrf import CRF, SequenceArray, as_sequences
from sklearn_crcrf.metrics import (
    get_sequence_scorer,
    get_sequence_scorer_names,
    known_accuracy,
    segment_f1,
    segment_precision,
    segment_precision_recall_f1,
    segment_recall,
    segment_report,
    sequence_accuracy,
    token_accuracy,
    token_confusion_matrix,
    token_f1,
    token_log_loss,
    unknown_accuracy,
)

# --- an evaluation script in the manner of the shared tasks, to compare with ------------------


def chunk_ends(previous, previous_type, tag, kind):
    if previous in "ES":
        return True
    if previous in "BI" and tag in "BSO":
        return True
    return previous != "O" and previous_type != kind


def chunk_starts(previous, previous_type, tag, kind):
    if tag in "BS":
        return True
    if previous in "ESO" and tag in "EI":
        return True
    return tag != "O" and previous_type != kind


def evaluate_like_the_script(y_true, y_pred, scheme):
    """Correct, guessed and true chunks by type, in one walk over all tokens."""
    correct, guessed, true = Counter(), Counter(), Counter()
    in_correct = False
    last = last_guess = ("O", "")
    stream = []
    for gold, guess in zip(y_true, y_pred, strict=True):
        stream += [*zip(gold, guess, strict=True), ("O", "O")]
    for gold, guess in stream:
        gold, guess = in_iobes_letters(gold, scheme), in_iobes_letters(guess, scheme)
        now, _, kind = gold.partition("-")
        now_guess, _, kind_guess = guess.partition("-")
        gold_ends = chunk_ends(*last, now, kind)
        guess_ends = chunk_ends(*last_guess, now_guess, kind_guess)
        if in_correct:
            if gold_ends and guess_ends and last[1] == last_guess[1]:
                in_correct = False
                correct[last[1]] += 1
            elif gold_ends != guess_ends or kind != kind_guess:
                in_correct = False
        gold_starts = chunk_starts(*last, now, kind)
        guess_starts = chunk_starts(*last_guess, now_guess, kind_guess)
        if gold_starts and guess_starts and kind == kind_guess:
            in_correct = True
        true[kind] += gold_starts
        guessed[kind_guess] += guess_starts
        last, last_guess = (now, kind), (now_guess, kind_guess)
    return correct, guessed, true


def random_pair(scheme, n_sequences, seed):
    """Labels that mostly break the scheme, and predictions that agree with most of them."""
    rng = np.random.default_rng(seed)
    labels = np.array(["O", *labels_of(scheme, ("X", "Y", "Z"))])
    y_true, y_pred = [], []
    for length in rng.integers(0, 12, n_sequences):
        gold = rng.choice(labels, length)
        other = rng.choice(labels, length)
        y_true.append(gold.tolist())
        y_pred.append(np.where(rng.random(length) < 0.8, gold, other).tolist())
    return y_true, y_pred


@for_each("scheme", LETTERS)
def test_segment_scores_equal_the_script_on_2000_random_sequences(scheme):
    y_true, y_pred = random_pair(scheme, 2_000, seed=len(scheme))
    correct, guessed, true = evaluate_like_the_script(y_true, y_pred, scheme)
    n_correct, n_guessed, n_true = correct.total(), guessed.total(), true.total()
    assert 0.3 < n_correct / n_true < 0.9

    scores = segment_precision_recall_f1(y_true, y_pred, scheme=scheme)
    assert scores.support == n_true
    assert scores.precision == n_correct / n_guessed
    assert scores.recall == n_correct / n_true
    assert scores.f1 == pytest.approx(2 * n_correct / (n_guessed + n_true), rel=1e-15)

    report = segment_report(y_true, y_pred, scheme=scheme, output_dict=True)
    for kind in "XYZ":
        assert report[kind]["support"] == true[kind]
        assert report[kind]["precision"] == correct[kind] / guessed[kind]
        assert report[kind]["recall"] == correct[kind] / true[kind]


@for_each("scheme", LETTERS)
def test_segment_scores_equal_the_script_sequence_by_sequence(scheme):
    y_true, y_pred = random_pair(scheme, 300, seed=7)
    for gold, guess in zip(y_true, y_pred, strict=True):
        correct, guessed, true = evaluate_like_the_script([gold], [guess], scheme)
        scores = segment_precision_recall_f1([gold], [guess], scheme=scheme, zero_division=0.0)
        assert scores.precision * guessed.total() == pytest.approx(correct.total())
        assert scores.recall * true.total() == pytest.approx(correct.total())


def test_conlleval_reading_is_the_default_and_strict_differs():
    y_true, y_pred = [["B-X", "I-X", "O"]], [["I-X", "I-X", "O"]]
    assert segment_f1(y_true, y_pred) == 1.0
    assert segment_f1(y_true, y_pred, reading="strict", zero_division=0.5) == 0.0
    assert segment_precision(y_true, y_pred, reading="strict", zero_division=0.5) == 0.5
    assert segment_recall(y_true, y_pred, reading="strict") == 0.0


def test_segment_needs_the_same_start_end_and_type():
    y_true = [["B-X", "I-X", "O", "B-Y"]]
    for other in (["B-X", "O", "O", "O"], ["O", "B-X", "O", "O"], ["B-Y", "I-Y", "O", "O"]):
        assert segment_precision(y_true, [other]) == 0.0
    assert segment_precision(y_true, [["B-X", "I-X", "O", "O"]]) == 1.0
    assert segment_recall(y_true, [["B-X", "I-X", "O", "O"]]) == 0.5


def test_segment_report_averages():
    y_true = [["B-X", "B-X", "B-Y", "O"]]
    y_pred = [["B-X", "O", "B-X", "B-Z"]]
    report = segment_report(y_true, y_pred, output_dict=True, zero_division=np.nan)
    assert report["X"] == {"precision": 0.5, "recall": 0.5, "f1-score": 0.5, "support": 2.0}
    assert np.isnan(report["Y"]["precision"])
    assert np.isnan(report["Z"]["recall"])
    assert report["micro avg"]["precision"] == pytest.approx(1 / 3)
    assert report["macro avg"]["precision"] == pytest.approx((0.5 + 0.0) / 2)
    assert report["macro avg"]["f1-score"] == pytest.approx((0.5 + 0 + 0) / 3)
    assert report["weighted avg"]["recall"] == pytest.approx((2 * 0.5 + 1 * 0.0) / 3)
    assert report["weighted avg"]["support"] == 3


def test_segment_report_text_has_a_line_per_type_and_average():
    y_true, y_pred = random_pair("IOB2", 50, seed=3)
    text = segment_report(y_true, y_pred, digits=4)
    report = segment_report(y_true, y_pred, output_dict=True)
    lines = {
        line.rsplit(maxsplit=4)[0].strip(): line.split() for line in text.splitlines()[2:] if line
    }
    assert list(lines) == list(report)
    for row, values in report.items():
        assert lines[row][-4:-1] == [f"{v:.4f}" for v in list(values.values())[:3]]
        assert float(lines[row][-1]) == values["support"]


def test_nothing_but_outside():
    y = [["O", "O"]]
    with pytest.warns(UndefinedMetricWarning, match="segment F1"):
        assert segment_f1(y, y) == 0.0
    assert np.isnan(segment_f1(y, y, zero_division=np.nan))
    assert segment_precision_recall_f1(y, y, zero_division=1.0) == (1.0, 1.0, 1.0, 0.0)
    report = segment_report(y, y, output_dict=True, zero_division=0.0)
    assert list(report) == ["micro avg", "macro avg", "weighted avg"]


def test_label_out_of_scheme_is_named_with_its_place():
    with pytest.raises(ValueError, match=r"y_pred: label 'X-A' at position 0 of sequence 1"):
        segment_f1([["O"], ["B-A"]], [["O"], ["X-A"]])
    with pytest.raises(ValueError, match=r"y_true: label 'A' at position 0 of sequence 1"):
        segment_report([["O"], ["A"]], [["O"], ["B-A"]])


# --- tokens -----------------------------------------------------------------------------------


@st.composite
def labelled(draw, labels=("a", "b", "c", "d")):
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any))
    column = st.lists(st.sampled_from(labels), min_size=sum(lengths), max_size=sum(lengths))
    weight = [draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in lengths]
    y_true, y_pred = (
        SequenceArray.from_lengths(np.array(draw(column), dtype=object), lengths) for _ in range(2)
    )
    return y_true, y_pred, np.array(weight)


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=12)
@given(labelled())
def test_token_metrics_equal_scikit_learn_on_flat_labels(case):
    y_true, y_pred, weight = case
    flat = [y_true.data.astype(str), y_pred.data.astype(str)]
    present = np.unique(flat)
    for sample_weight in (None, weight):
        token_weight = None if sample_weight is None else np.repeat(weight, y_true.lengths)
        weights = {"sample_weight": sample_weight}
        assert token_accuracy(y_true, y_pred, **weights) == pytest.approx(
            sklearn.metrics.accuracy_score(*flat, sample_weight=token_weight)
        )
        for average in ("weighted", "micro", "macro", None):
            for labels in (None, ["c", "a"]):
                options = {"average": average, "labels": labels, "zero_division": 0.0}
                np.testing.assert_allclose(
                    token_f1(y_true.tolist(), y_pred, **options, **weights),
                    sklearn.metrics.f1_score(*flat, sample_weight=token_weight, **options),
                )
        for normalize in (None, "true", "pred", "all"):
            np.testing.assert_allclose(
                token_confusion_matrix(y_true, y_pred, normalize=normalize, **weights),
                sklearn.metrics.confusion_matrix(
                    *flat, labels=present, normalize=normalize, sample_weight=token_weight
                ),
            )


@given(labelled(), st.data())
def test_known_and_unknown_add_up_to_all(case, data):
    y_true, y_pred, weight = case
    n = len(y_true.data)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    known = SequenceArray(mask, y_true.offsets)
    share = np.average(mask, weights=np.repeat(weight, y_true.lengths))
    options = {"sample_weight": weight, "zero_division": 0.0}
    total = share * known_accuracy(y_true, y_pred, known, **options)
    total += (1 - share) * unknown_accuracy(y_true, y_pred, known.tolist(), **options)
    assert total == pytest.approx(token_accuracy(y_true, y_pred, sample_weight=weight))


@given(labelled())
def test_sequence_accuracy_counts_equal_sequences(case):
    y_true, y_pred, weight = case
    right = [a == b for a, b in zip(y_true.tolist(), y_pred.tolist(), strict=True)]
    assert sequence_accuracy(y_true, y_pred) == pytest.approx(np.mean(right))
    assert sequence_accuracy(y_true.tolist(), y_pred, sample_weight=weight) == pytest.approx(
        np.average(right, weights=weight)
    )


def test_known_and_unknown_by_hand():
    y_true, y_pred = [["a", "b"], ["c"]], [["a", "a"], ["b"]]
    known = [[True, True], [False]]
    assert known_accuracy(y_true, y_pred, known) == 0.5
    assert unknown_accuracy(y_true, y_pred, known) == 0.0
    with pytest.warns(UndefinedMetricWarning, match="unknown_accuracy"):
        assert unknown_accuracy(y_true, y_pred, [[True, True], [True]]) == 0.0
    everything = [np.ones(2, dtype=bool), np.ones(1, dtype=bool)]
    assert np.isnan(unknown_accuracy(y_true, y_pred, everything, zero_division=np.nan))
    with pytest.raises(ValueError, match="zero_division"):
        unknown_accuracy(y_true, y_pred, known, zero_division="raise")


def test_one_dimensional_labels():
    y_true, y_pred = np.array([0, 1, 1, 2]), [0, 1, 2, 2]
    assert token_accuracy(y_true, y_pred) == 0.75
    assert sequence_accuracy(y_true, y_pred) == 0.75
    assert token_accuracy(y_true, y_pred, sample_weight=[1, 1, 2, 0]) == 0.5
    assert known_accuracy(y_true, y_pred, np.array([True, False, True, False])) == 0.5
    assert token_f1(pd.Series(y_true), y_pred, average="micro") == 0.75
    assert segment_f1(["B-X", "I-X", "O"], np.array(["B-X", "I-X", "O"])) == 1.0
    weighted = segment_recall(["B-X", "I-X", "B-X"], ["B-X", "I-X", "O"], sample_weight=[3, 9, 1])
    assert weighted == 0.75


def test_segment_weights_of_sequences_repeat_them():
    y_true, y_pred = random_pair("IOB2", 60, seed=5)
    times = np.arange(60) % 3
    weighted = segment_precision_recall_f1(y_true, y_pred, sample_weight=times)
    repeated = segment_precision_recall_f1(
        [y for y, n in zip(y_true, times, strict=True) for _ in range(n)],
        [y for y, n in zip(y_pred, times, strict=True) for _ in range(n)],
    )
    assert weighted == pytest.approx(repeated)


def test_labels_may_be_anything_hashable():
    y_true = [[("a", 1), None, 3], ["x"]]
    y_pred = [[("a", 1), 3, 3], ["x"]]
    assert token_accuracy(y_true, y_pred) == 0.75
    assert token_f1(y_true, y_pred, average="micro") == 0.75
    assert token_confusion_matrix(y_true, y_pred, labels=[3, None]).tolist() == [[1, 0], [1, 0]]


def test_tuples_beside_numbers_of_numpy():
    y_true, y_pred = [[("a", 1), 0.0], [("a", 1), ("a", 1)]], np.zeros((2, 2))
    assert token_accuracy(y_true, y_pred) == 0.25
    assert sequence_accuracy(y_true, y_pred) == 0.0


PAIR_METRICS = [
    token_accuracy,
    token_f1,
    sequence_accuracy,
    token_confusion_matrix,
    segment_f1,
    segment_precision,
    segment_recall,
    segment_precision_recall_f1,
    segment_report,
]


@for_each("metric", PAIR_METRICS)
def test_layouts_agree(metric):
    y_true, y_pred = random_pair("IOB2", 20, seed=1)
    arrays = [SequenceArray.from_sequences(y) for y in (y_true, y_pred)]
    objects = [np.asarray(a) for a in arrays]
    expected = metric(y_true, y_pred)
    for left in (y_true, arrays[0], objects[0]):
        for right in (y_pred, arrays[1], objects[1]):
            np.testing.assert_array_equal(metric(left, right), expected)


@for_each("metric", PAIR_METRICS)
def test_lengths_that_differ_are_named(metric):
    with pytest.raises(ValueError, match="y_true has 2 sequences, but y_pred has 1"):
        metric([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="sequence 1 has 2 labels in y_true, but 1 in"):
        metric([["O"], ["O", "O"]], [["O"], ["O"]])
    if metric is not sequence_accuracy:
        with pytest.raises(ValueError, match="sample_weight must have shape"):
            metric([["O"], ["O"]], [["O"], ["O"]], sample_weight=[1.0])


def test_known_of_another_length_is_named():
    with pytest.raises(ValueError, match="sequence 0 has 1 labels in y_true, but 2 in known"):
        known_accuracy([["O"]], [["O"]], [[True, False]])


@for_each("empty", [[], [[]], np.empty(0), SequenceArray(np.empty(0), [0])])
def test_no_tokens(empty):
    assert np.isnan(token_accuracy(empty, empty, zero_division=np.nan))
    assert np.isnan(token_f1(empty, empty, zero_division=np.nan))
    assert np.isnan(segment_f1(empty, empty, zero_division=np.nan))
    assert known_accuracy(empty, empty, empty, zero_division=1.0) == 1.0
    assert token_confusion_matrix(empty, empty).shape == (0, 0)
    assert token_confusion_matrix(empty, empty, labels=["a"]).tolist() == [[0]]
    with pytest.raises(ValueError, match="no tokens"):
        token_log_loss(empty, np.empty((0, 2)), "ab")


# --- probabilities ----------------------------------------------------------------------------


@given(labelled(labels=("a", "b", "c")), st.sampled_from([np.float64, np.float32]))
def test_log_loss_equals_scikit_learn_on_flat_labels(case, dtype):
    y_true, _, weight = case
    rng = np.random.default_rng(len(y_true.data))
    proba = rng.dirichlet(np.ones(3), len(y_true.data)).astype(dtype)
    nested = [np.array(p) for p in SequenceArray(proba, y_true.offsets)]
    for sample_weight, token_weight in ((None, None), (weight, np.repeat(weight, y_true.lengths))):
        expected = sklearn.metrics.log_loss(
            y_true.data.astype(str), proba, labels=["a", "b", "c"], sample_weight=token_weight
        )
        for layout in (nested, SequenceArray(proba, y_true.offsets)):
            loss = token_log_loss(y_true, layout, ["a", "b", "c"], sample_weight=sample_weight)
            assert loss == pytest.approx(expected, rel=1e-5)


def test_log_loss_takes_the_columns_as_classes_orders_them():
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert token_log_loss(["b", "a"], proba, ["b", "a"]) == pytest.approx(
        -np.log([0.9, 0.8]).mean()
    )


def test_log_loss_stays_finite():
    certain = [np.array([[1.0, 0.0]])]
    assert token_log_loss([["a"]], certain, ["a", "b"]) == 0.0
    assert 30 < token_log_loss([["b"]], certain, ["a", "b"]) < 40


def test_log_loss_refuses_what_it_cannot_score():
    proba = [np.array([[0.5, 0.5]]), np.array([[0.5, 0.5], [0.5, 0.5]])]
    with pytest.raises(ValueError, match="label 'c' at position 1 of sequence 1 is not among"):
        token_log_loss([["a"], ["a", "c"]], proba, ["a", "b"])
    with pytest.raises(ValueError, match="2 columns for 3 classes"):
        token_log_loss([["a"], ["a", "b"]], proba, ["a", "b", "c"])
    with pytest.raises(ValueError, match="sequence 1 has 1 labels in y_true, but 2 in y_pr"):
        token_log_loss([["a"], ["a"]], proba, ["a", "b"])
    for row in ([0.9, 0.5], [1.5, -0.5], [np.nan, 1.0]):
        broken = [proba[0], np.array([[0.5, 0.5], row])]
        with pytest.raises(ValueError, match="y_proba: the row at position 1 of sequence 1"):
            token_log_loss([["a"], ["a", "b"]], broken, ["a", "b"])


# --- scorers ----------------------------------------------------------------------------------


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


@for_each(
    ("call", "message"),
    [
        (lambda: token_accuracy(5, [["a"]]), "y_true must be a list, but is 5"),
        (lambda: token_accuracy([["a"]], "a"), "y_pred is the single string"),
        (
            lambda: token_f1([["a"], ["b", ["c"]]], [["a"], ["b", "c"]]),
            r"y_true, sequence 1, position 1: the label \['c'\] is not hashable",
        ),
        (
            lambda: token_accuracy([["a", 1]], [[1, np.ones(2)]]),
            "y_pred, sequence 0, position 1: the label .* is not hashable",
        ),
        (lambda: token_confusion_matrix([["a"]], [["a"]], labels=5), "labels must be a"),
        (
            lambda: token_confusion_matrix([["a"]], [["a"]], labels=["a", {}]),
            "labels, sequence 0, position 1: the label {} is not hashable",
        ),
        (lambda: token_log_loss([["a"]], [np.ones((1, 1))], None), "classes must be a list"),
        (
            lambda: token_accuracy([["a"]], [["a"]], sample_weight=["x"]),
            "sample_weight must hold one number per sample",
        ),
        (
            lambda: token_accuracy([["a"]], [["a"]], sample_weight=[np.nan]),
            "sample_weight must be finite",
        ),
        (
            lambda: token_accuracy([["a"]] * 2, [["a"]] * 2, sample_weight=[1e308] * 2),
            r"sample_weight must be finite, and its sum at most 1e\+307",
        ),
        (
            lambda: token_accuracy([["a"] * 5], [["a"] * 5], sample_weight=[1e307]),
            r"sample_weight must be finite, and its sum at most 1e\+307",
        ),
        (lambda: segment_report([["O"]], [["O"]], digits=-1), "digits == -1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@for_each("name", get_sequence_scorer_names())
def test_scorers_have_names(name):
    assert get_sequence_scorer(name).__name__ == name
