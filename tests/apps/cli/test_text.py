"""How commands read text in columns: separators, comments, labels, encodings, folders."""

import numpy as np
import pytest
from commands import run

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.model_files import load_model, save_model


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def trained(write, tmp_path, capsys):
    """Train on texts, and return the model and what was written."""

    def trained(*texts, options=()):
        files = [write(f"train{number}", text) for number, text in enumerate(texts)]
        done = run(capsys, "train", *files, "-m", tmp_path / "model", *options)
        return tmp_path / "model", done

    return trained


TAGS = "the D\ndog N\nbarks V\n\na D\ncat N\n"


@pytest.mark.parametrize("text", [TAGS, TAGS.replace(" ", "\t")])
@pytest.mark.parametrize("is_tagger", [False, True])
def test_a_second_word_is_no_label(text, is_tagger, trained, write, tmp_path, capsys):
    model, _ = trained(text)
    if is_tagger:
        load_model(model).estimator.tagger().save(model)
    words = write("words", "the D\n\ndog barks\n")
    status, out, err = run(capsys, "tag", words, "-m", model)
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert "line 3: 'barks' is not among the labels of the model, 'D', 'N', 'V'" in err
    assert "one token per line" in err and "--columns word,_" in err and "--sep tab" in err
    status, out, err = run(capsys, "tag", words, words, "-m", model, "-o", tmp_path / "out")
    assert status == 2
    assert run(capsys, "tag", words, "-m", model, "--columns", "word,_")[0] == 0
    assert run(capsys, "tag", words, "-m", model, "--sep", "tab")[1].startswith("the D\t")
    status, out, err = run(capsys, "tag", words, "-m", model, "--keep-label")
    assert status == 0 and "dog\tbarks\t" in out and "warning" in err and "'barks'" in err
    words = write("words", "the _\ndog _\n")
    assert run(capsys, "tag", words, "-m", model) == (0, "the\tD\ndog\tN\n\n", "")
    words = write("words", "the old dog\n")
    assert "one token per line" in run(capsys, "tag", words, "-m", model)[2] or is_tagger


def test_labels_that_the_model_does_not_know_are_named(trained, write, capsys):
    model, _ = trained("EU B-ORG\nrejects O\n\nParis B-LOC\n")
    gold = write("gold", "EU ORG\nrejects o\n\nParis B-LOC\n")
    status, out, err = run(capsys, "evaluate", gold, "-m", model)
    assert status == 0 and "accuracy" in out
    assert "the model does not know the labels 'ORG', 'o' of 2 of 3 tokens" in err
    train = write("train", "EU B-ORG\nrejects O\n")
    assert "does not know the labels 'ORG', 'o'" in run(capsys, "evaluate", train, gold)[2]
    items = write("items", "D\tw=the\nN\tw=dog\n")
    run(capsys, "train", items, "-m", model, "--format", "crfsuite")
    other = write("items", "X\tw=the\n")
    for command in ("tag", "evaluate"):
        status, _, err = run(capsys, command, other, "-m", model)
        assert status == 0 and "does not know the labels 'X'" in err


def test_gold_labels_to_annotate_are_compared_with_the_model(trained, write, capsys, monkeypatch):
    model, _ = trained(TAGS)
    monkeypatch.setattr("sklearn_crcrf.apps.cli._listening.listen", lambda *args, **options: None)
    gold = write("gold.tsv", "New York\tDT\nis\tV\n")
    status, out, err = run(capsys, "annotate", "--gold", gold, "--model", model)
    assert status == 0 and "does not know the labels 'DT'; it knows 'D', 'N', 'V'" in err
    assert "1 sentences" in out


A = "New York\tB-LOC\nis\tO\n\nLos Angeles\tB-LOC\nbig\tO\n"
B = "\ufeffNew York\tB-LOC\r\nLos Angeles\tB-LOC\r\n\r\nBig Deal\tO\r\nhello world\tO\r\n"


