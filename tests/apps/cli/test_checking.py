"""The command ``check``."""

import pytest
from commands import json_lines, run

from sklearn_crcrf import EmpiricalCRF, find_label_issues
from sklearn_crcrf.datasets import make_addresses, write_conll
from sklearn_crcrf.model_files import save_model


@pytest.fixture
def spoiled(tmp_path):
    """A street that has no label, in line 4 of the fourth address."""
    X, y = make_addresses(60, random_state=0)
    y[3][3:5] = "O", "O"
    path = tmp_path / "addresses.tsv"
    write_conll(path, X, y)
    return path, X, y


def test_wrong_labels_come_first(spoiled, capsys):
    path, X, y = spoiled
    status, out, err = run(capsys, "check", path, "--top", 2)
    assert (status, err) == (0, "")
    issues = find_label_issues(EmpiricalCRF(), X, y)
    heading, _, first, text, *_ = out.splitlines()
    assert heading == f"60 sequences, {sum(map(len, X))} tokens, {len(issues)} issues"
    line = 1 + sum(len(words) + 1 for words in X[:3]) + 3
    assert path.read_text().splitlines()[line - 1].split("\t") == ["Gilaford", "O"]
    assert first == (
        f"1. sequence 3, line {line}: given O, suggested STREET, "
        f"probability {issues.probability[0]:.2g}"
    )
    assert text == "   Room 1 , [Gilaford Road] , Edley , MF8 3JR"
    assert out.count("probability") == 2


def test_a_line_of_json_for_each(spoiled, capsys):
    path, X, y = spoiled
    rows = json_lines(run(capsys, "check", path, "--json")[1])
    issues = find_label_issues(EmpiricalCRF(), X, y)
    assert len(rows) == len(issues) <= 100
    for row, issue in zip(rows, issues, strict=True):
        assert row.pop("tokens") == X[issue.sequence] and row.pop("line") > 0
        assert row == issue._asdict()


def test_another_suggested_segment_is_quoted_and_long_text_is_cut(tmp_path, capsys):
    path = tmp_path / "names.tsv"
    words, labels = ["Ann", "Lee", "is", "here"], ["B-PER", "I-PER", "O", "O"]
    X = [[*words, *["now"] * 20] for _ in range(30)]
    y = [[*labels, *["O"] * 20] for _ in X]
    y[4][1] = "O"
    write_conll(path, X, y)
    out = run(capsys, "check", path, "--top", 1)[1]
    assert 'given PER, suggested PER "Ann Lee"' in out
    assert out.splitlines()[-1] == f"   [Ann] Lee is here{' now' * 5} …"


def test_whole_groups_are_left_out(spoiled, tmp_path, capsys):
    _, X, y = spoiled
    path = tmp_path / "documents.tsv"
    words = [*X, X[3], X[3]]
    groups = [*map(str, range(60)), "3", "3"]
    rows = [[{"word": w, "document": g} for w in s] for s, g in zip(words, groups, strict=True)]
    write_conll(path, rows, [*y, y[3], y[3]])
    argv = ["check", path, "--columns", "word,document,label", "--json"]
    found = json_lines(run(capsys, *argv, "--groups", "document")[1])
    assert {row["sequence"] for row in found[:3]} == {3, 60, 61}
    expected = find_label_issues(EmpiricalCRF(), words, [*y, y[3], y[3]], groups)
    assert [row["probability"] for row in found] == expected.probability.tolist()[:100]
    rows[5][2]["document"] = "x"
    write_conll(path, rows, [*y, y[3], y[3]])
    status, _, err = run(capsys, *argv, "--groups", "document")
    assert status == 2 and "the group is 'x', but the sequence begins with '5'" in err
    line = sum(len(s) + 1 for s in words[:5]) + 3
    assert f"line {line}:" in err


def test_other_columns_remain(three_columns, capsys):
    argv = ["check", three_columns, "--columns", "word,pos,label", "--groups", "pos"]
    status, _, err = run(capsys, *argv)
    assert status == 2 and "the group is" in err
    status, out, _ = run(capsys, "check", three_columns, "--columns", "word,pos,label")
    assert status == 0 and "sequences" in out


def test_a_model_of_other_text(spoiled, tmp_path, capsys):
    path, X, y = spoiled
    model = tmp_path / "model"
    other = EmpiricalCRF().fit(*make_addresses(100, random_state=5))
    save_model(other, model, ["word", "label"])
    found = json_lines(run(capsys, "check", path, "--model", model, "--json")[1])
    issues = find_label_issues(other, X, y, method="given")
    assert [row["probability"] for row in found] == issues.probability.tolist()[:100]
    for more in (["--estimator", "HMM"], ["--groups", "word"]):
        status, _, err = run(capsys, "check", path, "--model", model, *more)
        assert status == 2 and f"--model leaves no use for {more[0]}" in err


def test_any_estimator_and_bare_labels(spoiled, tmp_path, capsys):
    _, X, y = spoiled
    path = tmp_path / "bare.tsv"
    write_conll(path, X, [[label[2:] or label for label in labels] for labels in y])
    assert run(capsys, "check", path, "--estimator", "HMM", "--top", 1)[0] == 0
    tokens = json_lines(run(capsys, "check", path, "--json", "--top", 3)[1])
    assert {row["end"] - row["start"] for row in tokens} == {1}
    (segment,) = json_lines(run(capsys, "check", path, "--json", "--top", 1, "--scheme", "IO")[1])
    assert (segment["start"], segment["end"], segment["suggested"]) == (3, 5, "STREET")


def test_the_format_of_crfsuite(tmp_path, capsys):
    items = tmp_path / "items.txt"
    items.write_text("D\tw=the\nN\tw=dog\n\n" * 12 + "N\tw=the\nN\tw=dog\n\n")
    status, out, _ = run(capsys, "check", items, "--format", "crfsuite", "--top", 1)
    assert status == 0 and "1. sequence 12: given N, suggested D, probability" in out


def test_files_that_cannot_be_checked(tmp_path, capsys):
    path = tmp_path / "words.tsv"
    path.write_text("Ann\nsings\n")
    status, _, err = run(capsys, "check", path)
    assert status == 2 and "there are no labels" in err
    path.write_text("Ann\tN\nsings\tV\n")
    status, _, err = run(capsys, "check", path)
    assert status == 2 and "n_samples=1" in err
    status, _, err = run(capsys, "check", path, "--groups", "document")
    assert status == 2 and "--groups must name one of two or more columns" in err
