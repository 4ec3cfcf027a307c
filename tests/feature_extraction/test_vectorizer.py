from collections import OrderedDict
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures

flat_dicts = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["x", "y", "é"]) | st.booleans() | st.integers(-3, 3) | st.just(0.5),
)


def rows(X, **params):
    """Every token as a dict from attribute to value."""
    vectorizer = SequenceVectorizer(**params)
    matrix = vectorizer.fit_transform(X).data
    names = vectorizer.get_feature_names_out()
    return [dict(zip(names[r.indices], r.data.tolist(), strict=True)) for r in matrix]


@given(st.lists(st.lists(flat_dicts, min_size=1), min_size=1), st.lists(flat_dicts, min_size=1))
def test_flat_dicts_as_dict_vectorizer(X, new):
    reference = DictVectorizer().fit([token for s in X for token in s])
    vectorizer = SequenceVectorizer().fit(X)
    names = vectorizer.get_feature_names_out()
    assert sorted(names) == list(reference.get_feature_names_out())
    order = np.argsort(names)
    for tokens in (*X, new):
        out = vectorizer.transform([tokens]).data
        assert np.array_equal(out.toarray()[:, order], reference.transform(tokens).toarray())


def test_strings():
    X = SequenceVectorizer().fit_transform([["b", "a"], [], ["b"]])
    assert isinstance(X, SequenceArray)
    assert X.shape == (3, 2)
    assert X.data.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    assert X.lengths.tolist() == [2, 0, 1]


def test_everything_a_token_can_be():
    token = {
        "w": "a",
        "title": True,
        "digit": False,
        "n": np.float32(2.5),
        "in": {"deep": {"er": "x", "n": 2}, "flags": ("f",)},
        "tags": ["p", "q"],
        "set": {"s", "r"},
        "none": [],
    }
    assert rows([[token], ["word"]]) == [
        {
            "w=a": 1,
            "title": 1,
            "digit": 0,
            "n": 2.5,
            "in:deep:er=x": 1,
            "in:deep:n": 2,
            "in:flags:f": 1,
            "tags:p": 1,
            "tags:q": 1,
            "set:r": 1,
            "set:s": 1,
        },
        {"word": 1},
    ]


def test_repeated_attributes_are_added_and_indices_sorted():
    X = [[{"b": 1.0}, {"c": ["x", "x"], "b": 1, "a": {"b": 2}, "a:b": 3}]]
    assert rows(X)[1] == {"c:x": 2, "b": 1, "a:b": 5}
    matrix = SequenceVectorizer().fit_transform(X).data
    assert matrix.has_canonical_format
    assert matrix.indices.tolist() == [0, 0, 1, 2]


def test_order_of_first_occurrence():
    vectorizer = SequenceVectorizer().fit([["c", "a"], ["b", "a"]])
    assert vectorizer.get_feature_names_out().tolist() == ["c", "a", "b"]


def test_columns_of_symbols():
    table = SymbolTable([[0, 1], [2, -1]], [["a", "unused", "b"], ["y", "x"]], ["w", "t"])
    X = SequenceArray(table, [0, 1, 2])
    assert rows(X) == [{"w=a": 1, "t=x": 1}, {"w=b": 1}]
    assert SequenceVectorizer().fit(X[::-1]).get_feature_names_out().tolist() == [
        "w=b",
        "w=a",
        "t=x",
    ]
    vectorizer = SequenceVectorizer().fit(X[:1])
    assert vectorizer.get_feature_names_out().tolist() == ["w=a", "t=x"]
    assert vectorizer.transform(X).data.toarray().tolist() == [[1, 1], [0, 0]]


def test_columns_and_dicts_of_strings_agree():
    tokens = [{"w": "a", "t": "N"}, {"w": "b"}, {"t": "N", "w": "a"}]
    assert rows([tokens]) == rows(TokenFeatures([]).transform([tokens]))


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (np.array([3, 1, 3]), ["3", "1"]),
        (np.array([True, False, True]), ["True", "False"]),
        (np.array(["b", "a", "b"]), ["b", "a"]),
    ],
)
def test_arrays_of_symbols(data, names):
    vectorizer = SequenceVectorizer()
    X = vectorizer.fit_transform(SequenceArray(data, [0, 3]))
    assert vectorizer.get_feature_names_out().tolist() == names
    assert X.data.indices.tolist() == [0, 1, 0]


def test_another_separator():
    tokens = [[{"a": "x", "b": 2, "c": ["d"]}, {"a:x": True}]]
    found = rows(tokens, separator=":")
    assert found == [{"a:x": 1, "b": 2, "c:d": 1}, {"a:x": 1}]
    columns = TokenFeatures(["lower"]).fit_transform([["Un", "deux"]])
    assert list(rows(columns, separator="::")[0])[-1] == "lower::un"
    vectorizer = SequenceVectorizer(separator=":").fit(tokens)
    assert vectorizer.transform([[{"a": "x"}]]).data.toarray().tolist() == [[1, 0, 0]]


def test_min_freq():
    X = [["a", "b", "c"], ["c", "b", "d", "b"]]
    assert rows(X, min_freq=2) == [{}, {"b": 1}, {"c": 1}, {"c": 1}, {"b": 1}, {}, {"b": 1}]
    vectorizer = SequenceVectorizer(min_freq=2).fit(X)
    assert vectorizer.transform(X) == SequenceVectorizer(min_freq=2).fit_transform(X)
    assert rows(X, min_freq=9) == [{}] * 7


