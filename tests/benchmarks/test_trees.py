"""The benchmarks of trees."""

import io

import pytest


@pytest.fixture
def treebank(load):
    """Ten times two sentences; in the first one, "cat" and "dog" depend on "saw"."""
    trees = load("_trees")
    first = [("A", "DET", "2", "det"), ("cat", "NOUN", "3", "nsubj"), ("saw", "VERB", "0", "root")]
    first += [("the", "DET", "5", "det"), ("dog", "NOUN", "3", "obj")]
    second = [("Dogs", "NOUN", "2", "nsubj:pass"), ("sleep", "VERB", "0", "root")]
    lines = ["\n".join("\t".join(word) for word in words) for words in (first, second)]
    text = "\n\n".join(lines * 10)
    return trees.Treebank.read(io.StringIO(text))


def test_words_of_a_treebank_know_their_trees(treebank):
    first = treebank.words[0]
    assert treebank.parents[:2] == [[1, 2, -1, 4, 2], [1, -1]]
    assert treebank.y[1] == ["nsubj", "root"]
    assert first[1] == {
        "form": "cat",
        "tag": "NOUN",
        "lower": "cat",
        "ending": "cat",
        "head_form": "saw",
        "head_tag": "VERB",
        "side": "after",
        "distance": "1",
        "children": "DET",
        "sibling_before": "NONE",
        "sibling_after": "NOUN",
    }
    assert [word["side"] for word in first] == ["after", "after", "root", "after", "before"]
    assert [word["sibling_before"] for word in first] == ["NONE"] * 4 + ["NOUN"]
    assert (first[2]["head_form"], first[2]["head_tag"]) == ("root", "ROOT")
    assert [treebank.linked(name).data.tolist() for name in ("chain", "tree")] == [
        [word for words in treebank.words for word in words]
    ] * 2


def test_heads_with_a_relation_twice_are_counted(treebank):
    pair = treebank.take(2)
    twice = [["det", "obj", "root", "det", "obj"], ["nsubj", "root"]]
    assert [pair.n_broken(y, ["nsubj", "obj"]) for y in (pair.y, twice)] == [0, 1]
    assert pair.n_broken(twice, ["det", "root", "nsubj"]) == 0


def test_tables_of_trees(load, treebank, monkeypatch, capsys):
    trees = load("trees")
    monkeypatch.setattr(trees.Treebank, "load", lambda part, n=None: treebank)
    trees.main(["--quick", "--runs", "1"])
    printed = capsys.readouterr().out
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line[:1] == "|"]
    relations = [row for row in rows if row[1] in trees.STRUCTURES]
    assert len(relations) == 12
    assert all(0 <= float(cell) <= 100 for row in relations for cell in row[5:7])
    constraints = [row for row in rows if row[2] in ("free", "at most one")]
    assert [row[5] for row in constraints if row[2] == "at most one"] == ["0"] * 4
    assert "The gold labels of 0 sentences" in printed
    speeds = [row for row in rows if row[0] in ("3", "4")]
    assert [int(row[1]) for row in speeds] == [19, 35, 70] * 2
