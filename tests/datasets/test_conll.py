import gzip
import io

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.datasets import read_conll, write_conll

# Anything but tabs, blanks and line ends; no-break space, NEL and line separator are more likely.
symbols = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\r\n")
    | st.sampled_from("\u00a0\u0085\u2028\u3000\ufeff\x1c\x0b\x0c"),
    min_size=1,
    max_size=4,
)


@st.composite
def labelled_sequences(draw, token):
    lengths = draw(st.lists(st.integers(1, 4), max_size=4))
    X = [draw(st.lists(token, min_size=n, max_size=n)) for n in lengths]
    y = [draw(st.lists(symbols, min_size=n, max_size=n)) for n in lengths]
    return X, y


tokens = symbols
dicts = st.fixed_dictionaries({"word": symbols, "pos": symbols})


def round_trip(X, y, **options):
    columns = options.pop("columns", None)
    file = io.BytesIO()
    write_conll(file, X, y, columns=columns, **options)
    return read_conll(io.BytesIO(file.getvalue()), columns, **options)


@given(labelled_sequences(tokens))
def test_round_trip_of_strings(data):
    X, y = data
    assert round_trip(X, y) == (X, y)
    assert round_trip(X, None, columns=["word"]) == (X, None)


@given(labelled_sequences(dicts), st.permutations(["word", "pos", "label"]))
def test_round_trip_of_dicts(data, columns):
    X, y = data
    assert round_trip(X, y, columns=columns) == (X, y)


spaced = st.text("ab \t\u00a0\ufeff", min_size=1).filter(lambda s: s.strip(" \t"))


@given(labelled_sequences(spaced))
def test_round_trip_of_tokens_with_blanks(data):
    X, _ = data
    assert round_trip(X, X, sep="|", encoding="utf-16") == (X, X)


@given(labelled_sequences(dicts), st.data())
def test_layout_does_not_matter(data, draw):
    X, y = data
    gap = draw.draw(st.sampled_from(["\t", " ", "  ", " \t "]))
    end = draw.draw(st.sampled_from(["\n", "\r\n", " \n"]))
    blank = draw.draw(st.sampled_from([end, end * 3, "\t " + end]))
    blocks = [
        "".join(
            gap.join([x["word"], x["pos"], label]) + end for x, label in zip(*pair, strict=True)
        )
        for pair in zip(X, y, strict=True)
    ]
    text = "\ufeff" + draw.draw(st.sampled_from(["", blank])) + blank.join(blocks)
    if draw.draw(st.booleans()):
        text = text.removesuffix("\n").removesuffix("\r")
    assert read_conll(io.BytesIO(text.encode()), ["word", "pos", "label"]) == (X, y)


def test_default_columns():
    assert read_conll(io.StringIO("a\nb\n")) == ([["a", "b"]], None)
    assert read_conll(io.StringIO("a X\n")) == ([["a"]], [["X"]])
    X, y = read_conll(io.StringIO("a P C X\n"))
    assert X == [[{"word": "a", "column_2": "P", "column_3": "C"}]]
    assert y == [["X"]]


def test_columns_are_chosen_by_name():
    text = "1 a P X\n2 b Q Y\n"
    assert read_conll(io.StringIO(text), [None, "word", None, "label"]) == (
        [["a", "b"]],
        [["X", "Y"]],
    )
    X, y = read_conll(io.StringIO(text), ["label", None, "pos", "tag"])
    assert X == [[{"pos": "P", "tag": "X"}, {"pos": "Q", "tag": "Y"}]]
    assert y == [["1", "2"]]


@for_each("text", ["", "\n", " \r\n\t\n", "\ufeff"])
def test_empty_file(text):
    assert read_conll(io.StringIO(text)) == ([], [])
    assert read_conll(io.StringIO(text), ["word"]) == ([], None)


def test_comments_and_document_marks_are_kept():
    X, _ = read_conll(io.StringIO("-DOCSTART- O\n\n# O\n"))
    assert X == [["-DOCSTART-"], ["#"]]


def test_given_separator_keeps_blanks_and_empty_fields():
    X, y = read_conll(io.StringIO("New York\t\tB\n \t \n the \tD\tO\n"), sep="\t")
    assert X == [[{"word": "New York", "column_2": ""}], [{"word": " the ", "column_2": "D"}]]
    assert y == [["B"], ["O"]]


@pytest.mark.parametrize(
    ("columns", "text", "message"),
    [
        (None, "a X\n\nb Y\nc\n", "line 4 has 1 columns, expected 2"),
        (None, "a X\r\nb Y Z\r\n", "line 2 has 3 columns, expected 2"),
        (["word", "pos", "label"], "a X\n", "line 1 has 2 columns, expected 3"),
    ],
)
def test_ragged_rows(columns, text, message):
    with pytest.raises(ValueError, match=message):
        read_conll(io.StringIO(text), columns)


def test_undecodable_bytes(tmp_path):
    path = tmp_path / "latin.tsv"
    path.write_bytes("a X\n\nItali\xeb Y\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 3 cannot be decoded as utf-8"):
        read_conll(path)
    with open(path, encoding="utf-8") as file, pytest.raises(ValueError, match="line 3"):
        read_conll(file)
    assert read_conll(path, encoding="latin-1")[0] == [["a"], ["Itali\xeb"]]


