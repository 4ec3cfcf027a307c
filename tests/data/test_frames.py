import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import SequenceArray, as_sequences
from sklearn_crcrf.base.sample_weight import token_weights
from sklearn_crcrf.data.sequences import is_table
from sklearn_crcrf.data.symbols import SymbolTable

pd = pytest.importorskip("pandas")


def columns(X):
    return {name: X.data.column(name).tolist() for name in X.data.names}


def indexed(frame, *levels):
    return frame.set_axis(pd.MultiIndex.from_arrays(levels))


@pytest.fixture
def frame():
    """Two sequences, b with positions 1, 2 and a with 0, 3, 5; the rows are in disorder."""
    index = pd.MultiIndex.from_tuples(
        [("b", 2), ("a", 5), ("a", 0), ("b", 1), ("a", 3)], names=["sequence", "position"]
    )
    data = {"word": ["b2", "a5", "a0", "b1", "a3"], "n": [12, 5, 0, 11, 3]}
    return pd.DataFrame(data, index=index)


def test_strings_and_numbers(frame):
    sequences, labels, mirror = as_sequences(frame, frame["word"])
    assert columns(sequences) == {
        "word": ["b1", "b2", "a0", "a3", "a5"],
        "n": ["11", "12", "0", "3", "5"],
    }
    assert sequences.lengths.tolist() == [2, 3]
    assert labels.tolist() == [["b1", "b2"], ["a0", "a3", "a5"]]
    assert mirror(labels.data).tolist() == frame["word"].tolist()


def test_numbers_are_an_array(frame):
    sequences, _, mirror = as_sequences(frame[["n"]].assign(x=0.5, flag=True))
    assert sequences.data.dtype == np.float64
    assert sequences.data[:, 0].tolist() == [11, 12, 0, 3, 5]
    assert sequences.data[:, 1:].tolist() == [[0.5, 1.0]] * 5
    assert mirror(sequences.data)[:, 0].tolist() == frame["n"].tolist()


@for_each("dtype", ["int64", "float32", "bool", "Int64", "Float64", "boolean"])
def test_numeric_types(dtype):
    sequences = as_sequences(pd.DataFrame({"x": pd.array([1, 0, 1], dtype=dtype)})).X
    assert isinstance(sequences.data, np.ndarray)
    assert sequences.data.ravel().tolist() == [1, 0, 1]
    assert sequences.data.dtype.kind in "biuf"


@for_each("dtype", [object, "str", "string", "category"])
@for_each("missing", [None, np.nan, pd.NA])
def test_missing_symbols(dtype, missing):
    frame = pd.DataFrame({"w": pd.Series(["a", missing, "b", "a"], dtype=dtype), "n": [1, 2, 3, 4]})
    sequences = as_sequences(frame).X
    assert isinstance(sequences.data, SymbolTable)
    assert columns(sequences)["w"] == ["a", None, "b", "a"]
    assert columns(sequences)["n"] == ["1", "2", "3", "4"]
    assert sequences.lengths.tolist() == [1, 1, 1, 1]


def test_values_that_are_written_alike():
    frame = pd.DataFrame({"w": [1, "1", "True", False]}, dtype=object)
    assert columns(as_sequences(frame).X) == {"w": ["1", "1", "True", "False"]}


def test_names_of_columns_that_are_numbers():
    assert columns(as_sequences(pd.DataFrame({0: ["a"], 1: ["b"]})).X) == {"0": ["a"], "1": ["b"]}


@given(st.data())
def test_rows_in_any_order(data):
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    rows = data.draw(st.permutations([(i, t) for i, n in enumerate(lengths) for t in range(n)]))
    index = pd.MultiIndex.from_tuples(rows)
    words = [f"{i}.{t}" for i, t in rows]
    X = pd.DataFrame({"word": words}, index=index)
    y = pd.Series([10 * i + t for i, t in rows], index=index)
    sequences, labels, mirror = as_sequences(X, y)
    numbers = list(dict.fromkeys(i for i, _ in rows))
    expected = [[f"{i}.{t}" for t in range(lengths[i])] for i in numbers]
    assert [s.column("word").tolist() for s in sequences] == expected
    assert labels.tolist() == [[10 * i + t for t in range(lengths[i])] for i in numbers]
    assert mirror(labels.data).tolist() == y.tolist()
    proba = np.column_stack([labels.data, labels.data])
    assert mirror(proba)[:, 1].tolist() == y.tolist()


