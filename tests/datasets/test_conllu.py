"""Reading treebanks in the format CoNLL-U."""

import gzip
import io
import os
from pathlib import Path

import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import GraphArray
from sklearn_crcrf.datasets import read_conll, read_conllu

TEXT = """# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tV\tMood=Imp\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tE\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tR\t_\t5\tdet\t_\t_
4.1\t_\t_\t_\t_\t_\t_\t_\t_\t_
5\tmar\tmar\tNOUN\tN\t_\t1\tobl:arg\t_\tSpaceAfter=No

# newpar
# text = New York !
1\tNew York\tNew York\tPROPN\tN\t_\t0\troot\t_\t_
2\t!\t!\tPUNCT\tZ\t_\t1\tpunct\t_\t_

"""
FORMS = [["Vamos", "nos", "a", "el", "mar"], ["New York", "!"]]
RELATIONS = [["root", "obj", "case", "det", "obl:arg"], ["root", "punct"]]


def read(text, *args, **options):
    return read_conllu(io.StringIO(text), *args, **options)


def test_words_of_a_treebank():
    X, y = read(TEXT)
    assert [[token["form"] for token in words] for words in X] == FORMS
    assert X[0][4] == {"form": "mar", "upos": "NOUN", "xpos": "N", "head": "1"}
    assert y == RELATIONS


def test_trees_of_a_treebank():
    X, _ = read(TEXT)
    trees = GraphArray.from_heads(X)
    assert trees.parents.tolist() == [-1, 0, 4, 4, 0, -1, 0]
    assert trees.data[6] == {"form": "!", "upos": "PUNCT", "xpos": "Z"}


def test_columns_are_chosen_by_name():
    assert read(TEXT, ["form"], None) == (FORMS, None)
    X, y = read(TEXT, ["misc", "lemma"], "upos")
    assert X[1] == [{"misc": "_", "lemma": "New York"}, {"misc": "_", "lemma": "!"}]
    assert y[1] == ["PROPN", "PUNCT"]


@for_each("end", ["\n", "\r\n"])
@for_each("begin", ["", "\n\n", "# newdoc\n\n\n", "\ufeff"])
def test_blank_lines_comments_and_line_ends_do_not_matter(begin, end):
    text = (begin + TEXT.removesuffix("\n\n")).replace("\n", end)
    for file in (
        io.StringIO(text, newline=""),
        io.BytesIO(text.encode()),
        io.BytesIO(gzip.compress(text.encode())),
    ):
        assert read_conllu(file) == read(TEXT)


@for_each("text", ["", "\n", "# text\n", "1-2\t_\t_\t_\t_\t_\t_\t_\t_\t_\n"])
def test_files_without_words(text):
    assert read(text) == ([], [])
    assert read(text, label=None) == ([], None)


def test_comments_and_empty_nodes_within_a_sentence():
    lines = TEXT.splitlines(keepends=True)
    text = "".join([*lines[:5], "# comment\n", "1.1\tx" + "\t_" * 8 + "\n", *lines[5:]])
    assert read(text) == read(TEXT)


def line(number, word="1", head="0"):
    return "# text\n" * (number - 1) + f"{word}\ta\ta\tX\tX\t_\t{head}\troot\t_\t_\n"