@for_each(
    ("columns", "message"),
    [
        ("word", "single string 'word'"),
        (["word", "word"], "must differ"),
        (["label", None], "besides 'label'"),
        ([], "besides 'label'"),
    ],
)
def test_bad_columns(columns, message):
    with pytest.raises(ValueError, match=message):
        read_conll(io.StringIO("a b\n"), columns)


@for_each("sep", ["", "\n", "ab", 3])
def test_bad_separator(sep):
    with pytest.raises(ValueError, match="sep must be"):
        read_conll(io.StringIO("a b\n"), sep=sep)
    with pytest.raises(ValueError, match="sep must be"):
        write_conll(io.StringIO(), [["a"]], sep=sep)


def test_files(tmp_path):
    X, y = [["a", "b"], ["ç"]], [["X", "Y"], ["Z"]]
    for name in ("plain.tsv", "packed.tsv.gz"):
        write_conll(tmp_path / name, X, y)
        assert read_conll(tmp_path / name) == (X, y)
        assert read_conll(str(tmp_path / name)) == (X, y)
        with open(tmp_path / name, "rb") as file:
            assert read_conll(file) == (X, y)
    assert (tmp_path / "plain.tsv").read_bytes() == "a\tX\nb\tY\n\nç\tZ\n\n".encode()
    assert gzip.decompress((tmp_path / "packed.tsv.gz").read_bytes()).startswith(b"a\tX\n")
    with gzip.open(tmp_path / "other.gz", "wt", encoding="utf-8") as file:
        write_conll(file, X, y)
    with gzip.open(tmp_path / "other.gz", "rt", encoding="utf-8") as file:
        assert read_conll(file) == (X, y)


def test_write_sequence_arrays():
    file = io.StringIO()
    table = SymbolTable([[0, 0], [1, 0]], [["the", "dog"], ["D"]], ["word", "tag"])
    labels = SequenceArray(np.array(["X", "Y"], dtype=object), [0, 1, 2])
    write_conll(file, SequenceArray(table, [0, 1, 2]), labels)
    assert file.getvalue() == "the\tD\tX\n\ndog\tD\tY\n\n"


def test_write_chosen_columns():
    file = io.StringIO()
    X = [[{"word": "a", "pos": "P", "shape": "x"}]]
    write_conll(file, X, [["X"]], columns=["pos", "label", "word"])
    assert file.getvalue() == "P\tX\ta\n\n"


@for_each(
    ("bad", "message"),
    [
        ("", "is empty"),
        (" \t", "is empty"),
        ("a b", "holds a separator"),
        ("a\tb", "holds a separator"),
        ("a\nb", "line end"),
        ("a\r", "line end"),
        (None, "is not a string"),
        (3, "is not a string"),
        (float("nan"), "is not a string"),
        (["a"], "is not a string"),
        ("\ud800", "cannot be encoded"),
    ],
)
def test_unwritable_values_name_their_place(bad, message):
    file = io.StringIO()
    with pytest.raises(ValueError, match=f"sequence 1, position 2: the word .*{message}"):
        write_conll(file, [["a"], ["b", "c", bad]])
    with pytest.raises(ValueError, match=f"sequence 0, position 0: the label .*{message}"):
        write_conll(file, [["a"], ["b"]], [[bad], ["X"]])
    with pytest.raises(ValueError, match=f"sequence 0, position 1: the pos .*{message}"):
        write_conll(file, [[{"pos": "P"}, {"pos": bad}]])
    assert file.getvalue() == ""


@for_each(
    ("X", "y", "columns", "message"),
    [
        ([["a"], []], None, None, "sequence 1 is empty"),
        ([["a"], ["b"]], [["X"]], None, "X has 2 sequences, but y has 1"),
        ([["a", "b"]], [["X"]], None, "sequence 0 has 2 tokens"),
        ([[{"w": "a"}, {"v": "b"}]], None, None, "sequence 0, position 1: expected a dict"),
        ([[{"w": "a"}, {"w": "b", "v": "c"}]], None, None, "sequence 0, position 1"),
        ([[{"w": "a"}, "b"]], None, None, "sequence 0, position 1"),
        ([[{"w": "a"}]], None, ["v"], "sequence 0, position 0"),
        ([[{"label": "a"}]], [["X"]], None, "already has a column 'label'"),
        ([["a"]], [["X"]], ["word"], "if and only if y is given"),
        ([["a"]], None, ["word", "label"], "if and only if y is given"),
        ([["a"]], None, ["word", "pos"], "X has one column"),
        ([np.zeros((2, 2))], None, None, "not rows of numbers"),
    ],
)
def test_unwritable_input(X, y, columns, message):
    with pytest.raises(ValueError, match=message):
        write_conll(io.StringIO(), X, y, columns=columns)


def test_damaged_and_too_large_files():
    data = gzip.compress(b"a X\n\nb Y\n")
    assert read_conll(io.BytesIO(data), max_bytes=9) == ([["a"], ["b"]], [["X"], ["Y"]])
    with pytest.raises(ValueError, match="more than max_bytes=8 bytes"):
        read_conll(io.BytesIO(data), max_bytes=8)
    with pytest.raises(ValueError, match="line 4: the compressed data are damaged"):
        read_conll(io.BytesIO(data[:-1]))
    with pytest.raises(ValueError, match="line 1: the compressed data are damaged"):
        read_conll(io.BytesIO(data[:4]))
