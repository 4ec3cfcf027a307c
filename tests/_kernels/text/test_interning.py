import numpy as np
import pytest
from cases import for_each
from sklearn_crcrf._kernels.text.strings import StringTable, unusual_types


def ids_of(table, tokens, method="add"):
    ids = np.empty(len(tokens), dtype=np.int32)
    assert getattr(table, method)(tokens, ids) == -1
    return ids.tolist()


@for_each("n", [0, 1, 63, 64, 65, 127, 128, 129, 1000, 50_000])
def test_growth_keeps_every_id(n):
    table = StringTable()
    words = [f"w{i}" for i in range(n)]
    assert ids_of(table, words) == list(range(n))
    assert ids_of(table, words[::-1], "lookup") == list(range(n))[::-1]
    assert table.symbols == words


def test_types_of_values_that_are_not_usual_labels():
    usual = [
        "",
        "a",
        "\u4e2d",
        np.str_("b"),
        3,
        -3,
        10**30,
        True,
        0.5,
        np.float64(2),
        (),
        ("a", 1, None),
    ]
    values = np.fromiter(usual * 3, object)
    values.setflags(write=False)
    assert unusual_types(values, -100) == unusual_types(values[::-2], -100) == set()
    assert unusual_types(np.array([], dtype=object), -100) == set()
    for other in None, b"a", float("nan"), np.int64(1), {"a"}, ("a", ("b",)), (1, []), -100, -100.0:
        for place in 0, 17, 35:
            some = values.copy()
            some[place] = other
            assert unusual_types(some, -100) == {type(other)}, (other, place)
    for wrong in values[:4].reshape(2, 2), np.arange(3), [None]:
        with pytest.raises((TypeError, ValueError)):
            unusual_types(wrong, -100)


@for_each("letter", ["a", "\xe9", "\u4e2d", "\U0001f600", "\0"])
def test_every_character_of_a_string_counts(letter):
    for length in [*range(40), 63, 64, 65, 1000]:
        words = [letter * length] if length else [""]
        words += [letter * i + "b" + letter * (length - i - 1) for i in range(length)]
        assert ids_of(StringTable(), words) == list(range(len(words))), length


def test_long_equal_prefixes_and_suffixes():
    words = [f"{'p' * 300}{i}{'s' * 300}" for i in range(3000)]
    table = StringTable()
    assert ids_of(table, words + words) == [*range(3000), *range(3000)]


def test_equal_bytes_of_different_width_are_different_strings():
    narrow, wide = "\x01\x4e", "\u4e01"
    assert narrow.encode("latin-1") == wide.encode("utf-16-le")
    assert ids_of(StringTable(), [narrow, wide, narrow]) == [0, 1, 0]


def test_ids_do_not_depend_on_the_key():
    words = [str(i % 700) for i in range(2000)]
    assert ids_of(StringTable(), words) == ids_of(StringTable(), words)


@pytest.mark.parametrize("method", ["add", "lookup"])
def test_first_invalid_item_is_reported_and_nothing_is_done(method):
    table = StringTable()
    ids = np.full(4, 7, dtype=np.int32)
    assert getattr(table, method)(["a", "b", b"c", None], ids) == 2
    assert table.symbols == []
    assert ids.tolist() == [7, 7, 7, 7]


def test_wrong_number_of_places():
    with pytest.raises(ValueError, match="3 places, but there are 2 tokens"):
        StringTable().add(["a", "b"], np.empty(3, dtype=np.int32))


@for_each("method", ["add_joined", "lookup_joined"])
@for_each("parts", [[], [["a"]], [["a"]] * 3])
def test_wrong_number_of_parts(method, parts):
    codes = np.zeros((2, 4), dtype=np.int32)
    with pytest.raises(ValueError, match="do not fit"):
        getattr(StringTable(), method)("", "", parts, codes, np.empty(4, dtype=np.int32))
