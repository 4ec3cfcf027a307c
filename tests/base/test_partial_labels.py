"""Labels of tables that are partly unknown, in all estimators and in all dtypes."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from sklearn_crcrf import (
    CRF,
    HMM,
    CalibratedSequenceClassifier,
    ConformalSequenceClassifier,
    EmpiricalCRF,
    EmpiricalCRFCV,
    FeatureInduction,
    OpinionPoolCRF,
    SegmentF1Classifier,
    SemiMarkovCRF,
    SemiSupervisedClassifier,
    SeparateCRF,
    StructuredPerceptron,
)

X = [["a", "b"], ["b", "a"], ["a", "c"], ["c", "c"]] * 4
Y = [["B-A", "B-B"], ["B-B", "B-A"], ["B-A", "B-C"], ["B-C", "B-C"]] * 4
INDEX = pd.MultiIndex.from_tuples([(i, t) for i, words in enumerate(X) for t in range(2)])
FRAME = pd.DataFrame({"word": [word for words in X for word in words]}, index=INDEX)
HIDDEN = [1, 6]  # all labels are known elsewhere
LISTS = [["B-A", None], Y[1], Y[2], [None, "B-C"], *Y[4:]]
ESTIMATORS = [
    CRF(tol=0.1),
    HMM(),
    EmpiricalCRF(),
    FeatureInduction(CRF(tol=0.1)),
    SemiMarkovCRF(tol=0.1),
    SeparateCRF(n_folds=2),
    OpinionPoolCRF([("crf", CRF(tol=0.1)), ("hmm", HMM())]),
    CalibratedSequenceClassifier(CRF(tol=0.1), cv=2),
    SegmentF1Classifier(CRF(tol=0.1), cv=2),
    ConformalSequenceClassifier(CRF(tol=0.1), 0.3, "token", cv=2),
    SemiSupervisedClassifier(HMM()),
    EmpiricalCRFCV([1.0], [0.5, 1.0], cv=2),
]


def hidden(missing, dtype=object):
    labels = [label for labels in Y for label in labels]
    for row in HIDDEN:
        labels[row] = missing
    return pd.Series(labels, index=INDEX, dtype=dtype)


@for_each("estimator", ESTIMATORS)
def test_missing_labels_of_a_table_are_unknown_labels_of_lists(estimator):
    expected = np.concatenate(estimator.fit(X, LISTS).predict(X)).tolist()
    score = estimator.score(X, LISTS)
    given = [
        hidden(None, "category"),
        hidden(np.nan).tolist(),
        *(hidden(missing) for missing in (None, np.nan, pd.NA)),
        hidden(None, "string"),
        hidden(None).to_numpy(),
    ]
    # All estimators read labels in the same way: one of them tries all kinds.
    for y in given if isinstance(estimator, HMM) else given[:1]:
        assert estimator.fit(FRAME, y).predict(FRAME).tolist() == expected
        assert estimator.classes_.tolist() == ["B-A", "B-B", "B-C"]
        assert estimator.score(FRAME, y) == score


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", "boolean", object])
def test_missing_labels_of_every_dtype(dtype):
    number = (
        {"B-A": 1, "B-B": 0, "B-C": 1} if dtype == "boolean" else {"B-A": 3, "B-B": 4, "B-C": 5}
    )
    numbers = pd.array([number[label] for labels in Y for label in labels], dtype="Int64")
    numbers[HIDDEN] = pd.NA
    y = pd.Series(numbers, index=INDEX).astype(dtype)
    crf = CRF(tol=0.1).fit(FRAME, y)
    assert crf.classes_.tolist() == sorted(set(number.values()))
    assert crf.classes_.dtype.kind == {"boolean": "b", "Int64": "i", object: "i"}.get(dtype, "f")
    assert crf.score(FRAME, y) > 0.6


def test_sets_of_a_table():
    y = hidden(None).to_numpy(copy=True)
    y[HIDDEN] = {"B-A", "B-B"}, frozenset(["B-C"])
    assert CRF().fit(FRAME, y).score(FRAME, y) == 1.0
    with pytest.raises(ValueError, match=r"y, sequence 0, position 1: .*no set of possible labels"):
        HMM().fit(FRAME, y)


def test_estimators_of_complete_labels_say_so():
    for given in ((X, LISTS), (FRAME, hidden(pd.NA))):
        with pytest.raises(ValueError, match="sequence 0, position 1: the label is not known"):
            StructuredPerceptron().fit(*given)


def test_labels_that_are_all_missing():
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match="all labels are None"):
            CRF().fit(FRAME, np.full(len(FRAME), missing))
