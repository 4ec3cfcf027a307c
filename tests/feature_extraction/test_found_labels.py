"""Columns of found labels, against counting one by one, and in pipelines."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, SequenceArray, StructuredPerceptron
from sklearn_crcrf.feature_extraction import FoundLabels, text_features
from sklearn_crcrf.labels import to_segments

KINDS = ("LOC", "PER")


def make_text(n_sentences=40, seed=0):
    """Words with labels of names, in documents of five sentences."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n_sentences):
        words, labels = (["-DOCSTART-"], ["O"]) if i % 5 == 0 else ([], [])
        for _ in range(rng.integers(1, 4)):
            kind, n_words = rng.choice(KINDS), rng.integers(1, 4)
            words += [*rng.choice(["Ann", "Lee", "York", "Bay"], n_words).tolist(), "went"]
            labels += [f"B-{kind}"] + [f"I-{kind}"] * (n_words - 1) + ["O"]
        X.append(words)
        y.append(labels)
    return X, y


class Random(EmpiricalCRF):
    """Predicts labels at random, so that many names are found."""

    def predict(self, X):
        labels = ["O", "B-LOC", "B-PER", "I-LOC", "I-PER"]
        return SequenceArray(np.random.default_rng(0).choice(labels, len(X.data)), X.offsets)


def most(votes):
    """At a tie a name, rather than none."""
    rank = {"O": 0, "LOC": 1, "PER": 2}
    return max(votes, key=lambda kind: (votes[kind], rank[kind])) if votes else None


def naive_columns(X, found):
    """The columns, by counting all others again for each token."""
    kinds = [[label.rpartition("-")[2] for label in labels] for labels in found]
    document = np.cumsum([words[0] == "-DOCSTART-" for words in X]).tolist()
    names = [
        (i, start, end, tuple(X[i][start:end]), kind)
        for i, start, end, kind in zip(*to_segments(found), strict=True)
    ]
    tokens = [(i, t, w) for i, words in enumerate(X) for t, w in enumerate(words)]
    columns = []
    for i, t, word in tokens:
        others = [(j, kinds[j][u]) for j, u, w in tokens if w == word and (j, u) != (i, t)]
        in_document = Counter(kind for j, kind in others if document[j] == document[i])
        row = [found[i][t], most(in_document), most(Counter(kind for _, kind in others))]
        own = next((name for name in names if name[0] == i and name[1] <= t < name[2]), None)
        if own is None:
            columns.append([*row, None, None, None])
            continue
        same = [name for name in names if name[3] == own[3] and name is not own]
        longer = Counter()
        for j, start, end, phrase, kind in names:
            size = len(own[3])
            if document[j] == document[i] and size < end - start:
                parts = [phrase[k : k + size] for k in range(end - start - size + 1)]
                longer[kind] += parts.count(own[3])
        near = Counter(name[4] for name in same if document[name[0]] == document[i])
        columns.append([*row, most(near), most(Counter(n[4] for n in same)), most(+longer)])
    return columns


def test_columns_are_counted_correctly():
    X, y = make_text()
    found = FoundLabels(Random()).fit(X, y).transform(X)
    labels = SequenceArray(found.data.column("found"), found.offsets).tolist()
    names = ("found", "word_in_document", "word_in_text")
    names += ("name_in_document", "name_in_text", "longer_name")
    columns = np.array([found.data.column(name) for name in names]).T.tolist()
    assert columns == naive_columns(X, labels)


def test_training_labels_are_out_of_fold():
    X, y = make_text()
    found = FoundLabels(EmpiricalCRF(), cv=4).fit_transform(X, y)
    expected = cross_val_predict(EmpiricalCRF(), X, y, cv=KFold(4))
    assert found.data.column("found").tolist() == [label for labels in expected for label in labels]
    in_sample = FoundLabels(EmpiricalCRF(), cv=4).fit(X, y).transform(X)
    assert found != in_sample


def test_probabilities():
    X, y = make_text()
    found = FoundLabels(EmpiricalCRF()).fit(X, y)
    table = found.transform(X[:3]).data
    model = EmpiricalCRF().fit(X, y)
    probabilities = np.concatenate([np.asarray(p) for p in model.predict_proba(X[:3])])
    limits = np.array([float(text.removeprefix(">=")) for text in table.column("found_confidence")])
    number = {label: i for i, label in enumerate(model.classes_)}
    top = [p[number[label]] for p, label in zip(probabilities, table.column("found"), strict=True)]
    assert (limits <= top).all()
    for p, label, second in zip(
        probabilities, table.column("found"), table.column("found_second"), strict=True
    ):
        p[number[label]] = 0
        assert second == (model.classes_[p.argmax()] if p.max() >= 0.05 else None)