@for_each(
    ("text", "message"),
    [
        (line(3) + "2\ta\n", "line 4 has 2 columns, expected 10"),
        (line(2) + "1-2\ta\n", "line 3 has 2 columns, expected 10"),
        (line(2).replace("\t", " "), "line 2 has 1 columns, expected 10"),
        (line(3, word="2"), "line 3: the id is '2', expected '1'"),
        (line(3, word="x"), "line 3: the id is 'x', expected '1'"),
        (line(3, word="1-"), "line 3: the id is '1-', expected '1'"),
        (line(3) + "# text\n" + line(2), "line 6: the id is '1', expected '2'"),
        (line(2, head="2"), "line 2: the head '2' is neither 0 nor one of 1 words"),
        (line(2, head="_"), "line 2: the head '_' is neither 0 nor one of 1 words"),
        (line(2, head="-1"), "line 2: the head '-1' is neither 0 nor one of 1 words"),
        (line(2, head="1.1"), "line 2: the head '1.1' is neither 0 nor one of 1 words"),
        (TEXT + line(2, head="4"), "line 18: the head '4' is neither 0 nor one of 1 words"),
    ],
)
def test_errors_name_the_line(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_a_head_that_is_not_read_may_be_missing():
    assert read(line(1, head="_"), ["form"], "upos") == ([["a"]], [["X"]])


@for_each(
    ("columns", "label", "message"),
    [
        ("form", "upos", "columns is the single string 'form'"),
        (["form", "tag"], "deprel", "the columns of CoNLL-U are .*, not 'tag'"),
        (["form"], "relation", "not 'relation'"),
        ([], "deprel", "columns must name at least one column"),
        (["form", "form"], "deprel", "each once and not the label"),
        (["form", "deprel"], "deprel", "each once and not the label"),
    ],
)
def test_columns_that_are_wrong(columns, label, message):
    with pytest.raises(ValueError, match=message):
        read(TEXT, columns, label)


def test_limits_and_encodings():
    data = TEXT.encode()
    assert read_conllu(io.BytesIO(data), max_bytes=len(data)) == read(TEXT)
    for file in (io.BytesIO(data), io.BytesIO(gzip.compress(data))):
        with pytest.raises(ValueError, match="more than max_bytes=100 bytes"):
            read_conllu(file, max_bytes=100)
    encoded = TEXT.encode("utf-16")
    assert read_conllu(io.BytesIO(encoded), encoding="utf-16") == read(TEXT)
    with pytest.raises(ValueError, match="line 2 cannot be decoded as utf-8"):
        read_conllu(io.BytesIO(TEXT.encode("latin-1")))
    with pytest.raises(ValueError, match=r"line .*: the compressed data are damaged"):
        read_conllu(io.BytesIO(gzip.compress(data)[:-9]))


forms = st.text(
    st.characters(codec="utf-8", exclude_characters="\t\r\n") | st.sampled_from("# _-."),
    min_size=1,
    max_size=4,
)


@given(st.lists(st.lists(forms, min_size=1, max_size=4), max_size=4), st.randoms())
def test_all_words_and_heads_are_read(sentences, rng):
    heads = [[str(rng.randrange(len(words) + 1)) for _ in words] for words in sentences]
    text = "# text\n"
    for words, numbers in zip(sentences, heads, strict=True):
        for k, (word, head) in enumerate(zip(words, numbers, strict=True), start=1):
            text += f"{k}\t{word}\t_\t{word}\t_\t_\t{head}\t{word}\t_\t_\n"
        text += "\n"
    X, y = read_conllu(io.BytesIO(text.encode()), ["form", "head"], "upos")
    assert y == sentences
    assert [[token["form"] for token in words] for words in X] == sentences
    assert [[token["head"] for token in words] for words in X] == heads


@pytest.mark.data
@pytest.mark.skipif(
    not os.environ.get("SKLEARN_CRCRF_DATA"), reason="SKLEARN_CRCRF_DATA is not set"
)
def test_trees_of_a_tab_separated_treebank():
    path = Path(os.environ["SKLEARN_CRCRF_DATA"]) / "ud-en_ewt-test.tsv.gz"
    X, y = read_conll(path, ["form", "tag", "head", "label"])
    trees = GraphArray.from_heads(X, edge_type="direction")
    assert len(trees) == 2077
    assert trees.is_forest
    assert (trees.parents < 0).sum() == 2077
    relations = [label for words in y for label in words]
    assert all((p < 0) == (r == "root") for p, r in zip(trees.parents, relations, strict=True))
