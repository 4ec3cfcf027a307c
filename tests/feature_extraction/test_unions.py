"""Columns of several transformers, one next to the other."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer

from sklearn_crcrf import CRF, EmpiricalCRF, SequenceArray
from sklearn_crcrf.feature_extraction import (
    Gazetteer,
    SequenceVectorizer,
    TemplateFeatures,
    TokenFeatures,
    Window,
    WordClusters,
    WordVectors,
)

SENTENCES = [["Ann", "met", "Bob", "Day"], ["he", "left"], [], ["they", "met", "Eve"]]
TAGS = [["N", "V", "N", "N"], ["P", "V"], [], ["P", "V", "N"]]
X, Y = SENTENCES * 3, TAGS * 3

WORDS = make_pipeline(Window([0]), SequenceVectorizer())
VECTORS = WordVectors({"Ann": [1.0, -1.0], "met": [0.5, 2.0]})
SYMBOLS = [
    TemplateFeatures("U00:%x[-1,0]\nU01:%x[0,0]"),
    Gazetteer({"person": ["Ann", "Bob Day"]}),
    WordClusters({"Ann": "001", "Bob": "001", "met": "01"}, [2, 3]),
    TokenFeatures(["shape"]),
]


def is_fitted_well(union, crf):
    pipeline = make_pipeline(union, crf).fit(X, Y)
    assert pipeline.predict(SENTENCES).tolist() == TAGS
    assert cross_val_predict(pipeline, X, Y, cv=3).tolist() == Y


@pytest.mark.parametrize("crf", [CRF(sigma=3.0), EmpiricalCRF(observation="U01")], ids=repr)
def test_columns_of_symbols(crf):
    union = make_union(*SYMBOLS)
    names = union.fit_transform(X).data.names
    expected = ["U00", "U01", "person", "cluster:2", "cluster:3", "token", "shape"]
    assert [*names] == expected
    is_fitted_well(union, crf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_columns(dtype):
    words = make_pipeline(Window([0]), SequenceVectorizer(dtype=dtype))
    union = make_union(words, VECTORS, words)
    out = union.fit_transform(X)
    assert isinstance(out, SequenceArray)
    assert sp.issparse(out.data)
    sparse, dense = words.fit_transform(X).data.toarray(), VECTORS.fit_transform(X).data
    assert np.array_equal(out.data.toarray(), np.hstack([sparse, dense, sparse]))
    assert out == union.transform(X)
    assert out.data.shape[1] == len(union.get_feature_names_out())
    is_fitted_well(union, CRF(sigma=3.0))


def test_dense_columns():
    words = dict.fromkeys(word for sentence in SENTENCES for word in sentence)
    union = make_union(VECTORS, WordVectors(dict(zip(words, np.eye(len(words)), strict=True))))
    assert isinstance(union.fit_transform(X).data, np.ndarray)
    is_fitted_well(union, CRF(sigma=3.0))
    empirical = make_pipeline(union, EmpiricalCRF()).fit(X, Y)
    assert [len(y) for y in empirical.predict(X)] == [len(x) for x in X]


def test_numbers_of_another_transformer():
    lengths = FunctionTransformer(
        lambda X: SequenceArray.from_sequences(
            [np.array([[len(w)] for w in s]).reshape(-1, 1) for s in X]
        )
    )
    out = make_union(WORDS, lengths).fit_transform(X)
    assert out.data[:, -1].toarray().ravel().tolist() == [len(w) for s in X for w in s]


@pytest.mark.parametrize("numbers", [VECTORS, WORDS], ids=["dense", "sparse"])
def test_symbols_and_numbers_are_refused_with_a_way_out(numbers):
    for steps in ([("a", Window()), ("b", numbers)], [("b", numbers), ("a", Window())]):
        with pytest.raises(
            ValueError, match="turn the symbols into numbers first, as in make_pipe"
        ):
            FeatureUnion(steps).fit_transform(X)
    mended = FeatureUnion([("a", make_pipeline(Window(), SequenceVectorizer())), ("b", numbers)])
    is_fitted_well(mended, CRF(sigma=3.0))


def test_unions_in_threads_and_as_frames():
    pd = pytest.importorskip("pandas")
    union = make_union(WORDS, VECTORS, n_jobs=2)
    expected = union.fit_transform(X)
    assert union.transform(X) == expected
    frame = union.set_output(transform="pandas").fit_transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert np.array_equal(frame.to_numpy(dtype=float), expected.data.toarray())
    symbols = make_union(*SYMBOLS).set_output(transform="pandas").fit_transform(X)
    assert symbols.shape == (27, 7)