def test_without_probabilities():
    X, y = make_text()
    found = FoundLabels(StructuredPerceptron()).fit(X, y)
    has = hasattr(StructuredPerceptron, "predict_proba")
    assert ("found_second" in found.transform(X).data) is has
    assert found.transform(X).data.names == tuple(found.get_feature_names_out())


def test_labels_that_are_not_of_segments_have_no_names():
    X, y = [["a", "b"], ["b", "c"]], [["X", "Y"], ["Y", "Z"]]
    found = FoundLabels(EmpiricalCRF(), cv=2)
    table = found.fit_transform(X, y).data  # no fold knows all labels
    assert not any("name" in name for name in table.names)
    assert table.column("word_in_text").tolist()[0] is None


def test_groups_are_documents_and_are_not_passed_on():
    X, y = make_text()
    document = np.cumsum([words[0] == "-DOCSTART-" for words in X]).tolist()
    with_groups = [
        [{"word": w, "of": str(d)} for w in words] for words, d in zip(X, document, strict=True)
    ]
    bare = [[{"word": w} for w in words] for words in X]
    by_group = FoundLabels(EmpiricalCRF(), groups="of", marker=None)
    by_marker = FoundLabels(EmpiricalCRF())
    assert by_group.fit_transform(with_groups, y) == by_marker.fit_transform(bare, y)
    one = FoundLabels(EmpiricalCRF(), marker=None).fit(X, y).transform(X).data
    assert one.column("word_in_document").tolist() == one.column("word_in_text").tolist()


@pytest.mark.parametrize("as_dicts", [False, True])
def test_two_stages_in_cross_validation(as_dicts):
    X, y = make_text()
    if as_dicts:
        X = [[{"word": w, "pos": w[:1]} for w in words] for words in X]
    model = make_pipeline(
        FoundLabels(EmpiricalCRF(), cv=3), text_features("names"), CRF(max_iter=5)
    )
    with pytest.warns(Warning):
        assert cross_val_score(model, X, y, cv=2).shape == (2,)
    twin = pickle.loads(pickle.dumps(clone(model).set_params(crf__max_iter=100).fit(X, y)))
    assert [len(labels) for labels in twin.predict(X)] == [len(labels) for labels in y]


def test_frames_follow_their_index():
    X, y = make_text(10)
    index = pd.MultiIndex.from_tuples([(i, t) for i, s in enumerate(X) for t in range(len(s))])
    words = [word for sentence in X for word in sentence]
    frame = pd.DataFrame({"token": words}, index=index)
    labels = pd.Series([label for ls in y for label in ls], index=index)
    expected = FoundLabels(EmpiricalCRF(), cv=2).fit_transform(X, y)
    assert FoundLabels(EmpiricalCRF(), cv=2).fit_transform(frame, labels) == expected
    named = FoundLabels(EmpiricalCRF(), cv=2).set_output(transform="pandas")
    assert named.fit_transform(frame, labels).shape == expected.data.shape


def test_invalid():
    X, y = make_text(10)
    with pytest.raises(ValueError, match="cv must test every sequence exactly once"):
        FoundLabels(EmpiricalCRF(), cv=ShuffleSplit(2)).fit_transform(X, y)
    with pytest.raises(ValueError, match="X has no column 'of'"):
        FoundLabels(EmpiricalCRF(), groups="of").fit(X, y)
    with pytest.raises(ValueError, match="kind must be one of"):
        text_features("verbs")
    with pytest.raises(ValueError, match="columns"):
        text_features("names", columns="word")
    with pytest.raises(ValueError, match="columns must name the column of the token"):
        text_features("names", columns=[])


@pytest.mark.parametrize("marker", [5, float, ["-DOCSTART-"], [0.0, 0.0, 0.0]])
def test_a_marker_is_a_word(marker):
    X, y = [["a"], ["b"]] * 5, [["O"], ["N"]] * 5
    with pytest.raises(ValueError, match="marker must be a str or None"):
        FoundLabels(EmpiricalCRF(), marker=marker).fit(X, y).transform(X)