def test_an_index_of_three_levels():
    index = pd.MultiIndex.from_tuples([("d", 0, 1), ("d", 1, 0), ("e", 0, 0), ("d", 0, 0)])
    sequences = as_sequences(pd.DataFrame({"n": [1, 2, 3, 0]}, index=index)).X
    assert [s.ravel().tolist() for s in sequences] == [[0, 1], [2], [3]]


@for_each("positions", [[1, 0, 1], ["1", "0", "01"], [1, 0, "1.0"], [1.0, 0.0, True]])
def test_repeated_positions_are_refused(positions):
    frame = indexed(pd.DataFrame({"n": [1, 2, 3]}), [0, 0, 0], pd.Index(positions, dtype=object))
    with pytest.raises(
        ValueError, match="the index of X: row 2 has the sequence and position of row 0"
    ):
        as_sequences(frame)
    assert as_sequences(indexed(pd.DataFrame({"n": [1, 2, 3]}), [0, 0, 1], [1, 0, 1])).X


@for_each("dtype", [object, "str", "string", "category", "int64", "float64", "Int64"])
def test_positions_are_ordered_as_numbers(dtype):
    positions = pd.Series([2, 10, 1, 11]).astype(str)
    if dtype not in (object, "str", "string", "category"):
        positions = positions.astype("int64")
    frame = indexed(pd.DataFrame({"n": [2, 10, 1, 11]}), ["s"] * 4, positions.astype(dtype))
    assert as_sequences(frame).X.data.ravel().tolist() == [1, 2, 10, 11]


@for_each("position", ["a", "1-2", "", "nan", "inf", "1_0", (1,)])
def test_positions_that_are_no_numbers_are_refused(position):
    positions = pd.Index(["0", position, "2"], dtype=object, tupleize_cols=False)
    frame = pd.DataFrame({"n": [1, 2, 3]})
    frame.index = pd.MultiIndex.from_arrays([["s"] * 3, positions])
    with pytest.raises(ValueError, match=r"the index of X: .*in row 1 there is"):
        as_sequences(frame)


def test_positions_may_be_dates():
    days = pd.to_datetime(["2020-01-03", "2020-01-01"])
    frame = indexed(pd.DataFrame({"n": [3, 1]}), ["s", "s"], days)
    assert as_sequences(frame).X.data.ravel().tolist() == [1, 3]


def test_a_missing_part_of_the_name_of_a_sequence_is_found():
    frame = indexed(pd.DataFrame({"n": [1, 2]}), ["a", "a"], [1.0, np.nan], [0, 1])
    with pytest.raises(ValueError, match="missing value in row 1"):
        as_sequences(frame)


@for_each("values", [[1, 2], [1, None]])
@for_each("dtype", ["Int64", "UInt8", "boolean"])
def test_arrays_of_pandas_are_labels_as_their_series_are(values, dtype):
    frame = indexed(pd.DataFrame({"n": [1, 2]}), ["a", "a"], [0, 1])
    labels = pd.array([v if v is None or dtype != "boolean" else v > 1 for v in values], dtype)
    found, expected = (as_sequences(frame, y).y.data for y in (labels, pd.Series(labels)))
    assert (found.tolist(), found.dtype) == (expected.tolist(), expected.dtype)
    assert {*map(type, found.tolist())} <= {int if dtype != "boolean" else bool, type(None)}


def test_series_of_sequences_compare_their_index():
    X = pd.Series([["a", "b"], ["b"], ["c"]])
    y = pd.Series([["A", "B"], ["B"], ["C"]])
    for labels in (y, y.tolist(), y.to_numpy()):
        assert as_sequences(X, labels).y.tolist() == y.tolist()
    assert as_sequences(X.tolist(), y[::-1][::-1]).y.tolist() == y.tolist()
    for other in (y[[0, 2, 1]], y.set_axis([1, 2, 3])):
        with pytest.raises(ValueError, match=r"the index of y differs .*y\.loc\[X\.index\]"):
            as_sequences(X, other)
    weights = pd.Series([1.0, 2.0, 3.0])
    assert token_weights(as_sequences(X), weights).tolist() == [1.0, 1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="the index of sample_weight differs"):
        token_weights(as_sequences(X), weights[[2, 1, 0]])


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        pd.Series,
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.DataFrame({"y": y}),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_are_those_of_the_rows(frame, make):
    for values in (list("vwxyz"), [3, 1, 4, 1, 5]):
        y = make(values)
        assert as_sequences(frame, y).y.data.tolist() == [values[i] for i in [3, 0, 2, 4, 1]]
        plain = frame.reset_index(drop=True)
        assert as_sequences(plain, y).y.data.tolist() == values
        assert as_sequences(np.ones((5, 1)), y).y.data.tolist() == values


