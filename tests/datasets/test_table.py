"""Tables with a header, as tokens of all their columns."""

import gzip
import io

import pytest

from sklearn_crcrf import CRF
from sklearn_crcrf.datasets import read_table

KAGGLE = """Sentence #,Word,POS,Tag
Sentence: 1,Ann,NNP,B-PER
,sings,VBZ,O
Sentence: 2,"a,b",NN,O
"""


def test_all_other_columns_are_what_is_observed():
    X, y, groups = read_table(io.StringIO(KAGGLE))
    assert X == [
        [{"Word": "Ann", "POS": "NNP"}, {"Word": "sings", "POS": "VBZ"}],
        [{"Word": "a,b", "POS": "NN"}],
    ]
    assert (y, groups) == ([["B-PER", "O"], ["O"]], None)
    assert CRF().fit(X, y).predict(X).tolist() == y
    assert read_table(io.BytesIO(gzip.compress(KAGGLE.encode())))[0] == X


def test_documents_are_groups_and_positions_order_words():
    table = "doc;sent id;position;token;lemma\na;1;2;sings;sing\na;1;1;Ann;Ann\nb;1;1;Go;go\n"
    X, y, groups = read_table(io.StringIO(table))
    assert [[token["lemma"] for token in tokens] for tokens in X] == [["Ann", "sing"], ["go"]]
    assert (y, groups) == (None, ["a", "b"])
    tabs = table.replace(";", "\t")
    assert read_table(io.StringIO(tabs), sep="tab") == (X, y, groups)


def test_documents_end_sentences():
    table = "document,word,tag\na,Ann,N\n,sings,V\nb,Go,V\n\nb,Stop,V\na,Bob,N\n"
    X, y, groups = read_table(io.StringIO(table))
    assert X == [["Ann", "sings"], ["Go"], ["Stop"], ["Bob"]]
    assert (y, groups) == ([["N", "V"], ["V"], ["V"], ["N"]], ["a", "b", "b", "a"])


def test_words_alone_are_strings():
    X, y, groups = read_table(io.StringIO("word\ttag\nAnn\tN\n\nGo\tV\n"))
    assert (X, y, groups) == ([["Ann"], ["Go"]], [["N"], ["V"]], None)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("Ann,N\n", "there is no header with a column such as 'Word'"),
        ("", "there is no header"),
        ("Word,Tag\nAnn\n", "line 2 has 1 columns, expected 2, Word, Tag"),
        ("Word,POS,POS,Tag\nAnn,N,NNP,O\n", "the header has two columns that are called 'POS'"),
        ("Word,Tag,label\nAnn,N,O\n", "the header has two columns that are called 'label'"),
        ("Sentence #,Text,Tag\n1,Ann,N\n", "no column is called 'Word', only 'Sentence #,Text"),
    ],
)
def test_what_is_no_table(table, message):
    with pytest.raises(ValueError, match=message):
        read_table(io.StringIO(table))
    with pytest.raises(ValueError, match="sep must be"):
        read_table(io.StringIO(table), sep="space")


def test_a_second_column_of_labels_is_an_attribute_with_a_warning():
    table = "Word,Tag,NER\nAnn,NNP,B-PER\n"
    with pytest.warns(UserWarning, match="the label is in the column 'Tag', and 'NER' is read as"):
        X, y, _ = read_table(io.StringIO(table))
    assert (X, y) == ([[{"Word": "Ann", "NER": "B-PER"}]], [["NNP"]])