@pytest.mark.parametrize("options", [(), ("--out-of-core",), ("--compact",)])
@pytest.mark.parametrize("texts", [(A,), (B,), (A, B)])
def test_words_with_spaces(options, texts, trained, write, capsys):
    model, done = trained(*texts, options=options)
    assert done == (0, "", "")
    stored = load_model(model)
    assert stored == (stored.estimator, ["word", "label"]) and stored.separator == "tab"
    words = write("words", "New York\n")
    assert run(capsys, "tag", words, "-m", model) == (0, "New York\tB-LOC\n\n", "")
    words = write("words", "big O\n\nbig O\n")  # no tab: labels after spaces
    assert run(capsys, "tag", words, "-m", model) == (0, "big\tO\n\nbig\tO\n\n", "")
    assert run(capsys, "evaluate", words, "-m", model)[0] == 0
    for text in texts:
        status, out, err = run(capsys, "tag", write("words", text), "-m", model, "--keep-label")
        assert (status, err) == (0, "") and out.startswith("New York\tB-LOC\tB-LOC\n")


def test_a_separator_is_remembered_if_it_was_given(trained, write, capsys):
    words = write("words", "New York\n")
    model, _ = trained(TAGS.replace(" ", "\t"))
    assert "--sep tab" in run(capsys, "tag", words, "-m", model)[2]
    model, _ = trained(TAGS.replace(" ", "\t"), options=["--sep", "tab"])
    assert run(capsys, "tag", words, "-m", model)[1].startswith("New York\t")
    model, _ = trained(TAGS.replace(" ", ","), options=["--sep", ","])
    words = write("words", "New York,D\n")
    assert run(capsys, "tag", words, "-m", model)[1].startswith("New York\t")
    for sep in ("xx", ""):
        with pytest.raises(SystemExit, match="2"):
            run(capsys, "train", words, "-m", model, "--sep", sep)
    assert "one character other than a line end, got ''" in capsys.readouterr().err


def test_no_separator_is_remembered_where_files_have_different_ones(trained):
    model, _ = trained(A, "big O\n")
    assert load_model(model).separator is None


@pytest.mark.parametrize("options", [(), ("--out-of-core",)])
def test_columns_that_change_say_what_to_type(options, trained):
    _, (status, _, err) = trained("New York\tC\nis O\n", options=options)
    assert status == 2 and "line 2 has 2 columns, expected 3: 'is O'" in err
    assert options or "separated by spaces and tabs, see --sep and --comment" in err


DRUGS = "-DOCSTART- -X- O\nPink -X- _ B-Drug\nBears -X- _ I-Drug\n\nBlue -X- _ B-Drug\n"
GERMEVAL = "#\thttp://x [2009]\n1\tAufgrund\tO\tO\n2\tParis\tB-LOC\tO\n\n"
CONLLU = (
    "# sent_id = 1\n# text = Dogs bark\n1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tDogs\tdog\tN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tV\tVBP\t_\t0\troot\t_\t_\n"
)
COLUMNS = "_,word,_,label,_,_,_,_,_,_"


@pytest.mark.parametrize("more", [(), ("--out-of-core",)])
@pytest.mark.parametrize(
    "text, options, n_tokens, labels",
    [
        (DRUGS, (), 3, ["B-Drug", "I-Drug"]),
        (GERMEVAL, ("--columns", "_,word,label,_"), 2, ["B-LOC", "O"]),
        (CONLLU, (), 2, ["N", "V"]),
        (CONLLU, ("--columns", COLUMNS), 2, ["N", "V"]),
        (CONLLU, ("--format", "conllu"), 2, ["N", "V"]),
        (CONLLU, ("--format", "conllu", "--columns", COLUMNS[2:] + ",_"), 2, ["Dogs", "bark"]),
        ("# one\nParis B\nis O\n\n# two\nRom B\nist O\n", (), 4, ["B", "O"]),
        ("%x\nParis B\nis O\n", ("--comment", "%"), 2, ["B", "O"]),
        ("%x\n#y\nParis B\nis O\n", ("--comment", "%", "--comment=#"), 2, ["B", "O"]),
        ("-DOCSTART- O\n\nParis B\n# B\n", ("--comment", ""), 3, ["B", "O"]),
    ],
)
def test_lines_that_are_no_tokens(text, options, more, n_tokens, labels, trained, capsys):
    if options == ("--format", "conllu", "--columns", COLUMNS[2:] + ",_"):
        options = (*options[:3], "_,label,word,_,_,_,_,_,_,_")
    model, (status, _, err) = trained(text, options=(*options, *more))
    assert status == 0, err
    assert load_model(model).estimator.classes_.tolist() == labels
    comment = [option for option in options if "comment" in option or option in ("%", "")]
    out = run(capsys, "evaluate", model.parent / "train0", "-m", model, *comment)[1]
    assert f" {n_tokens} tokens" in out
    told = [line for line in err.splitlines() if "left out as comments" in line]
    assert len(told) == (text.startswith("#") and text != CONLLU)


