"""The weights as the user sees them."""

import numpy as np
import pytest

from sklearn_crcrf import EmpiricalCRF, SequenceVectorizer
from sklearn_crcrf.datasets import make_addresses


@pytest.fixture(scope="module")
def addresses():
    return make_addresses(50, random_state=0)


@pytest.mark.parametrize("spelling", ["product", "joint", "mean", "maxent"])
@pytest.mark.parametrize("zeros", ["smoothed", "floored"])
def test_every_row_has_a_name(addresses, spelling, zeros):
    crf = EmpiricalCRF(spelling=spelling, zeros=zeros).fit(*addresses)
    assert len(crf.attribute_names_) == len(set(crf.attribute_names_)) == crf.coef_.shape[0]


def test_a_smoothed_weight_favours_the_labels_of_a_word(addresses):
    X, y = addresses
    crf = EmpiricalCRF().fit(X, y)
    names = crf.attribute_names_.tolist()
    assert (crf.coef_.data >= 0).all()
    row = crf.coef_[[names.index(f"token[0]={X[0][0]}")]]
    seen = {
        label
        for x, z in zip(X, y, strict=True)
        for w, label in zip(x, z, strict=True)
        if w == X[0][0]
    }
    assert set(crf.classes_[row.indices]) == seen


def test_weights_of_frequencies_are_their_logarithms():
    crf = EmpiricalCRF.ecrn().fit([["a", "b"], ["a", "b"]], [["A", "B"], ["B", "B"]])
    row = crf.coef_[[crf.attribute_names_.tolist().index("token[0]=a")]]
    np.testing.assert_allclose(row.data, np.log([0.5, 0.5]))


def test_columns_of_a_sparse_matrix_come_last(addresses):
    X, y = addresses
    vectorizer = SequenceVectorizer().fit(X)
    crf = EmpiricalCRF().fit(vectorizer.transform(X), y)
    n = len(vectorizer.get_feature_names_out())
    assert crf.attribute_names_[-n:].tolist() == [f"x{j}" for j in range(n)]
    assert crf.coef_.shape == (len(crf.attribute_names_), len(crf.classes_))
    assert crf.coef_[[crf.coef_.shape[0] - n]].nnz > 0
