import subprocess
import sys

import joblib
import pytest

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.__main__ import main
from sklearn_crcrf.datasets import make_addresses, read_conll, write_conll


@pytest.fixture
def corpus(tmp_path):
    X, y = make_addresses(120, random_state=1)
    path = tmp_path / "addresses.tsv"
    write_conll(path, X, y)
    return path, X, y


@pytest.fixture
def three_columns(tmp_path):
    X = [[{"word": w, "pos": "U" if w[:1].isupper() else "L"} for w in x] for x in (SENTENCES * 5)]
    path = tmp_path / "chunks.tsv"
    write_conll(path, X, [LABELS[len(x)] for x in X])
    return path


SENTENCES = [["Ann", "sings"], ["the", "Dogs", "bark"], ["Rex", "barks"]]
LABELS = {2: ["B-NP", "O"], 3: ["B-NP", "I-NP", "O"]}


def run(capsys, *argv):
    status = main([str(a) for a in argv])
    return status, *capsys.readouterr()


def test_the_demonstration_reports_accuracy_time_a_line_and_what_to_do_next(capsys):
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    assert "3,000 lines" in out and "17 labels" in out
    assert "2,000 sequences" in out and "1,000 sequences" in out
    for what, lowest in [("all", 95), ("known", 95), ("unknown", 90)]:
        line = next(x for x in out.splitlines() if x.startswith(f"accuracy, {what} tokens"))
        assert lowest < float(line.split()[3]) < 100
    assert "F1 of segments" in out and "B-STREET" in out
    assert "python -m sklearn_crcrf evaluate TRAIN [TEST]" in out


def test_the_demonstration_puts_each_label_below_its_token(capsys):
    _, out, _ = run(capsys)
    lines = out.split("never seen in training):\n\n")[1].splitlines()
    tokens, labels = lines[0], lines[1]
    starts = [i for i in range(1, len(tokens)) if tokens[i] != " " and tokens[i - 1] == " "]
    assert starts == [i for i in range(1, len(labels)) if labels[i] != " " == labels[i - 1]]
    assert all(len(line) <= 80 for line in out.splitlines()[:-9])


def test_python_m_runs_it():
    done = subprocess.run([sys.executable, "-m", "sklearn_crcrf", "--help"], capture_output=True)
    assert done.returncode == 0
    assert done.stdout.startswith(b"usage: sklearn-crcrf")


def test_evaluate_holds_out_a_fifth(corpus, capsys):
    path, X, _ = corpus
    status, out, _ = run(capsys, "evaluate", path)
    assert status == 0
    sizes = [line.split() for line in out.splitlines() if "sequences," in line]
    assert [(s[-7] if "trained" in s else s[1]) for s in sizes] == ["96", "24"]
    assert sum(int(s[s.index("tokens") - 1].replace(",", "")) for s in sizes) == sum(map(len, X))
    assert "F1 of segments" in out


def test_evaluate_on_the_training_data_knows_all_tokens(corpus, capsys):
    path, X, y = corpus
    status, out, _ = run(capsys, "evaluate", path, path)
    assert status == 0
    assert "accuracy, unknown tokens        -   (0 tokens)" in out
    accuracy = EmpiricalCRF().fit(X, y).score(X, y)
    assert f"accuracy, all tokens       {100 * accuracy:6.2f} %" in out


def test_fitted_exponents_are_asked_for_by_an_option(corpus, tmp_path, capsys):
    path, X, y = corpus
    model = tmp_path / "model"
    assert run(capsys, "train", path, model, "--fit-exponents") == (0, "", "")
    assert joblib.load(model).exponents_ == EmpiricalCRF(exponents="fit").fit(X, y).exponents_


def test_train_then_tag(corpus, tmp_path, capsys):
    path, X, y = corpus
    model, words = tmp_path / "model.joblib", tmp_path / "words.txt"
    write_conll(words, X[:10])
    assert run(capsys, "train", path, model) == (0, "", "")
    status, out, err = run(capsys, "tag", model, words)
    assert (status, err) == (0, "")
    tagged = tmp_path / "tagged.tsv"
    tagged.write_text(out, encoding="utf-8")
    expected = EmpiricalCRF().fit(X, y).predict(X[:10]).tolist()
    assert read_conll(tagged) == (X[:10], expected)


def test_tag_reads_the_columns_of_training(three_columns, tmp_path, capsys):
    model, words = tmp_path / "model.joblib", tmp_path / "words.txt"
    run(capsys, "train", three_columns, model, "--columns", "word,pos,label")
    words.write_text("Ann U\nbarks L\n")
    assert run(capsys, "tag", model, words) == (0, "Ann\tU\tB-NP\nbarks\tL\tO\n\n", "")
    status, out, err = run(capsys, "tag", model, three_columns)
    assert status == 2 and out == ""
    assert "expected 2" in err and "(word, pos; see --columns)" in err
    status, out, _ = run(capsys, "tag", model, three_columns, "--columns", "word,pos,label")
    assert status == 0 and out == three_columns.read_text()


def test_columns_can_be_left_out(three_columns, tmp_path, capsys):
    model = tmp_path / "model.joblib"
    assert run(capsys, "train", three_columns, model, "--columns", "word,_,label")[0] == 0
    assert joblib.load(model).predict([["Ann", "barks"]]).tolist() == [["B-NP", "O"]]


def test_labels_that_are_no_segments_have_no_f1(three_columns, capsys):
    status, out, _ = run(capsys, "evaluate", three_columns, "--columns", "word,label,_")
    assert status == 0
    assert "accuracy" in out and "F1" not in out


def test_tagging_nothing_writes_nothing(corpus, tmp_path, capsys):
    model, empty = tmp_path / "model.joblib", tmp_path / "empty.txt"
    run(capsys, "train", corpus[0], model)
    empty.write_text("\n\n")
    assert run(capsys, "tag", model, empty) == (0, "", "")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["evaluate", "absent.tsv"], "absent.tsv"),
        (["evaluate", "words.txt"], "there are no labels"),
        (["evaluate", "empty.txt"], "there are no tokens"),
        (["evaluate", "ragged.txt"], "ragged.txt: line 2 has 3 columns, expected 2"),
        (["train", "words.txt", "model", "--columns", "label"], "besides 'label'"),
        (["tag", "absent.joblib", "words.txt"], "absent.joblib"),
        (["tag", "words.txt", "words.txt"], "words.txt cannot be loaded"),
        (["tag", "list.joblib", "words.txt"], "holds a list, not an EmpiricalCRF"),
    ],
)
def test_errors_are_one_line_and_status_2(argv, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("Ann\nsings\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "ragged.txt").write_text("Ann N\nsings V x\n")
    joblib.dump([], tmp_path / "list.joblib")
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "")
    assert err.startswith("sklearn-crcrf: error: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("argv", [["evaluate"], ["train", "x"], ["nonsense"]])
def test_wrong_arguments_show_the_usage(argv, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(argv)
    assert "usage: sklearn-crcrf" in capsys.readouterr().err
