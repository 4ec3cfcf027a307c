"""Features of whole segments, against spans enumerated one by one."""

import pickle

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import SemiMarkovCRF, SequenceArray
from sklearn_crcrf.estimators.semi_markov import (
    SegmentedArray,
    SegmentFeatures,
    SegmentGazetteer,
    WithSegments,
)
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1
from sklearn_crcrf.structures import Spans

rng = np.random.default_rng(0)
WORDS = ["New", "York", "of", "the", "Rome", "in", "1st"]


def make_data(n=30):
    X, y = [], []
    for _ in range(n):
        length = rng.integers(0, 7)
        X.append([{"word": str(w), "pos": str(w)[0]} for w in rng.choice(WORDS, length)])
        labels = [str(label) for label in rng.choice(["O", "B-X", "I-X"], length)]
        for i, label in enumerate(labels):
            if label == "I-X" and (i == 0 or labels[i - 1] == "O"):
                labels[i] = "B-X"
        y.append(labels)
    return X, y


X, y = make_data()


def entries_of(X):
    """(last token, length, name) of all features."""
    spans = X.spans
    rows = np.repeat(np.arange(len(spans.length)), np.diff(spans.features.indptr))
    last = spans.last_tokens()[rows].tolist()
    names = X.names[spans.features.indices].tolist()
    return sorted(zip(last, spans.length[rows].tolist(), names, strict=True))


def around(sentence):
    words = ["^", *(token["word"].lower() for token in sentence), "$"]
    return lambda start, end: f"{words[start]} {words[end + 1]}"


def string(sentence):
    words = [token["word"].lower() for token in sentence]
    return lambda start, end: " ".join(words[start:end]) if end - start > 1 else None


def pos(sentence):
    return lambda start, end: [" ".join(token["pos"] for token in sentence[start:end])]


@for_each(("name", "function"), [("around", around), ("string", string), ("pos", pos)])
@for_each("min_freq", [1, 2, 4])
@for_each("max_length", [1, 3, 9])
def test_named_features_are_what_functions_make(name, function, min_freq, max_length):
    ours = SegmentFeatures([name], max_length, min_freq).fit_transform(X, y)
    theirs = SegmentFeatures([function], max_length, min_freq).fit_transform(X, y)
    found = [(*span, text.partition("=")[2]) for *span, text in entries_of(theirs)]
    assert [(*span, text.partition("=")[2]) for *span, text in entries_of(ours)] == found
    assert len(found) > 0 or name == "string"


def test_only_symbols_of_several_segments():
    features = SegmentFeatures(["string"], min_freq=2).fit(X, y)
    segments, counts = to_segments(y), {}
    for sequence, start, end, _ in zip(*segments, strict=True):
        symbol = " ".join(token["word"].lower() for token in X[sequence][start:end])
        if 1 < end - start <= 8:
            counts[symbol] = counts.get(symbol, 0) + 1
    wanted = sorted(f"string={symbol}" for symbol, n in counts.items() if n >= 2)
    assert sorted(features.get_feature_names_out()) == wanted


def test_shapes():
    text = [["New", "York", "is"], ["Los", "Gatos"]]
    labels = [["B-X", "I-X", "O"], ["B-X", "I-X"]]
    made = SegmentFeatures(["shape"]).fit_transform(text, labels)
    assert entries_of(made) == [(1, 2, "shape=Xx Xx"), (4, 2, "shape=Xx Xx")]


