import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_crcrf.feature_extraction import WordVectors

X = [["a", "B", "c"], [], ["b"]]
VECTORS = {"a": [1.0, 2.0], "b": [3.0, 4.0]}


def test_unknown_words_are_zero():
    out = WordVectors(VECTORS).fit_transform(X)
    assert out.lengths.tolist() == [3, 0, 1]
    assert out.data.tolist() == [[1, 2], [0, 0], [0, 0], [3, 4]]
    names = WordVectors(VECTORS).fit(X).get_feature_names_out()
    assert names.tolist() == ["vector0", "vector1"]


def test_case_and_a_vector_of_unknown_words():
    out = WordVectors(VECTORS, unknown=[9, 8], ignore_case=True).fit_transform(X)
    assert out.data.tolist() == [[1, 2], [3, 4], [9, 8], [3, 4]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_words_and_a_matrix(dtype):
    matrix = np.array([[1, 2], [3, 4]], dtype=dtype)
    vectors = WordVectors((["a", "b"], matrix)).fit(X)
    assert vectors.transform(X) == WordVectors(VECTORS).fit(X).transform(X)
    assert vectors.transform(X).data.dtype == dtype
    assert vectors.vectors_ is matrix  # large ones are not copied


def test_the_first_vector_of_a_word_counts():
    vectors = WordVectors((["a", "b", "a", "c"], [[1], [2], [3], [4]]))
    assert vectors.fit_transform([["c", "b", "a"]]).data.ravel().tolist() == [4, 2, 1]


def test_a_named_column_and_missing_tokens():
    tokens = [[{"t": "a", "w": "b"}, {"t": "a"}]]
    vectors = WordVectors(VECTORS, unknown=[5, 5], column="w")
    assert vectors.fit_transform(tokens).data.tolist() == [[3, 4], [5, 5]]
    with pytest.raises(ValueError, match="no column 'v'"):
        WordVectors(VECTORS, column="v").fit(tokens)


def test_no_tokens():
    assert WordVectors(VECTORS).fit_transform([[], []]).data.shape == (0, 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"vectors": 3}, "vectors must be a mapping"),
        ({"vectors": [-1, 1]}, "vectors must be a mapping"),
        ({"vectors": {}}, "one vector of numbers for each word, all of the same length"),
        ({"vectors": {"a": [1.0], "b": [1.0, 2.0]}}, "all of the same length"),
        ({"vectors": {"a": 1.0}}, "all of the same length"),
        ({"vectors": (["a"], [[1.0], [2.0]])}, "1 words, but 2 rows"),
        ({"vectors": {"a": [np.nan]}}, "NaN"),
        ({"vectors": {"a": [1.0]}, "unknown": [1.0, 2.0]}, "unknown has 2 dimensions"),
        ({"vectors": ([1], [[1.0]])}, "must be a str"),
    ],
)
def test_wrong_vectors(params, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(**params).fit(X)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        WordVectors(VECTORS).transform(X)
