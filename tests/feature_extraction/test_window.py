import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.feature_extraction import Window, _neighbours

ODD = ["|", "\\", "\\|", "", "<boundary-1>", "\\<boundary-1>", "<boundary+2>", "é", "中"]
sequences = st.lists(st.lists(st.sampled_from(["a", "b", *ODD]), max_size=5))


def neighbour(sequence, position, offset):
    """The symbol, and the string that stands for it in a column of this offset."""
    if 0 <= position < len(sequence):
        symbol = sequence[position]
        return symbol, "\\" + symbol if offset and "<boundary" in symbol else symbol
    outside = position if position < 0 else position - len(sequence) + 1
    return outside, f"<boundary{outside:+d}>"


@given(sequences, st.integers(-7, 7))
def test_single_neighbour(X, offset):
    out = Window([offset]).transform(SequenceArray.from_sequences(X))
    (name,) = out.data.names
    expected = [neighbour(s, i + offset, offset)[1] for s in X for i in range(len(s))]
    assert out.data.column(name).tolist() == expected
    assert len(set(out.data.categories[0])) == len(out.data.categories[0])
    assert out.lengths.tolist() == [len(s) for s in X]


@given(sequences, st.lists(st.integers(-3, 3), min_size=2, max_size=4))
def test_joined_symbols_are_the_same_iff_all_neighbours_are(X, offsets):
    out = Window([tuple(offsets)]).transform(SequenceArray.from_sequences(X)).data
    neighbours = [[neighbour(s, i + d, d) for d in offsets] for s in X for i in range(len(s))]
    tuples = [tuple(symbol for symbol, _ in parts) for parts in neighbours]
    joined = out.column(out.names[0]).tolist()
    assert len(set(joined)) == len(set(tuples)) == len(set(zip(tuples, joined, strict=True)))
    for parts, string in zip(neighbours, joined, strict=True):
        assert string.replace("\\", "") == "|".join(s for _, s in parts).replace("\\", "")


def test_symbols_do_not_depend_on_what_else_is_there():
    one, many = [["x|y", "a"]], [["x|y", "a"], ["b", "c|d", "a"]]
    window = Window([(0, 1)])
    alone = window.transform(one).data.column("token[0]|token[+1]").tolist()
    assert window.transform(many).data.column("token[0]|token[+1]").tolist()[:2] == alone


def test_templates_over_several_columns():
    X = [[{"w": "a", "t": "N"}, {"w": "b"}, {"w": "c", "t": "V"}]]
    out = Window([1, (-1, 0), "w[0]|t[+1]", "t[-1]"]).fit_transform(X).data
    assert {name: out.column(name).tolist() for name in out.names} == {
        "w[+1]": ["b", "c", "<boundary+1>"],
        "t[+1]": [None, "V", "<boundary+1>"],
        "w[-1]|w[0]": ["<boundary-1>|a", "a|b", "b|c"],
        "t[-1]|t[0]": ["<boundary-1>|N", None, None],
        "w[0]|t[+1]": [None, "b|V", "c|<boundary+1>"],
        "t[-1]": ["<boundary-1>", "N", None],
    }


def test_names_are_those_of_the_columns():
    window = Window(["w[-1]|w[1]", 0])
    assert window.get_feature_names_out(["w"]).tolist() == ["w[-1]|w[+1]", "w[0]"]
    X = [[{"w": "a"}]]
    assert window.fit_transform(X).data.names == tuple(window.get_feature_names_out())


def test_column_names_with_brackets_and_bars():
    X = [[{"w|v": "a", "w[0]": "b"}]]
    assert Window(["w|v[0]", "w[0][0]"]).transform(X).data.names == ("w|v[0]", "w[0][0]")


def test_how_far_outside_is_told_apart():
    out = Window([-2, 3, (-1, 1)]).transform([["a", "b"]]).data
    assert [out.column(name).tolist() for name in out.names] == [
        ["<boundary-2>", "<boundary-1>"],
        ["<boundary+2>", "<boundary+3>"],
        ["<boundary-1>|b", "a|<boundary+1>"],
    ]


def test_far_outside_there_are_not_more_symbols_than_tokens():
    table = Window([-(10**9)]).transform([["a", "b"], ["b"]]).data
    names = [f"<boundary-{10**9 - i}>" for i in range(2)]
    assert table.column(table.names[0]).tolist() == [*names, names[0]]
    assert set(table.categories[0]) == {"a", "b", *names}


def test_a_token_that_looks_as_if_it_were_outside():
    X = [["<boundary-1>", "x"], ["x", "\\<boundary-1>", "x"]]
    column = Window([-1]).transform(X).data.column("token[-1]").tolist()
    assert len(set(column)) == 4
    assert column[:2] == ["<boundary-1>", "\\<boundary-1>"]


def test_large_keys_are_compressed(monkeypatch):
    X = SequenceArray.from_sequences([list("abcab"), list("cab")])
    expected = Window([(-2, -1, 0, 1)]).transform(X)
    monkeypatch.setattr(_neighbours, "_LARGEST_KEY", 4)
    assert Window([(-2, -1, 0, 1)]).transform(X) == expected


def test_missing_symbols_with_compressed_keys(monkeypatch):
    monkeypatch.setattr(_neighbours, "_LARGEST_KEY", 1)
    table = SymbolTable([[0], [-1], [1], [0], [1]], [["a", "b"]], ["w"])
    out = Window([(0, 0, 0)]).transform(SequenceArray(table, [0, 5])).data
    assert out.column("w[0]|w[0]|w[0]").tolist() == ["a|a|a", None, "b|b|b", "a|a|a", "b|b|b"]


def test_no_tokens_and_no_templates():
    assert Window().transform([[], []]).data.shape == (0, 3)
    assert Window([]).transform([["a"]]).data.shape == (1, 0)
    assert np.array_equal(Window().transform([[], []]).offsets, [0, 0, 0])


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("word", "made of parts like"),
        ("token[x]", "made of parts like"),
        ("word[0]", "needs a column 'word'"),
        ("token[0]|word[0]", "needs a column 'word'"),
        (1.5, "must be an int"),
        ((), "must be an int"),
        ((0, "a"), "must be an int"),
    ],
)
def test_wrong_template(template, message):
    with pytest.raises(ValueError, match=message):
        Window([template]).fit([["a"]])