@for_each(
    ("options", "message"),
    [
        ({"features": ["nothing"]}, "no column 'nothing'"),
        ({"features": [3]}, "names or callables"),
        ({"features": [lambda s: lambda a, b: 3]}, "returned 3 for the span from"),
        ({"scheme": "IOB1"}, "scheme must be one of"),
        ({"max_length": 0}, "max_length"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SegmentFeatures(**options).fit(X, y)


PHRASES = ["New York", "Rome", "York of the", "the the Rome"]


def jaccard(span, phrase):
    return len({*span} & {*phrase}) / len({*span} | {*phrase})


def test_exact_matches():
    made = SegmentGazetteer({"a": PHRASES, "b": []}).fit_transform(X)
    wanted, origin = [], 0
    for sentence in X:
        words = [token["word"].lower() for token in sentence]
        for a in range(len(words)):
            for b in range(a + 1, len(words) + 1):
                if " ".join(words[a:b]) in [phrase.lower() for phrase in PHRASES]:
                    wanted.append((origin + b - 1, b - a, "a"))
                    wanted += [(origin + b - 1, b - a, "a, several tokens")] * (b - a > 1)
        origin += len(words)
    assert entries_of(made) == sorted(wanted)


@pytest.mark.parametrize("function", [jaccard, "jaccard"])
def test_similar_spans(function):
    bins = [0.2, 0.5, 0.9]
    gazetteer = SegmentGazetteer({"a": PHRASES}, function, bins, max_length=4)
    wanted, origin = [], 0
    phrases = [tuple(phrase.lower().split()) for phrase in PHRASES]
    for sentence in X:
        words = [token["word"].lower() for token in sentence]
        for a in range(len(words)):
            for b in range(a + 1, min(len(words), a + 4) + 1):
                best = max(jaccard(tuple(words[a:b]), phrase) for phrase in phrases)
                reached = [least for least in bins if best >= least]
                if reached and tuple(words[a:b]) not in phrases:
                    wanted.append((origin + b - 1, b - a, f"a >= {reached[-1]:g}"))
        origin += len(words)
    found = [entry for entry in entries_of(gazetteer.fit_transform(X)) if ">=" in entry[2]]
    assert found == sorted(wanted)


def test_rare_tokens_count_more_in_cosines():
    lists = {"a": ["Bank of Rome", "Bank of York", "Bank of Japan"]}
    gazetteer = SegmentGazetteer(lists, "tfidf", [0.1, 0.5])
    names = [name for *_, name in entries_of(gazetteer.fit_transform([["Rome"]]))]
    assert names == ["a >= 0.5"]
    names = [name for *_, name in entries_of(gazetteer.fit_transform([["Bank"]]))]
    assert names == ["a >= 0.1"]


def test_an_unknown_token_counts_as_much_as_the_rarest_one_in_cosines():
    gazetteer = SegmentGazetteer({"a": ["Rome of"]}, "tfidf", [0.48, 0.6])
    found = entries_of(gazetteer.fit_transform([["Rome", "zzz"]]))
    # One of two tokens is shared with the phrase: 1 / sqrt(1 * 2) and 1 / sqrt(2 * 2).
    assert found == [(0, 1, "a >= 0.6"), (1, 2, "a >= 0.48")]


def test_lists_in_files(tmp_path):
    path = tmp_path / "cities.txt"
    path.write_text("New York\n\nZürich\n", encoding="utf-8")
    made = clone(SegmentGazetteer({"city": path})).fit_transform([["in", "zürich"]])
    assert entries_of(made) == [(1, 1, "city")]


@for_each(
    ("options", "message"),
    [
        ({"lists": ["a"]}, "lists must be a dict"),
        ({"lists": {"a": "York"}}, r"lists\['a'\]"),
        ({"similarity": "nothing"}, "similarity must be one of"),
        ({"bins": [0.5, 0.3]}, "bins must be increasing"),
    ],
)
def test_gazetteers_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SegmentGazetteer(**({"lists": {"a": ["York"]}} | options)).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pipelines_and_cross_validation():
    tokens = make_pipeline(TokenFeatures(["shape"]), Window(), SequenceVectorizer())
    segments = [SegmentGazetteer({"a": PHRASES}), SegmentFeatures(["pos"])]
    model = make_pipeline(WithSegments(tokens, segments), SemiMarkovCRF(max_iter=20))

    def scoring(model, X, y):
        return segment_f1(y, model.predict(X).tolist())

    scores = cross_val_score(model, X, y, cv=3, scoring=scoring)
    assert (scores > 0).all()
    fitted = pickle.loads(pickle.dumps(model.fit(X, y)))
    assert fitted.predict(X).tolist() == model.predict(X).tolist()
    names = fitted[0].get_feature_names_out()
    assert_array_equal(fitted[-1].segment_feature_names_, names)
    assert names[0] == "a"


def test_segmented_arrays_are_joined_and_copied():
    made = SegmentGazetteer({"a": PHRASES}).fit_transform(X)
    assert np.concatenate([made[:10], made[10:]]) == made
    assert made.copy() == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert made[np.arange(30) < 4] == made[:4]
    assert "spans" in repr(made)
    with pytest.raises(ValueError, match="features are equal"):
        np.concatenate([made, SequenceArray(made.data, made.offsets)])


@for_each(
    ("indptr", "length", "message"),
    [
        ([0, 1, 1, 1], [2], "position 0 of sequence 0"),
        ([0, 0, 0, 1], [3], "position 0 of sequence 1"),
        ([0, 0, 2, 2], [1, 1], "position 1 of sequence 0"),
        ([0, 0, 2], [1, 2], "have 4 numbers"),
        ([0, 0, 1, 1], [1, 2], "ends at 1"),
        ([0, 0, 1, 1], [1.0], "integers"),
    ],
)
def test_spans_that_do_not_fit(indptr, length, message):
    spans = Spans(np.array(indptr), np.array(length), np.ones((len(length), 1)))
    with pytest.raises(ValueError, match=message):
        SegmentedArray(np.array(["a", "b", "c"], object), [0, 2, 3], spans, ["f"])


@for_each(
    ("spans", "message"),
    [
        (None, "spans must be Spans, got a NoneType"),
        (Spans(np.array([0, 0, 1]), np.array([1])), "must be a matrix of numbers"),
        (Spans(np.array([0, 0, 1]), np.array([1]), np.array([["a"]])), "must be a matrix"),
        (Spans(np.array([0, 0, 1]), np.array([1]), np.array([[np.nan]])), "must be finite"),
    ],
)
def test_features_that_are_no_numbers(spans, message):
    with pytest.raises(ValueError, match=message):
        SegmentedArray(np.array(["a", "b"], object), [0, 2], spans, ["f"])


@for_each(
    ("parameters", "message"),
    [
        ({"lists": {"c": [3]}}, r"lists\['c'\]: 3 must be a str or a sequence of str"),
        ({"lists": {3: ["a"]}}, "names of lists must be str, got 3"),
        ({"similarity": "jaccard", "bins": ["a"]}, "bins must be increasing numbers"),
        ({"similarity": "jaccard", "bins": [[0.5], [0.6, 0.7]]}, "bins must be increasing numbers"),
        ({"similarity": lambda a, b: "x"}, "returned 'x' for .*, not a number in"),
        ({"similarity": lambda a, b: np.nan}, "returned nan for .*, not a number in"),
    ],
)
def test_lists_and_similarities_that_are_refused(parameters, message):
    gazetteer = SegmentGazetteer(**{"lists": {"city": ["New York"]}, **parameters})
    with pytest.raises(ValueError, match=message):
        gazetteer.fit_transform([["to", "New", "York"], ["York"]])


def test_symbols_that_are_refused():
    X, y = [["New", "York"]], [["B-L", "I-L"]]
    with pytest.raises(ValueError, match="returned 3 for sequence 0, but must return a function"):
        SegmentFeatures([lambda sequence: 3]).fit(X, y)
    with pytest.raises(ValueError, match="y is None"):
        SegmentFeatures().fit(X, None)
