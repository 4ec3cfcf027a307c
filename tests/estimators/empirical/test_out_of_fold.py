"""Cross-validation that counts once equals cross-validation that fits every time."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    ShuffleSplit,
    cross_val_predict,
)

from sklearn_crcrf import EmpiricalCRF, GraphArray, SequenceArray, SequenceVectorizer
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.labels import to_segments


@pytest.fixture(scope="module")
def addresses():
    return make_addresses(60, random_state=0)


@pytest.mark.parametrize("cv", [3, KFold(4, shuffle=True, random_state=0)])
@pytest.mark.parametrize(
    "crf", [EmpiricalCRF(), EmpiricalCRF(order=2), EmpiricalCRF.ecrn()], ids=["1", "2", "ecrn"]
)
def test_equals_fitting_every_fold(addresses, crf, cv):
    X, y = addresses
    expected = cross_val_predict(crf, X, y, cv=cv)
    assert crf.predict_out_of_fold(X, y, cv=cv).tolist() == expected.tolist()
    assert not hasattr(crf, "classes_")


def test_sample_weights(addresses):
    X, y = addresses
    weights = np.arange(len(X)) % 3
    expected = np.empty(len(X), dtype=object)
    for train, test in KFold(3).split(X):
        inputs = [[part[i] for i in train] for part in (X, y)]
        crf = EmpiricalCRF().fit(*inputs, sample_weight=weights[train])
        expected[test] = crf.predict([X[i] for i in test])
    found = EmpiricalCRF().predict_out_of_fold(X, y, cv=3, sample_weight=weights)
    assert found.tolist() == expected.tolist()
    assert found.tolist() != EmpiricalCRF().predict_out_of_fold(X, y, cv=3).tolist()


def test_sparse_attributes(addresses):
    X, y = addresses
    X = SequenceVectorizer().fit_transform(X)
    y = SequenceArray.from_sequences(y)
    expected = cross_val_predict(EmpiricalCRF(), X, y, cv=3)
    predicted = EmpiricalCRF().predict_out_of_fold(X, y, cv=3)
    assert isinstance(predicted, SequenceArray)
    np.testing.assert_array_equal(predicted.data, expected.data)


def test_folds_must_be_a_partition(addresses):
    with pytest.raises(ValueError, match="exactly one test set"):
        EmpiricalCRF().predict_out_of_fold(*addresses, cv=ShuffleSplit(3, random_state=0))


def test_exponents_cannot_be_fitted(addresses):
    with pytest.raises(ValueError, match="exponents"):
        EmpiricalCRF(exponents="fit").predict_out_of_fold(*addresses)


@pytest.mark.parametrize("as_input", [list, SequenceArray.from_sequences])
def test_probabilities_equal_fitting_every_fold(addresses, as_input):
    X, y = addresses[0][:12], [["rare"] * len(addresses[1][0]), *addresses[1][1:12]]
    classes = sorted({label for labels in y for label in labels})
    given = as_input(X)
    found = EmpiricalCRF().predict_out_of_fold(given, y, cv=3, method="predict_proba")
    assert type(found) is (np.ndarray if as_input is list else SequenceArray)
    for train, test in KFold(3).split(X):
        model = EmpiricalCRF().fit([X[i] for i in train], [y[i] for i in train])
        columns = [classes.index(label) for label in model.classes_]
        for i, expected in zip(test, model.predict_proba([X[i] for i in test]), strict=True):
            whole = np.zeros((len(X[i]), len(classes)))
            whole[:, columns] = expected
            np.testing.assert_allclose(np.array(list(found[i])), whole, rtol=1e-10)


def test_the_method_is_checked(addresses):
    with pytest.raises(
        ValueError, match=r"method must be one of .*'predict_proba'.*, got 'sample'"
    ):
        EmpiricalCRF().predict_out_of_fold(*addresses, method="sample")


NAMES = [
    ["Ann", "Lee", "saw", "Bo"],
    ["Bo", "Lee", "left"],
    ["we", "saw", "Ann"],
    [],
    ["Paris", "saw", "Ann", "Lee"],
    ["left", "Paris"],
]
SPELLED = [
    ["B-PER", "I-PER", "O", "B-PER"],
    ["B-PER", "I-PER", "O"],
    ["O", None, "B-PER"],
    [],
    ["B-LOC", "O", "B-PER", "I-PER"],
    ["O", "B-MISC"],  # which no other sequence has
]
CRFS = {
    "order 1": EmpiricalCRF(),
    "order 2": EmpiricalCRF(order=2),
    "floored": EmpiricalCRF.ecrn(),
    "segments": EmpiricalCRF(segments="counted"),
}


def others(i, *lists):
    return [values[:i] + values[i + 1 :] for values in lists]


def all_paths(crf, words):
    """All labellings with their probabilities."""
    return crf.predict_k_best([words], k=len(crf.classes_) ** len(words))[0]


def segments_of(labels):
    _, start, end, kind = to_segments([labels])
    return list(zip(start.tolist(), end.tolist(), kind, strict=True))


@pytest.mark.parametrize("name", ["order 1", "order 2", "floored"])
def test_given_labels_have_the_probability_of_all_paths_that_have_them(name):
    given = CRFS[name].predict_out_of_fold(NAMES, SPELLED, LeaveOneOut(), method="log_proba")
    for i, (words, labels) in enumerate(zip(NAMES, SPELLED, strict=True)):
        crf = clone(CRFS[name]).fit(*others(i, NAMES, SPELLED))
        paths = all_paths(crf, words)

        known = ["O" if y is None else y for y in labels]
        segments = segments_of(known)
        of_tokens, of_segments, whole = np.zeros(len(words)), np.zeros(len(segments)), 0.0
        for path, probability in paths:
            of_tokens += probability * np.array([y == z for y, z in zip(labels, path, strict=True)])
            whole += probability * all(y in (None, z) for y, z in zip(labels, path, strict=True))
            its_own = segments_of(path)
            of_segments += [
                probability
                * (segment in its_own and path[slice(*segment[:2])] == known[slice(*segment[:2])])
                for segment in segments
            ]
        with np.errstate(divide="ignore"):
            of_tokens, of_segments, whole = map(np.log, (of_tokens, of_segments, whole))
        of_tokens[[y is None for y in labels]] = np.nan
        np.testing.assert_allclose(given.tokens[i], of_tokens, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(given.sequences[i], whole, rtol=1e-9, atol=1e-12)
        assert [segment[:3] for segment in given.segments[i]] == segments
        found = [segment[3] for segment in given.segments[i]]
        np.testing.assert_allclose(found, of_segments, rtol=1e-9, atol=1e-12)
    assert given.sequences[5] == -np.inf
    assert given.segments[5] == [(1, 2, "MISC", -np.inf)]


def test_given_labels_where_segments_are_counted():
    crf, y = CRFS["segments"], [labels for labels in SPELLED if None not in labels]
    X = [words for words, labels in zip(NAMES, SPELLED, strict=True) if None not in labels]
    given = crf.predict_out_of_fold(X, y, LeaveOneOut(), method="log_proba")
    for i, words in enumerate(X):
        model = clone(crf).fit(*others(i, X, y))
        expected = model.predict_log_proba([words])[0]
        place = {label: j for j, label in enumerate(model.classes_.tolist())}
        known = [t for t, label in enumerate(y[i]) if label in place]
        columns = [place[y[i][t]] for t in known]
        np.testing.assert_allclose(np.array(given.tokens[i])[known], expected[known, columns])


@pytest.mark.parametrize("name", CRFS)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "spans"])
def test_leaving_out_each_sequence_equals_fits_without_it(name, method):
    X, y = make_addresses(8, random_state=1)
    y = [[f"B-{label}" for label in labels] for labels in y]
    crf = CRFS[name]
    found = crf.predict_out_of_fold(X, y, LeaveOneOut(), method=method)
    for i, words in enumerate(X):
        model = clone(crf).fit(*others(i, X, y))
        if method == "spans":
            assert found[i] == model.predict_spans([words])[0]
        elif method == "predict":
            assert found[i] == model.predict([words])[0]
        else:
            np.testing.assert_array_equal(np.array(list(found[i])), model.predict_proba([words])[0])


@pytest.mark.parametrize("cv", [LeaveOneGroupOut(), GroupKFold(3)], ids=repr)
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_groups_are_left_out_as_a_whole(addresses, cv, method):
    X, y = addresses[0][:20], addresses[1][:20]
    groups = np.array(["c", "a", "d", "b"])[np.arange(20) % 4]
    found = EmpiricalCRF().predict_out_of_fold(X, y, cv=cv, groups=groups, method=method)
    splits = list(cv.split(X, groups=groups))
    expected = EmpiricalCRF().predict_out_of_fold(X, y, cv=splits, method=method)
    if method == "predict":
        assert found.tolist() == expected.tolist()
        model = EmpiricalCRF().fit(*([part[i] for i in splits[0][0]] for part in (X, y)))
        first = splits[0][1][0]
        assert found[first] == model.predict([X[first]])[0]
    else:
        for p, q in zip(found, expected, strict=True):
            assert np.array_equal(np.array(list(p)), np.array(list(q)))


def test_groups_of_the_rows_of_a_table(addresses):
    X, y = addresses[0][:12], addresses[1][:12]
    index = [(i, t) for i, words in enumerate(X) for t in range(len(words))]
    index = pd.MultiIndex.from_tuples(index, names=["sequence", "position"])
    table = pd.DataFrame({"word": np.concatenate(X)}, index=index)
    groups, cv = np.arange(12) % 3, LeaveOneGroupOut()
    rows, labels = np.repeat(groups, [len(words) for words in X]), np.concatenate(y)
    found = EmpiricalCRF().predict_out_of_fold(table, labels, cv=cv, groups=rows)
    expected = EmpiricalCRF().predict_out_of_fold(X, y, cv=cv, groups=groups)
    assert found.tolist() == np.concatenate(expected).tolist()
    rows[len(X[0])] = 5
    with pytest.raises(ValueError, match="groups: the rows of sequence 1 are in several groups"):
        EmpiricalCRF().predict_out_of_fold(table, labels, cv=cv, groups=rows)


def test_each_sequence_has_a_group(addresses):
    with pytest.raises(ValueError, match="group of each of 60 sequences"):
        EmpiricalCRF().predict_out_of_fold(*addresses, cv=GroupKFold(2), groups=[1, 2])


def test_one_sequence_cannot_be_left_out():
    with pytest.raises(ValueError, match="n_samples=1"):
        EmpiricalCRF().predict_out_of_fold([["a"]], [["A"]], cv=LeaveOneOut())


def test_given_labels_without_segments(addresses):
    X, y = addresses[0][:12], [[label[-3:] for label in labels] for labels in addresses[1][:12]]
    given = EmpiricalCRF().predict_out_of_fold(X, y, cv=3, method="log_proba")
    assert given.segments is None
    probabilities = EmpiricalCRF().predict_out_of_fold(X, y, cv=3, method="predict_proba")
    classes = sorted({label for labels in y for label in labels})
    for own, of_tokens, labels in zip(given.tokens, probabilities, y, strict=True):
        columns = [classes.index(label) for label in labels]
        expected = np.array(list(of_tokens))[np.arange(len(labels)), columns]
        np.testing.assert_allclose(np.exp(own), expected)


def test_given_labels_of_trees():
    words = SequenceArray.from_sequences([["a", "b", "c"], ["b", "a"]] * 3)
    trees = GraphArray.from_parents(words, [[-1, 0, 0], [-1, 0]] * 3)
    y = [["B-X", "O", "B-Y"], ["O", "B-X"]] * 3
    given = EmpiricalCRF().predict_out_of_fold(trees, y, cv=3, method="log_proba")
    assert given.segments is None and (given.sequences <= 0).all()
    with pytest.raises(ValueError, match="span_log_probability"):
        EmpiricalCRF().predict_out_of_fold(trees, y, cv=3, method="spans")


def test_sequences_without_a_possible_path():
    X, y = [["a", "b"], ["b", "b"], ["b", "a"]], [["A", "B"], ["B", "B"], ["B", "A"]]
    crf, cv = EmpiricalCRF.ecrn(zeros="exact"), [([0, 2], [1]), ([1], [2, 0])]
    with pytest.raises(ValueError, match="no path of sequence 1 is possible"):
        crf.predict_out_of_fold(X, y, cv=cv, method="predict_proba")
    given = crf.predict_out_of_fold(X, y, cv=cv, method="log_proba")
    assert given.sequences[1] == -np.inf and given.tokens[1] == [-np.inf, -np.inf]
