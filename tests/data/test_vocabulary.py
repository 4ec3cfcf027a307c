import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.data.vocabulary import InvalidTokenError, JoinedStrings, Vocabulary

any_text = st.text(st.characters(), max_size=40)  # surrogates and NUL included


@given(st.lists(any_text | st.sampled_from(["", "\0", "\0\0", "\ud800", "a"])), st.lists(any_text))
def test_agrees_with_a_dict(known, others):
    reference = {}
    expected = [reference.setdefault(token, len(reference)) for token in known]
    vocabulary = Vocabulary()
    ids = vocabulary.add(known)
    assert ids.dtype == np.int32
    assert ids.tolist() == expected
    assert vocabulary.symbols == list(reference)
    found = vocabulary.lookup(known + others)
    assert found.tolist() == [reference.get(token, -1) for token in known + others]
    assert len(vocabulary) == len(reference)


@given(st.lists(st.lists(any_text, max_size=5), max_size=5))
def test_adding_in_pieces_is_adding_at_once(pieces):
    in_pieces, at_once = Vocabulary(), Vocabulary()
    ids = [i for piece in pieces for i in in_pieces.add(piece).tolist()]
    assert ids == at_once.add([token for piece in pieces for token in piece]).tolist()
    assert in_pieces == at_once


def test_many_random_tokens():
    rng = np.random.default_rng(0)
    tokens = [str(i) for i in rng.integers(0, 60_000, size=200_000)]
    reference = {}
    expected = [reference.setdefault(token, len(reference)) for token in tokens]
    assert np.array_equal(Vocabulary().add(tokens), expected)


@for_each(
    "tokens",
    [
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array(["b", "-", "a", "-", "b"], dtype=object)[::2],
        [np.str_("b"), "a", np.str_("b")],
        ("b", "a", "b"),
        iter("bab"),
    ],
)
def test_kinds_of_input(tokens):
    vocabulary = Vocabulary()
    assert vocabulary.add(tokens).tolist() == [0, 1, 0]
    assert [type(symbol) for symbol in vocabulary.symbols] == [str, str]


@for_each(
    ("token", "described"),
    [
        (None, "None"),
        (float("nan"), "nan"),
        (np.nan, "nan"),
        (3, "of type int"),
        (1.5, "of type float"),
        (b"a", "of type bytes"),
        ({}, "of type dict"),
    ],
)
@for_each("method", ["add", "lookup"])
def test_invalid_token(token, described, method):
    vocabulary = Vocabulary(["x"])
    with pytest.raises(InvalidTokenError, match=rf"tokens\[1\] must be a str, but is {described}"):
        getattr(vocabulary, method)(["new", token, None])
    assert vocabulary.symbols == ["x"]
    assert vocabulary.add(["other", "x"]).tolist() == [1, 0]


def test_invalid_token_error_is_a_value_error_and_pickles():
    error = pickle.loads(pickle.dumps(InvalidTokenError(4, None)))
    assert isinstance(error, ValueError)
    assert (error.index, error.token) == (4, None)
    assert str(error) == "tokens[4] must be a str, but is None"


@pytest.mark.parametrize("tokens", [np.array([["a"]]), "abc"])
def test_not_a_list_of_tokens(tokens):
    with pytest.raises(ValueError, match="tokens must be"):
        Vocabulary().add(tokens)


def test_symbols_and_copy_are_independent():
    vocabulary = Vocabulary(["a", "b", "a"])
    assert vocabulary.symbols == ["a", "b"]
    vocabulary.symbols.append("c")
    extended = vocabulary.copy()
    extended.add(["d"])
    assert vocabulary.symbols == ["a", "b"]
    assert extended.symbols == ["a", "b", "d"]
    assert vocabulary != extended
    assert vocabulary == Vocabulary(["a", "b"])
    assert vocabulary != ["a", "b"]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_round_trip(again):
    vocabulary = Vocabulary(["b", "\ud800", "", "a"])
    restored = again(vocabulary)
    assert restored == vocabulary
    assert restored.lookup(["a", "b", "c"]).tolist() == [3, 0, -1]
    restored.add(["c"])
    assert len(vocabulary) == 4


def test_skops():
    skops = pytest.importorskip("skops.io")
    dumped = skops.dumps(Vocabulary(["b", "a"]))
    trusted = skops.get_untrusted_types(data=dumped)
    assert all(name.startswith("sklearn_crcrf.") for name in trusted)
    restored = skops.loads(dumped, trusted=trusted)
    assert restored.lookup(["a", "x"]).tolist() == [1, -1]


def test_threads_look_up_at_once():
    words = [str(i) for i in range(20_000)]
    vocabulary = Vocabulary(words)
    expected = vocabulary.lookup(words)
    with ThreadPoolExecutor(4) as pool:
        for ids in pool.map(lambda _: vocabulary.lookup([w + "" for w in words]), range(16)):
            assert np.array_equal(ids, expected)


combinations = st.lists(st.lists(any_text, min_size=1), min_size=1, max_size=4).flatmap(
    lambda parts: st.tuples(
        st.just(parts),
        st.lists(st.tuples(*(st.integers(0, len(part) - 1) for part in parts)), max_size=100),
    )
)


@given(combinations, any_text, any_text)
def test_joined_strings_are_as_the_strings(drawn, separator, prefix):
    parts, rows = drawn
    codes = np.array(rows, dtype=np.int32).reshape(-1, len(parts)).T
    joined = JoinedStrings(parts, codes, separator, prefix)
    strings = [
        prefix + separator.join(part[c] for part, c in zip(parts, row, strict=True)) for row in rows
    ]
    assert joined.tolist() == np.asarray(joined).tolist() == strings
    assert joined[::-1].tolist() == strings[::-1]
    assert joined.with_prefix("p").tolist() == ["p" + s for s in strings]
    one, other = Vocabulary(strings[:3]), Vocabulary(strings[:3])
    assert one.lookup(joined).tolist() == one.lookup(strings).tolist()
    assert one.add(joined).tolist() == other.add(strings).tolist()
    assert one == other
    assert one.lookup(strings).tolist() == one.lookup(joined).tolist()


def test_many_joined_strings():
    rng = np.random.default_rng(0)
    words = [str(i) * (i % 9) for i in range(999)] + ["\xe9" * 5, "\u4e2d", "\U0001f600"]
    joined = JoinedStrings([words, words], rng.integers(0, len(words), (2, 20_000)), separator="|")
    assert np.array_equal(Vocabulary().add(joined), Vocabulary().add(joined.tolist()))


@for_each(
    ("parts", "codes", "message"),
    [
        ([["a"]], [[0], [0]], "do not fit 1 parts"),
        ([["a"]], [0], "do not fit 1 parts"),
        ([], np.empty((0, 2)), "do not fit 0 parts"),
        ([["a"], ["b"]], [[0], [1]], "out of range"),
        ([["a"]], [[-1]], "out of range"),
        ([[]], [[0]], "out of range"),
    ],
)
def test_codes_that_do_not_fit(parts, codes, message):
    with pytest.raises(ValueError, match=message):
        JoinedStrings(parts, codes)
