import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.symbols import SymbolTable, symbolize
from sklearn_crcrf.data.vocabulary import JoinedStrings


def columns(table):
    return {name: table.column(name).tolist() for name in table.names}


def symbolized(sequences):
    return columns(symbolize(SequenceArray.from_sequences(sequences)))


@pytest.fixture
def table():
    return SymbolTable([[0, 1], [1, -1], [0, 0]], [["a", "b"], ["x", "y"]], ["w", "t"])


def test_columns_are_found_by_name(table):
    assert "t" in table and "u" not in table
    assert [table.place(name) for name in table.names] == [0, 1]
    with pytest.raises(KeyError):
        table.place("u")


def test_indexing_and_joining(table):
    assert columns(table[[2, 1]]) == {"w": ["a", "b"], "t": ["x", None]}
    assert table[:2].shape == (2, 2)
    other = SymbolTable([[1, 0]], [["c", "b"], ["y"]], ["w", "t"])
    rows = np.concatenate([table, other])
    assert columns(rows) == {"w": ["a", "b", "a", "b"], "t": ["y", None, "x", "y"]}
    assert all(len(set(c)) == len(c) for c in rows.categories)
    more = SymbolTable([[0], [0], [0]], [["z"]], ["u"])
    assert np.concatenate([table, more], axis=1).names == ("w", "t", "u")


def test_equality_is_about_symbols_and_not_codes(table):
    same = SymbolTable([[1, 0], [0, -1], [1, 1]], [["b", "a"], ["y", "x"]], ["w", "t"])
    assert table == same
    assert table != same[::-1]
    assert table != "table"
    assert pickle.loads(pickle.dumps(table)) == table
    assert table.copy() == table


def test_join_refuses_other_columns(table):
    other = SymbolTable([[0]], [["a"]], ["w"])
    with pytest.raises(ValueError, match="columns are the same"):
        np.concatenate([table, other])
    with pytest.raises(ValueError, match="must differ"):
        np.concatenate([table, table], axis=1)
    with pytest.raises(ValueError, match="do not fit"):
        SymbolTable([[0]], [["a"], ["b"]], ["w"])


def test_strings_are_one_column():
    assert symbolized([["a", "b"], [], ["a"]]) == {"token": ["a", "b", "a"]}
    assert symbolized([]) == {"token": []}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (np.array(["b", "a", "b"]), ["b", "a", "b"]),
        (np.array([10, 2, 10]), ["10", "2", "10"]),
        (np.array([True, False, True]), ["True", "False", "True"]),
    ],
)
def test_arrays_of_symbols(data, expected):
    table = symbolize(SequenceArray(data, [0, 3]))
    assert columns(table) == {"token": expected}
    assert len(table.categories[0]) == 2


def test_a_table_is_returned_as_it_is(table):
    assert symbolize(SequenceArray(table, [0, 3])) is table


def test_values_of_dicts():
    tokens = [
        {"w": "a", "title": True, "n": 3, "in": {"deep": {"er": "x"}, "flag": np.False_}},
        {"title": "True", "w": "b", "tags": ["p", "q"], "x": 0.5},
        {"in": {"deep": {"er": "y"}}, "tags": {"q"}, "empty": {}},
        {},
    ]
    assert symbolized([tokens]) == {
        "w": ["a", "b", None, None],
        "title": ["True", "True", None, None],
        "n": ["3", None, None, None],
        "in:deep:er": ["x", None, "y", None],
        "in:flag": ["False", None, None, None],
        "tags:p": [None, "True", None, None],
        "tags:q": [None, "True", "True", None],
        "x": [None, "0.5", None, None],
    }


def test_a_key_may_hold_a_string_here_and_a_list_there():
    assert symbolized([[{"k": "s"}, {"k": ["m"]}]]) == {"k": ["s", None], "k:m": [None, "True"]}


def test_keys_that_are_written_alike_are_one_column():
    assert symbolized([[{"a": {"b": "x"}}, {"a:b": "y"}]]) == {"a:b": ["x", "y"]}
    assert symbolized([[{"a": ["b", "b"]}]]) == {"a:b": ["True"]}
    with pytest.raises(ValueError, match="sequence 1, position 0: 'a:b' has two values"):
        symbolized([[], [{"a": {"b": "x"}, "a:b": "y"}]])


