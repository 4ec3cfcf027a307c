"""Tests of folds of whole sequences with about the same labels."""

import numpy as np
import pytest
import sklearn
from cases import for_each
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    KFold,
    cross_val_predict,
    cross_val_score,
)

from sklearn_crcrf import EmpiricalCRF, SequenceStratifiedKFold, as_sequences


def drawn(n, seed=0):
    """Sequences of labels, of which one is rare and most occur in a few sequences."""
    rng = np.random.default_rng(seed)
    y = []
    for length in rng.integers(1, 9, n):
        kind = rng.choice(["PER", "LOC", "ORG", "DATE"], p=[0.5, 0.3, 0.15, 0.05])
        y.append(np.where(rng.random(length) < 0.4, kind, "O").tolist())
    return [["w"] * len(labels) for labels in y], y


def shares(y, folds):
    """The share of every label in each fold."""
    labels = sorted({label for own in y for label in own})
    count = np.array(
        [[sum(y[i].count(label) for i in test) for label in labels] for _, test in folds]
    )
    return count / count.sum(axis=0)


@for_each("seed", range(6))
@for_each("n_splits", [2, 5])
def test_every_label_is_spread_evenly(seed, n_splits):
    X, y = drawn(300, seed)
    folds = list(SequenceStratifiedKFold(n_splits).split(X, y))
    assert sorted(i for _, test in folds for i in test) == list(range(300))
    assert all(set(train) == set(range(300)) - set(test) for train, test in folds)
    assert abs(shares(y, folds) - 1 / n_splits).max() < 0.03
    plain = shares(y, KFold(n_splits).split(X))
    assert abs(plain - 1 / n_splits).max() > abs(shares(y, folds) - 1 / n_splits).max()


def test_a_label_of_as_many_sequences_as_folds_is_in_each():
    X, y = drawn(60)
    for i in (3, 4, 5):
        y[i] = ["RARE"] * len(y[i])
    tests = [test for _, test in SequenceStratifiedKFold(3).split(X, y)]
    assert all(len({3, 4, 5} & set(test)) == 1 for test in tests)


def test_groups_are_whole():
    X, y = drawn(300)
    groups = np.array([f"document {i}" for i in np.random.default_rng(0).integers(0, 60, 300)])
    folds = list(SequenceStratifiedKFold(4).split(X, y, groups))
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
    assert abs(shares(y, folds) - 0.25).max() < 0.1
    scores = cross_val_score(EmpiricalCRF(), X, y, groups=groups, cv=SequenceStratifiedKFold(4))
    assert len(scores) == 4


def test_shuffling_is_random_and_reproducible():
    X, y = drawn(100)

    def tests(**options):
        return [t.tolist() for _, t in SequenceStratifiedKFold(3, **options).split(X, y)]

    assert tests() == tests()
    assert tests(shuffle=True, random_state=0) == tests(shuffle=True, random_state=0)
    assert tests(shuffle=True, random_state=0) != tests(shuffle=True, random_state=1)


def test_it_is_a_splitter_of_scikit_learn():
    X, y = drawn(60)
    cv = SequenceStratifiedKFold(3)
    assert "n_splits=3" in repr(cv)
    assert clone(cv, safe=False).get_n_splits() == 3
    for data in (X, y), (as_sequences(X).X, as_sequences(y).X):
        assert len(cross_val_predict(EmpiricalCRF(), *data, cv=cv)) == 60
    search = GridSearchCV(EmpiricalCRF(), {"sigma": [0.5, 1.0]}, cv=cv).fit(X, y)
    assert search.best_score_ > 0
    proba = EmpiricalCRF().predict_out_of_fold(X, y, cv=list(cv.split(X, y)))
    assert len(proba) == 60
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(EmpiricalCRF(), X, y, params={"groups": np.arange(60) // 2}, cv=cv)
    assert len(scores) == 3


def test_groups_may_be_anything_hashable():
    X, y = [["a"]] * 6, [["A"], ["B"]] * 3
    groups = [None, None, 1, 1, "b", "b"]
    for _, test in SequenceStratifiedKFold(3).split(X, y, groups):
        assert len({groups[i] for i in test}) == 1 and len(test) == 2


def test_groups_of_sequences_are_shuffled_by_scikit_learn():
    X, y = drawn(40)
    groups = np.arange(40) // 4
    for train, test in GroupShuffleSplit(3, random_state=0).split(X, y, groups):
        assert not set(groups[train]) & set(groups[test])


def test_unknown_labels_empty_sequences_and_errors():
    X, y = drawn(20)
    y[0] = [None] * len(y[0])
    y[1] = [{"PER", "LOC"}] * len(y[1])
    X[2], y[2] = [], []
    tests = [test for _, test in SequenceStratifiedKFold(4).split(X, y)]
    assert sorted(np.concatenate(tests)) == list(range(20))
    tests = [test for _, test in SequenceStratifiedKFold(2).split([[]] * 4, [[]] * 4)]
    assert [len(test) for test in tests] == [2, 2]
    with pytest.raises(ValueError, match="n_splits=4 folds need as many samples, but X has 3"):
        list(SequenceStratifiedKFold(4).split(X[3:6], y[3:6]))
    with pytest.raises(ValueError, match=r"n_splits=4 folds .* has 2"):
        list(SequenceStratifiedKFold(4).split(X, y, np.arange(20) // 10))
    with pytest.raises(ValueError, match="StratifiedGroupKFold"):
        list(SequenceStratifiedKFold(4).split(X, ["O"] * 20))
    with pytest.raises(ValueError, match="list of labels"):
        list(SequenceStratifiedKFold(4).split(X, None))
    with pytest.raises(ValueError, match="n_splits == 1, must be >= 2"):
        list(SequenceStratifiedKFold(1).split(X, y))
    with pytest.raises(ValueError, match="inconsistent"):
        list(SequenceStratifiedKFold(4).split(X, y, np.arange(3)))