def test_labels_in_sequences(frame):
    y = SequenceArray(np.arange(5), [0, 2, 5])
    assert as_sequences(frame, y).y is y
    with pytest.raises(ValueError, match="sequence 0 has 2 tokens in X, but 3 in y"):
        as_sequences(frame, SequenceArray(np.arange(5), [0, 3, 5]))


def test_series(frame):
    sequences, _, mirror = as_sequences(frame["word"])
    assert columns(sequences) == {"word": ["b1", "b2", "a0", "a3", "a5"]}
    assert mirror(np.array([1, 2, 3, 4, 5])).tolist() == [2, 5, 3, 1, 4]
    nameless = frame["word"].rename(None)
    assert as_sequences(nameless).X.data.names == ("token",)
    lists = pd.Series([["a", "b"], ["c"]], index=[5, 7])
    sequences, labels, mirror = as_sequences(lists, lists)
    assert sequences.tolist() == labels.tolist() == mirror(labels.data).tolist() == lists.tolist()
    assert is_table(frame)
    assert is_table(frame["word"])
    assert not is_table(lists)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.iloc[:0], "0 sample"),
        (lambda f: f.iloc[:, :0], "X has no columns"),
        (lambda f: f[["n"]].assign(n=[1, 2, np.nan, 3, 4]), "NaN"),
        (lambda f: f.assign(word=[["a"]] * 5), "X, column 'word': unhashable type"),
        (lambda f: indexed(f, ["a", "a", None, "b", "b"], range(5)), "missing value in row 2"),
        (lambda f: indexed(f, list("aabbb"), [0, 1, 2, None, 3]), "missing value in row 3"),
        (lambda f: f.set_axis(["w", "w"], axis=1), "must differ"),
        (lambda f: f.reset_index(drop=True)["word"], "X, sequence 0: .* is of type str"),
    ],
)
def test_refused_frames(frame, change, message):
    with pytest.raises(ValueError, match=message):
        as_sequences(change(frame))


def test_labels_of_another_length(frame):
    for X in (frame, frame.reset_index(drop=True)):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[5, 4\]"):
            as_sequences(X, [0, 1, 2, 3])


def test_input_is_left_as_it_is(frame):
    before = frame.copy(deep=True)
    as_sequences(frame, frame["n"])
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    "index, first", [([1, 2, 3, 4, 5], "row 0 is 1 in y"), ([9, 1, 2, 3, 4], "row 0 is 9")]
)
def test_values_with_another_index_are_refused(frame, index, first):
    y = pd.Series([*"abcde"], index=index)
    with pytest.raises(ValueError, match=f"the index of y differs from the index of X: {first}"):
        as_sequences(frame, y)
    plain = as_sequences(frame, y.to_numpy()).y
    assert as_sequences(frame, y.set_axis(frame.index)).y == plain


def test_values_in_another_order_are_refused(frame):
    y = pd.Series([*"abcde"], index=frame.index)
    with pytest.raises(ValueError, match=r"row 0 is \('a', 3\) in y and \('b', 2\) in X"):
        as_sequences(frame, y[::-1])
    assert as_sequences(frame, y[::-1].loc[frame.index]).y == as_sequences(frame, y).y


def test_frames_without_an_index_are_refused(frame):
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="X is a polars DataFrame, which has no index"):
        as_sequences(polars.DataFrame({"word": ["a", "b"]}))


def test_groups_of_rows_are_refused():
    groups = pd.DataFrame({"s": [1, 1, 2], "word": ["a", "b", "c"]}).groupby("s")["word"]
    with pytest.raises(ValueError, match=r"X is a SeriesGroupBy: pass X.agg\(list\)"):
        as_sequences(groups)
    assert as_sequences(groups.agg(list)).X.tolist() == [["a", "b"], ["c"]]


def test_a_list_of_frames_of_words():
    frames = [pd.DataFrame({"word": ["a", "b"]}), pd.DataFrame({"word": ["c"]})]
    with pytest.raises(ValueError, match=r"X, sequence 0: .* pandas.concat\(X, keys=range\(len\(X"):
        as_sequences(frames)
    assert as_sequences(pd.concat(frames, keys=range(2))).X.lengths.tolist() == [2, 1]


def test_sparse_columns_are_a_sparse_matrix(frame):
    numbers = pd.DataFrame.sparse.from_spmatrix(
        sp.csr_array([[0, 1], [2, 0], [0, 0], [3, 0], [0, 4]])
    )
    sequences = as_sequences(numbers.set_axis(frame.index)).X
    assert sequences.data.toarray().tolist() == [[3, 0], [0, 1], [0, 0], [0, 4], [2, 0]]
