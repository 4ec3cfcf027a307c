"""Which lines are tokens, and what separates their columns."""

import io

import pytest
from cases import for_each

from sklearn_crcrf.datasets import read_conll
from sklearn_crcrf.datasets.columns import SPACES, TABS, Reading
from sklearn_crcrf.utils.lines import lines_of


def rows(text, **how):
    found = Reading(**how).rows(lines_of(text))
    return found, [token.split(found.character) for token in found.tokens]


@for_each(
    ("text", "sep", "fields"),
    [
        ("New York\tB\nLos Angeles\tB\n", TABS, [["New York", "B"], ["Los Angeles", "B"]]),
        ("New York\tB\nis O\n", SPACES, [["New", "York", "B"], ["is", "O"]]),
        ("a b\t\tX\nlonger\tY\n", TABS, [["a b", "X"], ["longer", "Y"]]),
        ("a\t\tX\nb\tc\tY\n", TABS, [["a", "", "X"], ["b", "c", "Y"]]),
        ("a\tX\t\nb\tY\n", TABS, [["a", "X"], ["b", "Y"]]),
        ("\ta X\n\tb Y\n", SPACES, [["a", "X"], ["b", "Y"]]),
        (" \tX\n", TABS, [[" ", "X"]]),
        ("# no tab\na b\tX\n", TABS, [["# no tab"], ["a b", "X"]]),
        ("a\nb\n", SPACES, [["a"], ["b"]]),
        ("", SPACES, []),
    ],
)
def test_a_tab_in_every_line_means_tabs(text, sep, fields):
    found, split = rows(text)
    assert (found.sep, split) == (sep, fields)


def test_spaces_around_columns_between_tabs_are_left_out():
    text = io.StringIO("New York \t B\n\n \tO\n")
    assert read_conll(text) == ([["New York"], [" "]], [["B"], ["O"]])


def test_separators_by_name():
    text = "New York\tB\nis O\n"
    assert read_conll(io.StringIO("a b\tX\n"), sep="space")[1] == [["X"]]
    for sep, message in (("tab", "line 2 has 1 columns"), ("space", "line 2 has 2 columns")):
        with pytest.raises(ValueError, match=message):
            read_conll(io.StringIO(text), sep=sep)
    with pytest.raises(ValueError, match="line 2 has nothing in the column 'label'"):
        read_conll(io.StringIO("a\tb\tX\na\tb\t\nc\td\tX\n"))
    with pytest.raises(ValueError, match="line 2 has nothing in the column 'word'"):
        read_conll(io.StringIO("a\tb\tX\n\tb\tY\nc\td\tX\n"), sep="tab")


def test_comments_are_left_out_by_their_beginning():
    text = "# a\nthe D\n#x\ndog N\n% a b c\n\n-DOCSTART- O\n"
    X, y = read_conll(io.StringIO(text), comment=("#", "%"))
    assert (X, y) == ([["the", "dog"], ["-DOCSTART-"]], [["D", "N"], ["O"]])
    assert read_conll(io.StringIO("#\ta\nb c\tD\n"), comment="#") == ([["b c"]], [["D"]])
    with pytest.raises(ValueError, match="line 3 has 1 columns, expected 2"):
        read_conll(io.StringIO("# a\nthe D\ndog\n"), comment="#")
    with pytest.raises(ValueError, match="comment must be"):
        read_conll(io.StringIO(text), comment=["#", ""])


@for_each(
    ("text", "kept"),
    [
        ("# one\na X\n\n# two\nb Y\n", ["a X", "b Y"]),
        ("# id = 1\n# text\na X\n", ["a X"]),
        ("#\n# one\na X\n", ["a X"]),
        ("# X\na X\n\n# one\nb Y\n", ["a X", "b Y"]),
        ("# X\na X\n# Y\n\nb Y\n", ["# X", "a X", "# Y", "b Y"]),
        ("a X\n# one\nb Y\n", ["a X", "# one", "b Y"]),
        ("#tag X\na X\n", ["#tag X", "a X"]),
        ("#\na\n", ["#", "a"]),
        ("# X\n", ["# X"]),
    ],
)
def test_comments_are_known_by_their_looks(text, kept):
    assert rows(text, comment=None)[0].tokens == kept


def test_what_never_is_a_token_is_left_out():
    found, _ = rows("-DOCSTART- -X- O\na b X\nc d X\n-DOCSTART-\ne f X\n", conventions=True)
    assert found.tokens == ["a b X", "c d X", "e f X"] and found.bounds == [0, 2, 3]
    assert found.number(2) == 5
    rest = "\t_" * 8
    text = f"1-2\tdu{rest}\n1\tde{rest}\n2\tle{rest}\n2.1\tx{rest}\n"
    found, split = rows(text, conventions=True)
    assert [row[1] for row in split] == ["de", "le"] and found.bounds == [0, 2]
    found, split = rows(text.replace("2.1", "x"), conventions=True)
    assert len(split) == 4