def test_numbers_of_every_kind():
    numbers = [
        3,
        -(2**62),
        10**30,
        0.5,
        True,
        np.int8(3),
        np.float32(0.5),
        np.True_,
        Fraction(1, 2),
    ]
    values = [float(n) for n in numbers]
    assert [row["n"] for row in rows([[{"n": n} for n in numbers]])] == values


def test_keys_and_values_that_are_written_alike_are_one_attribute():
    assert rows([[{"a": "b=c", "a=b": "c", "a=b=c": 2}]]) == [{"a=b=c": 4}]


def test_numbers_that_are_zero_are_attributes_of_every_type():
    zeros = {"int": 0, "float": 0.0, "bool": False, "np": np.int8(0)}
    assert rows([[zeros]]) == [dict.fromkeys(zeros, 0)]


def test_mappings_and_dicts_of_other_shapes():
    tokens = [{"a": "x", "b": 1}, OrderedDict(b=1, a="x"), MappingProxyType({"b": 1}), {}]
    assert rows([tokens]) == [{"a=x": 1, "b": 1}, {"a=x": 1, "b": 1}, {"b": 1}, {}]


def test_more_keys_than_one_dict_usually_has():
    tokens = [{f"k{(i + j) % 300}": "v" for j in range(200)} for i in range(20)]
    assert rows([tokens]) == [{f"{key}=v": 1 for key in token} for token in tokens]


@for_each("dtype", [np.float32, np.float64])
@for_each("X", [[["a"]], [[{"a": 1.5}]], [[{"a": "b"}, {"a": 2}]]])
def test_matrices_own_their_values(X, dtype):
    matrix = SequenceVectorizer(dtype=dtype).fit_transform(X).data
    matrix.data *= 2
    assert matrix.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype(dtype):
    assert SequenceVectorizer(dtype=dtype).fit_transform([["a"]]).data.dtype == dtype


def test_no_tokens():
    assert SequenceVectorizer().fit_transform([[], []]).data.shape == (0, 0)
    assert SequenceVectorizer().fit([["a"]]).transform([]).data.shape == (0, 1)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        SequenceVectorizer().transform([["a"]])


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.5, TypeError)])
def test_wrong_min_freq(value, error):
    with pytest.raises(error, match="min_freq"):
        SequenceVectorizer(min_freq=value).fit([["a"]])


@for_each(
    ("token", "message"),
    [
        (None, "the token must be a str or a dict, but is None"),
        (float("nan"), "the token must be a str or a dict, but is nan"),
        (4, "the token must be a str or a dict, but is .*, of type int"),
        ({"w": None}, "the value of 'w' must be .*, but is None"),
        ({"w": {"v": b"x"}}, "the value of 'w:v' must be .*, but is .*, of type bytes"),
        ({"w": 10**400}, "the value of 'w' must be .*, but is .*, of type int"),
        ({"w": float("nan")}, "the value of 'w' must be .*, but is nan"),
        ({"w": {"v": np.inf}}, "the value of 'w:v' must be .*, but is inf"),
        ({"w": ["x", 3]}, "a member of 'w' must be a str, but is .*, of type int"),
        ({3: "x"}, "a key of a feature dict must be a str, but is .*, of type int"),
    ],
)
def test_invalid_tokens_are_located(token, message):
    X = [["a"], [], [{}, {"v": 1}, token], [token]]
    for method in (SequenceVectorizer().fit, SequenceVectorizer().fit([["a"]]).transform):
        with pytest.raises(ValueError, match=f"sequence 2, position 2: {message}"):
            method(X)


def test_lists_of_attributes():
    found = rows([[["a", "b", "a"], "a", [], {"a": 3}]])
    assert found == [{"a": 2, "b": 1}, {"a": 1}, {}, {"a": 3}]
    for token, message in (
        (["a", 1], "attributes must be str, but is 1"),
        ([1.0], "attributes must be str, but is 1.0, .*; the rows of numbers .* a 2-D array"),
        (("a", "b"), "the token must be a str or a dict, but .*; name its parts in a dict"),
        ([["a"]], "attributes must be str, but is ..a.., of type list"),
    ):
        with pytest.raises(ValueError, match=f"X, sequence 0, position 1: {message}"):
            SequenceVectorizer().fit([[["a"], token]])


def test_numeric_columns_of_frames_are_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"word": ["a", "b", "a"], "n": [0.5, -2, 0], "k": [1, 1, 3]})
    assert rows(frame) == rows([[row] for row in frame.to_dict("records")])
    vectorizer = SequenceVectorizer().fit(frame)
    assert vectorizer.get_feature_names_out().tolist() == ["word=a", "word=b", "n", "k"]
    later = vectorizer.transform(frame.assign(n=[7, 8, 9]))
    assert later.data[:, [2]].toarray().ravel().tolist() == [7, 8, 9]


def test_missing_numbers_of_frames_are_left_out_and_infinite_ones_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"word": ["a", "b"], "n": [0.5, np.nan]})
    assert rows(frame) == [{"word=a": 1, "n": 0.5}, {"word=b": 1}]
    with pytest.raises(ValueError, match="X, column 'n': infinite values"):
        rows(frame.assign(n=[1, np.inf]))


def test_numbers_are_refused():
    with pytest.raises(ValueError, match="X must hold token strings"):
        SequenceVectorizer().fit([np.zeros((2, 3))])
