"""Cross-validation that counts once equals cross-validation that fits every time."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict

from sklearn_crcrf import EmpiricalCRF, SequenceArray, SequenceVectorizer
from sklearn_crcrf.datasets import make_addresses


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
