import numpy as np
import pandas as pd
import pytest

from sklearn_crcrf import CRF, as_sequences
from sklearn_crcrf.datasets import read_frame

nw = pytest.importorskip("narwhals")

COLUMNS = {
    "s": ["b", "a", "b", "a", "b"],
    "t": [3, 1, 1, 2, 2],
    "word": ["sleep", "the", "Two", "dog", "dogs"],
    "n": [5.0, 3.0, 3.0, None, 4.0],
    "tag": ["V", "D", "D", "N", "N"],
}
ORDER = [[2, 4, 0], [1, 3]]


def frames():
    yield pd.DataFrame(COLUMNS)
    yield pytest.importorskip("polars").DataFrame(COLUMNS)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_same_as_an_index_of_pandas(kind):
    pytest.importorskip(kind)
    frame = next(f for f in frames() if type(f).__module__.startswith(kind))
    X, y = read_frame(frame, "s", "t", label="tag")
    assert y.tolist() == [[COLUMNS["tag"][i] for i in rows] for rows in ORDER]
    indexed = pd.DataFrame(COLUMNS).drop(columns="tag").set_index(["s", "t"])
    wanted = as_sequences(indexed).X
    assert X.data.names == wanted.data.names == ("word", "n")
    assert X.lengths.tolist() == wanted.lengths.tolist() == [3, 2]
    crf = CRF().fit(X, y)
    assert crf.predict(X).tolist() == y.tolist()
    np.testing.assert_array_equal(crf.predict_proba(X).data, crf.predict_proba(wanted).data)
    X, none = read_frame(frame, "s")
    assert none is None and X.data.names == ("t", "word", "n", "tag")


def test_numbers_stay_numbers():
    frame = pd.DataFrame({"s": [0, 0, 1], "a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    X, _ = read_frame(frame, "s")
    np.testing.assert_array_equal(X.data, [[1, 0.5], [2, 1.5], [3, 2.5]])
    frame.loc[1, "b"] = np.nan
    with pytest.raises(ValueError, match="the column 'b' has no value in row 1"):
        read_frame(frame, "s")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "the frame has no column 'x'; it has"),
        (("n",), "the column 'n' has no value in row 3"),
        (("s", "n"), "the column 'n' has no value in row 3"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_frame(pd.DataFrame(COLUMNS), *arguments)
    with pytest.raises(ValueError, match="no columns besides"):
        read_frame(pd.DataFrame(COLUMNS)[["s", "t"]], "s", "t")
    with pytest.raises(TypeError):
        read_frame([["the"]], "s")


def as_pandas(columns):
    return pd.DataFrame(columns)


def as_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def as_arrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


@pytest.mark.parametrize("make", [as_pandas, as_polars, as_arrow])
def test_positions_are_numbers_and_labels_may_be_missing(make):
    columns = {"s": ["1", "1", "1"], "t": ["10", "9", "0"], "w": [*"abc"], "tag": ["A", None, "C"]}
    assert read_frame(make(columns), "s", "t", "tag")[1].tolist() == [["C", None, "A"]]
    for name, values, message in (
        ("t", ["1", "2", "01"], "the column 't': row 2 has the sequence and position of row 0"),
        ("t", ["1", "x", "2"], "the column 't': positions must be .* in row 1 there is 'x'"),
        ("t", ["1", None, "2"], "the column 't' has no value in row 1"),
        ("s", ["1", None, "2"], "the column 's' has no value in row 1"),
        *((name, [["a"], [], ["b"]], f"the column {name!r} has a list in row 0") for name in "stw"),
    ):
        with pytest.raises(ValueError, match=message):
            read_frame(make({**columns, name: values}), "s", "t", "tag")


def test_sequences_may_be_a_series_of_polars():
    pl = pytest.importorskip("polars")
    X, y = pl.Series([["a", "b"], ["c"]]), pl.Series([["A", "B"], ["A"]])
    assert as_sequences(X, y).y.tolist() == y.to_list()


def test_sequences_may_be_an_array_of_pyarrow():
    pa = pytest.importorskip("pyarrow")
    X, y = pa.array([["a", "b"], ["c"]]), pa.chunked_array([[["A", None], ["A"]]])
    sequences = as_sequences(X, y)
    assert (sequences.X.tolist(), sequences.y.tolist()) == ([["a", "b"], ["c"]], y.to_pylist())
