import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from sklearn_crcrf.feature_extraction import Gazetteer, SequenceVectorizer
from sklearn_crcrf.feature_extraction.lookups import leftmost


def marks(lists, X, **params):
    table = Gazetteer(lists, **params).fit_transform(X).data
    return {name: table.column(name).tolist() for name in table.names}


def marked_one_by_one(phrases, sequence):
    found, t = [None] * len(sequence), 0
    while t < len(sequence):
        lengths = [len(p) for p in phrases if p and sequence[t : t + len(p)] == p]
        if lengths:
            found[t : t + max(lengths)] = ["B"] + ["I"] * (max(lengths) - 1)
        t += max(lengths, default=1)
    return found


tokens = st.lists(st.sampled_from("abc"), max_size=8)


@given(
    st.lists(st.lists(st.sampled_from("abd"), max_size=4), max_size=6),
    st.lists(tokens, max_size=4),
)
def test_phrases_are_marked_as_if_one_looked_token_by_token(phrases, X):
    expected = [mark for sequence in X for mark in marked_one_by_one(phrases, sequence)]
    assert marks({"x": phrases}, X) == {"x": expected}


def test_an_unknown_token_continues_no_phrase():
    lists = {"x": ["a b", "b a"]}
    assert marks(lists, [["b", "unknown"], ["b", "a"]]) == {"x": [None, None, "B", "I"]}


@given(st.lists(st.integers(0, 4), max_size=30))
def test_leftmost(lengths):
    expected, t = [], 0
    while t < len(lengths):
        if lengths[t]:
            expected.append(t)
        t += max(lengths[t], 1)
    assert leftmost(np.array(lengths, dtype=np.int64)).tolist() == expected


def test_long_runs_of_overlapping_matches():
    lengths = np.full(100_001, 2)
    assert np.array_equal(leftmost(lengths), np.arange(0, 100_001, 2))


def test_the_longest_phrase_counts_and_lists_are_apart():
    lists = {"city": ["New York", "York", "New York City"], "team": ["York City", ""]}
    X = [["New", "York", "City"], ["York", "City"], ["New"], ["York"]]
    assert marks(lists, X) == {
        "city": ["B", "I", "I", "B", None, None, "B"],
        "team": [None, "B", "I", "B", "I", None, None],
    }


def test_phrases_do_not_cross_sequences():
    assert marks({"x": ["a b"]}, [["a"], ["b"], ["a", "b"]]) == {"x": [None, None, "B", "I"]}


def test_case_and_tokens_with_spaces():
    X = [["STRASSE", "in", "new", "york"]]
    lists = {"a": ["Straße"], "b": [["In", "New"], ("x y",)]}
    assert marks(lists, X) == {"a": [None] * 4, "b": [None] * 4}
    assert marks(lists, X, ignore_case=True) == {
        "a": ["B", None, None, None],
        "b": [None, "B", "I", None],
    }
    assert marks({"a": [["x y"]]}, [["x y"], ["x", "y"]]) == {"a": ["B", None, None]}


def test_a_named_column_and_missing_tokens():
    X = [[{"t": "a", "w": "b"}, {"t": "b"}, {"w": "b"}]]
    assert marks({"x": ["b"]}, X, column="w") == {"x": ["B", None, "B"]}
    assert marks({"x": ["a b"]}, X, column="t") == {"x": ["B", "I", None]}
    with pytest.raises(ValueError, match="no column 'v'"):
        Gazetteer({}, column="v").fit(X)


def test_attributes():
    X = Gazetteer({"x": ["a b"], "y": []}).fit_transform([["a", "b", "c"]])
    vectorizer = SequenceVectorizer()
    assert vectorizer.fit_transform(X).data.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    assert vectorizer.get_feature_names_out().tolist() == ["x=B", "x=I"]


def test_no_lists_and_no_tokens():
    assert Gazetteer({}).fit_transform([["a"]]).data.shape == (1, 0)
    assert Gazetteer({"x": ["a"]}).fit_transform([[], []]).data.shape == (0, 1)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (["a"], "lists must be a dict"),
        ({"x": "a b"}, r"lists\['x'\] is the single string"),
        ({"x": [["a", 1]]}, r"lists\['x'\]: the tokens of \['a', 1\] must be str"),
    ],
)
@pytest.mark.parametrize("ignore_case", [False, True])
def test_wrong_lists(lists, message, ignore_case):
    with pytest.raises(ValueError, match=message):
        Gazetteer(lists, ignore_case).fit([["a"]])


def test_not_fitted():
    with pytest.raises(NotFittedError):
        Gazetteer({"x": ["a"]}).transform([["a"]])
