import numpy as np
import pytest

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.feature_extraction import TokenFeatures
from sklearn_crcrf.feature_extraction.spelling import DEFAULT_FEATURES, SIMPLE_FEATURES

X = [["Ann", "sings"], [], ["Ann"]]


def test_default_adds_the_default_features_to_the_token():
    out = TokenFeatures().fit_transform(X)
    assert isinstance(out, SequenceArray)
    assert out.data.names == ("token", *DEFAULT_FEATURES)
    assert out.lengths.tolist() == [2, 0, 1]
    assert out.data.column("token").tolist() == ["Ann", "sings", "Ann"]
    assert out.data.column("suffix3").tolist() == ["ann", "ngs", "ann"]


def test_simple_preset():
    out = TokenFeatures("simple").transform(X)
    assert out.data.names == ("token", *SIMPLE_FEATURES)
    assert out.data.column("simple:-s").tolist() == ["False", "True", "False"]


def test_column_and_missing_symbols():
    dicts = [[{"tag": "N", "word": "Ann"}, {"tag": "V"}]]
    out = TokenFeatures(["prefix1"], column="word").transform(dicts)
    assert out.data.names == ("tag", "word", "prefix1")
    assert out.data.column("prefix1").tolist() == ["A", None]
    with pytest.raises(ValueError, match=r"not the first but 'word' .* column='word'"):
        TokenFeatures(["lower"]).transform(dicts)


def test_a_slice_of_a_table_says_the_same():
    table = TokenFeatures([]).transform(X)
    assert TokenFeatures(["shape"]).transform(table[2:]).data.column("shape").tolist() == ["Xx"]


def test_names_without_fit_and_after_fit():
    transformer = TokenFeatures(["lower"])
    assert transformer.get_feature_names_out().tolist() == ["token", "lower"]
    assert transformer.get_feature_names_out(["w"]).tolist() == ["w", "lower"]
    transformer.fit([[{"a": "x", "b": "y"}]])
    assert transformer.get_feature_names_out().tolist() == ["a", "b", "lower"]


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (TokenFeatures("fancy"), "features must be one of"),
        (TokenFeatures(["fancy"]), "no spelling feature 'fancy'"),
        (TokenFeatures(column="word"), "no column 'word'"),
        (TokenFeatures(["lower", "lower"]), "must differ"),
    ],
)
def test_wrong_parameters(transformer, message):
    with pytest.raises(ValueError, match=message):
        transformer.fit(X).transform(X)


def test_no_columns_at_all():
    empty = SequenceArray(SymbolTable(np.empty((1, 0)), [], []), [0, 1])
    with pytest.raises(ValueError, match="no column"):
        TokenFeatures().transform(empty)


@pytest.mark.parametrize("token", [None, float("nan"), {"w": "a"}])
def test_invalid_token_is_located(token):
    with pytest.raises(ValueError, match="sequence 1, position 1"):
        TokenFeatures().transform([["a"], ["b", token]])
