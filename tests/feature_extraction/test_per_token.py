"""Transformers of scikit-learn, applied to the tokens of sequences."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sklearn_crcrf import CRF, PerToken, SequenceArray, TokenFeatures

WORDS = [["a", "b"], [], ["b"]]
DICTS = [[{"w": "a", "n": 1.0}, {"w": "b", "n": 2.0}], [], [{"w": "b", "n": 6.0}]]
ROWS = [np.array([[1.0, 0.0], [2.0, 1.0]]), np.empty((0, 2)), np.array([[6.0, 0.0]])]
FLAT = np.vstack(ROWS)
INDEX = pd.MultiIndex.from_tuples([("s", 1), ("t", 0), ("s", 0)])
FRAME = pd.DataFrame({"n": [2.0, 6.0, 1.0], "w": ["b", "b", "a"]}, index=INDEX)


def test_numbers_keep_their_sequences():
    expected = StandardScaler().fit_transform(FLAT)
    for X in (ROWS, SequenceArray.from_sequences(ROWS)):
        out = PerToken(StandardScaler()).fit_transform(X)
        assert isinstance(out, SequenceArray)
        assert out.lengths.tolist() == [2, 0, 1]
        assert np.array_equal(out.data, expected)
        fitted = PerToken(StandardScaler()).fit(X)
        assert pickle.loads(pickle.dumps(fitted)).transform(X) == out
        assert clone(fitted).fit(X).transform(ROWS[:1]) != out
    sparse = [sp.csr_array(rows) for rows in ROWS]
    out = PerToken(StandardScaler(with_mean=False)).fit_transform(sparse)
    assert sp.issparse(out.data) and out.lengths.tolist() == [2, 0, 1]


def test_strings_and_dicts():
    out = PerToken(OneHotEncoder()).fit(WORDS)
    assert out.transform(WORDS).data.toarray().tolist() == [[1, 0], [0, 1], [0, 1]]
    assert out.get_feature_names_out().tolist() == ["x0_a", "x0_b"]
    columns = make_column_transformer((StandardScaler(), ["n"]), (OneHotEncoder(), ["w"]))
    made = PerToken(columns).fit(DICTS)
    assert made.get_feature_names_out().tolist() == [
        "standardscaler__n", "onehotencoder__w_a", "onehotencoder__w_b"
    ]  # fmt: skip
    reordered = [[{"w": "b", "n": 2.0}], [{"n": 1.0, "w": "a"}]]
    assert np.array_equal(made.transform(reordered).data[0], made.transform(DICTS).data[1])
    assert PerToken(DictVectorizer()).fit_transform(DICTS).data.shape == (3, 3)
    texts = make_pipeline(CountVectorizer(analyzer="char"), TruncatedSVD(1, random_state=0))
    assert PerToken(texts).fit_transform([["ab", "b"], ["ca"]]).data.shape == (3, 1)
    symbols = TokenFeatures(["lower"]).fit_transform(WORDS)
    assert PerToken(OneHotEncoder()).fit_transform(symbols).lengths.tolist() == [2, 0, 1]


def test_frames_keep_their_index():
    columns = make_column_transformer(
        (StandardScaler(), ["n"]), (OneHotEncoder(sparse_output=False), ["w"])
    )
    out = PerToken(columns).fit_transform(FRAME)
    assert out.index.equals(INDEX)
    assert np.allclose(out.to_numpy(), columns.fit_transform(FRAME))
    numbers = FRAME[["n"]]
    model = make_pipeline(PerToken(StandardScaler()), CRF())
    assert model.fit(numbers, ["B", "C", "A"]).predict(numbers).shape == (3,)


def test_labels_and_parameters_reach_the_transformer_in_the_order_of_tokens():
    seen = {}

    class Recorder(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None, groups=None):
            seen.update(X=np.asarray(X)[:, 0].tolist(), y=y.tolist(), groups=groups.tolist())
            return self

        def transform(self, X):
            return X

    PerToken(Recorder()).fit(ROWS, [["A", "B"], [], ["C"]], groups=[5, 6, 7])
    assert seen == {"X": [1.0, 2.0, 6.0], "y": ["A", "B", "C"], "groups": [5, 5, 7]}
    PerToken(Recorder()).fit(FRAME[["n"]], ["B", "C", "A"], groups=[5, 6, 7])
    assert seen == {"X": [1.0, 2.0, 6.0], "y": ["A", "B", "C"], "groups": [7, 5, 6]}
    X = [np.array([[1.0, 0.1], [2.0, 0.9]]), np.array([[6.0, 0.2], [1.5, 0.8]])]
    best = PerToken(SelectKBest(k=1)).fit(X, [["A", "B"], ["A", "B"]])
    assert best.transform(X).data.ravel().tolist() == [0.1, 0.9, 0.2, 0.8]


def test_pandas_output():
    out = PerToken(StandardScaler()).set_output(transform="pandas").fit_transform(ROWS)
    assert out.index.to_list() == [(0, 0), (0, 1), (2, 0)]
    assert out.columns.to_list() == ["x0", "x1"]
    with config_context(transform_output="pandas"):
        assert PerToken(OneHotEncoder()).fit_transform(WORDS).shape == (3, 2)
    inner = StandardScaler().set_output(transform="pandas")
    assert PerToken(inner).fit_transform(ROWS).lengths.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("transformer", "X", "y", "message"),
    [
        (5, ROWS, None, "transformer must be a transformer of scikit-learn, but is of type int"),
        (StandardScaler(), [[], []], None, "X has no tokens"),
        (StandardScaler(), ROWS, [["A"], [], ["B"]], "sequence 0 has 2 tokens in X, but 1 in y"),
        (FunctionTransformer(lambda X: X[:1]), ROWS, None, "row for each of the 3 tokens"),
    ],
)
def test_errors_name_what_is_wrong(transformer, X, y, message):
    with pytest.raises(ValueError, match=message):
        PerToken(transformer).fit_transform(X, y)


def test_names_that_a_transformer_lacks():
    fitted = PerToken(FunctionTransformer()).fit(ROWS)
    with pytest.raises(AttributeError, match="FunctionTransformer does not name its columns"):
        fitted.get_feature_names_out()


@pytest.mark.parametrize("transformer", [DictVectorizer(), FeatureHasher()])
def test_a_transformer_of_dicts_refuses_words(transformer):
    fitted = PerToken(transformer).fit([[{"w": "the"}]])
    with pytest.raises(ValueError, match=r"cannot take X, which has tokens of type str: .*items"):
        fitted.transform([["the"]])
    with pytest.raises(ValueError, match="cannot take X, which has tokens of type str"):
        PerToken(transformer).fit_transform([["the"]])


def test_a_tuple_without_end_is_refused():
    endless = "the"
    for _ in range(200_000):
        endless = (endless,)
    fitted = PerToken(OneHotEncoder()).fit([["the"]])
    for token in (endless, {"w": endless}):
        with pytest.raises(ValueError, match=r"X: a token must not hold \(+\.\.\."):
            PerToken(OneHotEncoder()).fit([[token]])
        with pytest.raises(ValueError, match=r"X: a token must not hold \(+\.\.\."):
            fitted.transform([[token]])
