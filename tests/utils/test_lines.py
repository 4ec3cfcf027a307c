"""One notion of line, byte order mark and blank line for all readers of text."""

import io
from pathlib import Path

import pytest

from sklearn_crcrf.apps.annotation import Pool
from sklearn_crcrf.datasets import read_conll, read_conllu, read_crfsuite_items
from sklearn_crcrf.estimators.semi_markov import SegmentGazetteer
from sklearn_crcrf.feature_extraction.template_syntax import parse_templates
from sklearn_crcrf.out_of_core import write_corpus
from sklearn_crcrf.utils.lines import lines_of

NO_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\u00a0"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_ends_of_lines(end):
    assert lines_of(end.join(["\ufeffa", " \t", "b", ""])) == ["a", "", "b", ""]


@pytest.mark.parametrize("character", NO_ENDS)
def test_other_characters_end_no_line(character):
    word = f"a{character}b"
    assert lines_of(f"{word}\n{character}") == [word, character]
    assert read_conll(io.StringIO(f"{word} X\n"))[0] == [[word]]
    assert read_crfsuite_items(io.StringIO(f"X\t{word}\n"))[0] == [[{word: 1.0}]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_all_readers_agree(end, tmp_path):
    def text(*lines):
        return ("\ufeff" + end.join(lines)).encode()

    X, y = [["a"], ["b"]], [["X"], ["Y"]]
    assert read_conll(io.BytesIO(text("a X", " ", "b Y"))) == (X, y)
    assert read_crfsuite_items(io.BytesIO(text("X\ta", " \t", "Y\tb")))[1] == y
    word = ["1", "a", "_", "X", *"______"]
    sentence = "\t".join(word), " ", "\t".join(["1", "b", "_", "Y", *"______"])
    assert read_conllu(io.BytesIO(text(*sentence)), ["form"], "upos") == (X, y)
    (tmp_path / "text").write_bytes(text("a X", "\t", "b Y", " "))
    corpus = write_corpus([tmp_path / "text"], tmp_path / "corpus", lines_per_part=1)
    assert [labels for _, part in corpus for labels in part.tolist()] == y
    assert len(parse_templates(text("U0:%x[0,0]", " ", "B").decode(), "crf++")) == 2
    (tmp_path / "list").write_bytes(text("New York", " ", "Rom\x0c"))
    lists = SegmentGazetteer({"city": Path(tmp_path / "list")}).fit([["New", "York"]]).phrases_
    assert lists[0].n_runs == 2
    assert Pool.of_lines(lines_of(text("a b", " ", "b\u2028c").decode())).sentences == [
        ["a", "b"],
        ["b", "c"],
    ]