def test_marks_of_documents_are_kept_for_a_model_that_needs_them(write, tmp_path, capsys):
    from sklearn.pipeline import make_pipeline

    from sklearn_crcrf import CRF
    from sklearn_crcrf.feature_extraction import FoundLabels

    X, y = [["-DOCSTART-"], ["a", "b"], ["b"]] * 6, [["O"], ["A", "B"], ["B"]] * 6
    found = FoundLabels(CRF(tol=0.1), cv=2)
    save_model(make_pipeline(found, CRF(tol=0.1)).fit(X, y), tmp_path / "m", ["word", "label"])
    words = write("words", "-DOCSTART-\n\na\nb\n")
    assert run(capsys, "tag", words, "-m", tmp_path / "m")[1].startswith("-DOCSTART-\tO\n")


def test_hidden_files_and_folders_in_a_folder(write, tmp_path, capsys):
    folder = write("text/a", TAGS).parent
    write("text/.DS_Store", b"\0\1")
    (folder / ".git").mkdir()
    train = "train", folder, "-m", tmp_path / "model"
    assert run(capsys, *train) == (0, "", "")
    (folder / "more").mkdir()
    status, _, err = run(capsys, *train)
    assert status == 0 and "not read are the folders in it, more" in err
    (folder / "a").unlink()
    status, _, err = run(capsys, *train)
    assert status == 2 and "no files in this folder, only more" in err


def test_files_without_tokens(write, tmp_path, capsys):
    files = [write("empty", ""), write("full", TAGS), write("blank", " \n\t\n")]
    status, _, err = run(capsys, "train", *files, "-m", tmp_path / "model")
    assert status == 0 and err.count("there are no tokens") == 2
    for options in ((), ("--out-of-core",)):
        argv = "train", files[0], files[2], "-m", tmp_path / "model", *options
        status, _, err = run(capsys, *argv)
        assert status == 2 and "there are no tokens" in err


@pytest.mark.parametrize("options", [(), ("--out-of-core",)])
def test_other_encodings_are_told(options, trained, write, capsys):
    message = "line 3 cannot be decoded as utf-8"
    assert message in trained(b"the D\n\nStra\xdfe N\n", options=options)[1][2]
    message = "train0: line 1 holds a NUL character"
    assert message in trained(TAGS.encode("utf-16-le"), options=options)[1][2]
    options = ("--encoding", "utf-16-le", *options)
    assert trained(TAGS.encode("utf-16-le"), options=options)[1] == (0, "", "")


def test_a_form_feed_is_no_space(trained):
    model, done = trained("\x0cthe D\nx\x0cy N\n")
    assert done == (0, "", "") and load_model(model).columns == ["word", "label"]


@pytest.mark.parametrize("options", [(), ("--out-of-core",)])
def test_swapped_columns_are_suspected(options, trained):
    rng = np.random.default_rng(0)
    text = "".join(f"{'ABC'[rng.integers(3)]} w{i % 60}\n" for i in range(120))
    how = ["--estimator", "HMM", *options]
    _, (status, _, err) = trained(text, options=how)
    assert status == 0 and "there are 60 different labels" in err and "--columns label,word" in err
    assert trained(text, options=[*how, "--columns", "label,word"])[1] == (0, "", "")
    text = "".join(f"A w{i}\n" for i in range(10_001))
    _, (status, _, err) = trained(text, options=how)
    assert status == 2 and "10,001 different labels" in err and "--columns label,word" in err


def test_a_stored_separator_must_be_text(tmp_path):
    crf = EmpiricalCRF().fit([["a"]], [["A"]])
    for compact in (False, True):
        save_model(crf, tmp_path / "m", ["word"], separator=3, compact=compact)
        with pytest.raises(ValueError, match="separator"):
            load_model(tmp_path / "m")
