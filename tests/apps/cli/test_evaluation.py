"""The command ``evaluate``."""

import json

from commands import json_lines, run

from sklearn_crcrf import EmpiricalCRF


def test_evaluate_holds_out_a_fifth(corpus, capsys):
    path, X, _ = corpus
    status, out, _ = run(capsys, "evaluate", path)
    assert status == 0
    sizes = [line.split() for line in out.splitlines() if "sequences," in line]
    assert [(s[-7] if "trained" in s else s[1]) for s in sizes] == ["32", "8"]
    assert sum(int(s[s.index("tokens") - 1].replace(",", "")) for s in sizes) == sum(map(len, X))
    assert "F1 of segments" in out and "STREET" in out


def test_evaluate_on_the_training_data_knows_all_tokens(corpus, capsys):
    path, X, y = corpus
    status, out, _ = run(capsys, "evaluate", path, path)
    assert status == 0
    assert "accuracy, unknown tokens        -   (0 tokens)" in out
    accuracy = EmpiricalCRF().fit(X, y).score(X, y)
    assert f"accuracy, all tokens       {100 * accuracy:6.2f} %" in out


def test_evaluate_a_model(corpus, model, capsys):
    path, X, y = corpus
    status, out, err = run(capsys, "evaluate", path, "--model", model, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["accuracy"]["all"] == EmpiricalCRF().fit(X, y).score(X, y)
    assert (found["accuracy"]["unknown"], found["unknown_tokens"]) == (None, 0)
    assert found["segments"]["STREET"]["f1-score"] > 0.9
    for more in ([path], ["--estimator", "CRF"]):
        status, out, err = run(capsys, "evaluate", path, *more, "--model", model)
        assert status == 2 and "--model leaves no use for" in err


def test_a_model_is_evaluated_on_the_files_of_a_folder(corpus, model, tmp_path, capsys):
    text = corpus[0].read_text()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / "parts" / name).write_text(text)
    (tmp_path / "twice.txt").write_text(f"{text.rstrip()}\n\n{text}")
    parts, twice = (
        run(capsys, "evaluate", tmp_path / path, "--model", model, "--json")
        for path in ("parts", "twice.txt")
    )
    assert parts[0] == 0 and parts == twice


def test_the_f1_of_segments_that_overlap(tmp_path, capsys):
    (tmp_path / "train.txt").write_text("Ann B-X\nLee I-X\nsings O\n")
    (tmp_path / "test.txt").write_text("Ann B-X\nLee O\nsings O\n")
    argv = "evaluate", tmp_path / "train.txt", tmp_path / "test.txt"
    assert "F1, if overlaps are right  100.00 %" in run(capsys, *argv)[1]
    found = json.loads(run(capsys, *argv, "--json")[1])
    assert (found["overlapping_f1"], found["segments"]["micro avg"]["f1-score"]) == (1.0, 0.0)


def test_evaluate_tells_which_words_any_estimator_knows(corpus, capsys):
    argv = ["--estimator", "HMM", "--json"]
    found = json.loads(run(capsys, "evaluate", corpus[0], *argv)[1])
    assert found["unknown_tokens"] > 0
    assert 0 < found["accuracy"]["unknown"] < found["accuracy"]["known"] < 1


def test_labels_that_are_no_segments_have_no_f1(three_columns, capsys):
    status, out, _ = run(capsys, "evaluate", three_columns, "--columns", "word,label,_")
    assert status == 0
    assert "accuracy" in out and "F1" not in out
    status, out, _ = run(
        capsys, "evaluate", three_columns, "--columns", "word,label,_", "--scheme", "IO"
    )
    assert status == 0 and "F1 of segments" in out


def test_what_was_tagged_can_be_evaluated(three_columns, tmp_path, capsys):
    model, tagged = tmp_path / "model", tmp_path / "tagged.txt"
    argv = ["--columns", "word,_,label"]
    assert run(capsys, "train", three_columns, "--model", model, *argv)[0] == 0
    assert run(capsys, "tag", three_columns, "--model", model, "--output", tagged)[0] == 0
    for file in (tagged, three_columns):
        status, out, err = run(capsys, "evaluate", file, "--model", model, "--json")
        assert (status, err) == (0, "") and json.loads(out)["accuracy"]["all"] == 1.0
    tagged.write_text("Ann\nbarks\n")
    status, _, err = run(capsys, "evaluate", tagged, "--model", model)
    assert status == 2 and "expected 3: 'Ann' (word, _, label; see --columns)" in err


def test_labels_first_as_crfsuite_has_them(tmp_path, three_columns, capsys):
    items, model = tmp_path / "items.txt", tmp_path / "model"
    items.write_text("D\tw=the\tn:0.5\nN\tw=dog\n\nN\tw=dogs\nV\tw\\:x\n")
    crfsuite = ["--format", "crfsuite"]
    assert run(capsys, "train", items, "-m", model, *crfsuite, "--set", "c2=0.01") == (0, "", "")
    assert run(capsys, "tag", items, "-m", model) == (0, "D\nN\n\nN\nV\n\n", "")
    assert run(capsys, "tag", items, "-m", model, "--keep-label")[1].startswith("D\tD\nN\tN\n\n")
    out = run(capsys, "tag", items, "-m", model, "--json")[1]
    assert json_lines(out)[0]["tokens"] == [{"w=the": 1.0, "n": 0.5}, {"w=dog": 1.0}]
    assert run(capsys, "tag", items, three_columns, "-m", model, "-o", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "items.txt").read_text() == "D\nN\n\nN\nV\n\n"
    out = run(capsys, "evaluate", items, "-m", model, "--json", *crfsuite)[1]
    assert json.loads(out)["accuracy"]["all"] == 1.0
    assert run(capsys, "evaluate", items, items, "--json", *crfsuite)[0] == 0
    for argv, message in (
        (["tag", items, "-m", model, "--columns", "word,label"], "not both"),
        (["train", items, "-m", model, *crfsuite, "--template", "x"], "--template needs columns"),
        (
            ["train", items, "-m", model, *crfsuite, "--out-of-core", "--estimator", "CRF"],
            "--out-of-core needs columns",
        ),
    ):
        status, _, err = run(capsys, *argv)
        assert (status, err.count("\n")) == (2, 1) and message in err