def test_joined_symbols_are_as_plain_ones():
    joined = JoinedStrings([["a", "b"], ["x", "é"]], [[0, 1, 1], [1, 0, 1]], separator="|")
    codes = [[0], [2], [-1], [1], [2]]
    lazy = SymbolTable(codes, [joined], ["w"])
    plain = SymbolTable(codes, [joined.tolist()], ["w"])
    assert pickle.loads(pickle.dumps(lazy))[1:] == plain[1:]
    assert np.concatenate([lazy[:2], plain[2:]]) == plain
    assert np.concatenate([lazy[3:], SymbolTable([[0], [0]], [["z"]], ["u"])], axis=1).shape == (
        2,
        2,
    )
    lazy = SymbolTable(codes, [joined], ["w"])
    for table in (lazy, plain, lazy):
        assert table.attributes(0, np.array([2, 0])).tolist() == ["w=b|é", "w=a|é"]
        assert table.column("w").tolist() == ["a|é", "b|é", None, "b|x", "b|é"]
        assert table.categories[0].tolist() == ["a|é", "b|x", "b|é"]


def test_dicts_without_keys():
    assert symbolize(SequenceArray.from_sequences([[{}, {}]])).shape == (2, 0)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.text(max_size=2)), min_size=1))
def test_flat_dicts_round_trip(tokens):
    table = symbolize(SequenceArray.from_sequences([tokens]))
    assert set(table.names) == {key for token in tokens for key in token}
    for name in table.names:
        assert table.column(name).tolist() == [token.get(name) for token in tokens]


@for_each(
    ("token", "message"),
    [
        (None, "must be a str, but is None"),
        (float("nan"), "must be a str, but is nan"),
        (7, "must be a str, but is of type int"),
        ([1.0, 2.0], "must be a str, but is of type list; the rows of numbers .* a 2-D array"),
        (("a", "DT"), "must be a str, but is of type tuple; name its parts in a dict"),
        ({"w": "a"}, "must be a str, but is of type dict"),
    ],
)
def test_invalid_token_among_strings(token, message):
    with pytest.raises(ValueError, match=f"sequence 2, position 1: the token {message}"):
        symbolized([["a"], [], ["b", token], [None]])


@for_each(
    ("token", "message"),
    [
        ("b", "the token must be a dict, but is .*, of type str"),
        (None, "the token must be a dict, but is None"),
        ({"w": None}, "'w' must be a str, number, dict or list, but is None"),
        ({"w": float("nan")}, "'w' must be a str, number, dict or list, but is nan"),
        ({"w": b"x"}, "'w' must be .*, but is .*, of type bytes"),
        ({"w": {"v": None}}, "'w:v' must be .*, but is None"),
        ({"w": [["x"]]}, "a member of 'w' must be a str, but is .*, of type list"),
        ({"w": ["x", None]}, "a member of 'w' must be a str, but is None"),
        ({3: "x"}, "a key of a feature dict must be a str, but is .*, of type int"),
    ],
)
def test_invalid_token_among_dicts(token, message):
    with pytest.raises(ValueError, match=f"sequence 1, position 1: {message}"):
        symbolized([[{"w": "a"}], [{"w": "b"}, token]])


@pytest.mark.parametrize("data", [np.zeros((2, 2)), np.zeros(2)])
def test_numbers_are_not_symbols(data):
    with pytest.raises(ValueError, match="X must hold token strings"):
        symbolize(SequenceArray(data, [0, 2]))


def test_columns_with_one_key_have_attributes_in_common():
    table = SymbolTable([[0, 1], [1, 0]], [["a", "b"], ["a", "b"]], ["u", "v"], keys=["w", "w"])
    for same in (table[:], table.copy(), pickle.loads(pickle.dumps(table))):
        assert same == table
        assert same.attributes(1, np.array([0])).tolist() == ["w=a"]
    other = SymbolTable([[0], [0]], [["z"]], ["t"])
    assert np.concatenate([table, other], axis=1).keys == ("w", "w", "t")
    assert np.concatenate([table, table]).keys == ("w", "w")
    assert table != SymbolTable(table.codes, table.categories, table.names)
    with pytest.raises(ValueError, match="1 keys do not fit 2 names"):
        SymbolTable([[0, 0]], [["a"], ["b"]], ["u", "v"], keys=["w"])


@pytest.mark.parametrize("other", [np.zeros((3, 2)), sp.csr_matrix((3, 2)), sp.csr_array((3, 2))])
def test_symbols_are_not_joined_with_numbers(table, other):
    offsets = [0, 3]
    for tables in ([table, other], [other, table]):
        with pytest.raises(ValueError, match="turn the symbols into numbers first"):
            np.hstack([SequenceArray(t, offsets) for t in tables])
