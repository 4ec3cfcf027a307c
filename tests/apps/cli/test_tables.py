"""Tables with a header, and documents of columns."""

import json

import pytest
from commands import run

from sklearn_crcrf.model_files import load_model

KAGGLE = """Sentence #,Word,POS,Tag
Sentence: 1,London,NNP,B-geo
,"a, b",NN,O
,sleeps,VBZ,O
Sentence: 2,Rex,NNP,B-per
,barks,VBZ,O
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_table_like_kaggle_s(write, tmp_path, capsys):
    path, model = write(KAGGLE), tmp_path / "model"
    assert run(capsys, "train", path, "-m", model) == (0, "", "")
    assert load_model(model).columns == ["Word", "POS", "label"]
    tagged = "London\tNNP\tB-geo\na, b\tNN\tO\nsleeps\tVBZ\tO\n\nRex\tNNP\tB-per\nbarks\tVBZ\tO\n\n"
    assert run(capsys, "tag", path, "-m", model) == (0, tagged, "")
    other = write("POS\tWord\tSentence\nNNP\tLondon\t1\n", "other.tsv")
    assert run(capsys, "tag", other, "-m", model) == (0, "NNP\tLondon\tB-geo\n\n", "")
    status, out, err = run(capsys, "evaluate", path, "-m", model, "--json")
    assert (status, json.loads(out)["sequences"], err) == (0, 2, "")
    lacking = write("Word,Sentence\nLondon,1\n", "lacking.csv")
    status, _, err = run(capsys, "tag", lacking, "-m", model)
    assert status == 2 and "there is no column 'POS'" in err


def test_a_model_of_a_table_reads_words_without_a_header(write, tmp_path, capsys):
    model = tmp_path / "model"
    run(capsys, "train", write("Sentence #,Word,Tag\n1,Ann,B\n,Lee,I\n"), "-m", model)
    assert run(capsys, "tag", write("Ann\n", "a.txt"), "-m", model) == (0, "Ann\tB\n\n", "")
    # The first word is no number of a sentence.
    status, out, err = run(capsys, "tag", write("Ann Lee\n", "b.txt"), "-m", model)
    assert (status, out) == (2, "") and "say --text if this is text as it stands" in err
    status, out, err = run(capsys, "tag", write("Ann Lee sings\n", "c.txt"), "-m", model)
    assert (status, out) == (2, "") and "say --text if this is text as it stands" in err


def test_a_model_of_several_tables_is_that_of_one(write, tmp_path, capsys):
    paths = [write(KAGGLE), write(KAGGLE.replace("London", "Paris"), "more.csv")]
    models = tmp_path / "one", tmp_path / "several"
    words = write("London NNP\n\nbarks VBZ\n", "words.txt")
    outputs = []
    for model, files in zip(models, ([paths[0]], paths), strict=True):
        assert run(capsys, "train", *files, "-m", model) == (0, "", "")
        outputs.append(run(capsys, "tag", words, "-m", model))
    assert [load_model(model).columns for model in models] == [["Word", "POS", "label"]] * 2
    assert outputs == [(0, "London\tNNP\tB-geo\n\nbarks\tVBZ\tO\n\n", "")] * 2


def test_several_tables_are_evaluated_on_another(write, tmp_path, capsys):
    (tmp_path / "train").mkdir()
    for name in "ab":
        write(KAGGLE, f"train/{name}.csv")
    status, out, err = run(capsys, "evaluate", str(tmp_path / "train"), write(KAGGLE, "test.csv"))
    assert (status, err) == (0, "") and "accuracy, all tokens       100.00 %" in out


def test_a_table_of_texts_and_spans(write, tmp_path, capsys):
    rows = '1,"Ann sings, in Rome.","[[0, 3, ""PER""], [14, 18, ""LOC""]]"\n2,Bob sings.,[]\n'
    path, model = write(f"id,text,spans\n{rows}"), tmp_path / "model"
    assert run(capsys, "train", path, "-m", model) == (0, "", "")
    expected = [["0", "3", "PER", "Ann"], ["14", "18", "LOC", "Rome"]]
    status, out, err = run(capsys, "tag", path, "-m", model)
    found = [line.split("\t") for line in out.splitlines()[1:]]
    assert (status, err) == (0, "") and [[*it[1:4], it[5]] for it in found] == expected
    status, out, _ = run(capsys, "convert", path, "-o", "jsonl")
    assert status == 0 and [len(json.loads(line)["spans"]) for line in out.splitlines()] == [2, 0]


def test_columns_of_one_name_are_named_anew(write, tmp_path, capsys):
    path, model = write("Word,POS,POS,Tag\nEU,N,NNP,B-ORG\nruns,V,VBZ,O\n"), tmp_path / "model"
    status, _, err = run(capsys, "train", path, "-m", model)
    assert status == 2 and "must differ" in err
    named = ("--columns", "word,_,pos,label")
    assert run(capsys, "train", path, "-m", model, *named) == (0, "", "")


def test_words_have_one_name(write, tmp_path, capsys):
    model = tmp_path / "model"
    run(capsys, "train", write("London\tB-geo\nsleeps\tO\n", "a.tsv"), "-m", model)
    table = write("Sentence #,Token,Tag\n1,London,B-geo\n")
    assert run(capsys, "tag", table, "-m", model) == (0, "London\tB-geo\n\n", "")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("EU,NNP,B-ORG\nrejects,VBZ,O\n", "type --sep ',' --columns _,word,label"),
        ("x;EU;B-ORG\nx;a b;O\n", "line 2 has 2 columns, expected 1: .* type --sep ';' --columns"),
        ("Sentence #,Word,Tag\n1,a\n", "table.csv: line 2 has 2 columns, expected 3, Sentence #"),
    ],
)
def test_messages_say_what_to_type(text, hint, write, tmp_path, capsys):
    status, _, err = run(capsys, "train", write(text), "-m", tmp_path / "model")
    assert status == 2
    pattern = hint.partition(": .* ")
    assert all(part in err for part in (pattern[0], pattern[2]))


def test_what_is_typed_works(write, tmp_path, capsys):
    path = write("EU,NNP,B-ORG\nrejects,VBZ,O\n")
    more = ["--sep", ",", "--columns", "word,_,label"]
    assert run(capsys, "train", path, "-m", tmp_path / "model", *more)[0] == 0
    assert run(capsys, "train", path, "-m", tmp_path / "model", "--format", "csv")[0] == 0


def test_numbered_words(write, tmp_path, capsys):
    path = write("#\thttp://x [2009]\n1\tIn\tO\tO\n2\tParis\tB-LOC\tO\n\n", "ge.tsv")
    status, _, err = run(capsys, "train", path, "-m", tmp_path / "model")
    assert status == 0 and "--columns _,word,label,_ names others" in err
    assert load_model(tmp_path / "model").estimator.classes_.tolist() == ["B-LOC", "O"]


@pytest.mark.parametrize("mark", ["-DOCSTART- ({}) O\n\n", "# newdoc id = {}\n"])
@pytest.mark.filterwarnings("ignore:.*left out as comments")
def test_whole_documents_are_held_out(mark, write, capsys):
    text = "".join(
        mark.format(i) + "\n\n".join(["Ann B-P\nsings O"] * 3) + "\n\n" for i in range(10)
    )
    status, out, err = run(capsys, "evaluate", write(text, "a.txt"))
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0].split() == ["held", "out", "2", "of", "10", "documents"]
    assert "6 sequences" in lines[2]


def test_a_column_of_groups_is_held_out(write, capsys):
    text = "".join(f"Ann\td{i}\tB-P\nsings\td{i}\tO\n\n" * 2 for i in range(5))
    status, out, _ = run(capsys, "evaluate", write(text), "--groups", "column_2")
    assert status == 0
    assert "held out         1 of 5 documents" in out


def test_a_folder_of_columns_is_evaluated_by_file(tmp_path, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    for i in range(5):
        (folder / f"{i}.tsv").write_text("Ann\tB-P\nsings\tO\n\nBob\tB-P\n")
    status, out, err = run(capsys, "evaluate", folder)
    assert (status, err) == (0, "")
    assert "held out         1 of 5 documents" in out
    assert run(capsys, "check", folder)[0] == 0


def test_another_encoding_is_suggested(write, tmp_path, capsys):
    path = tmp_path / "latin.csv"
    path.write_bytes("Sentence #,Word,Tag\n1,Genève,B-geo\n".encode("latin-1"))
    status, _, err = run(capsys, "train", path, "-m", tmp_path / "m")
    assert status == 2 and "line 2 cannot be decoded as utf-8" in err and "latin-1" in err
    assert run(capsys, "train", path, "-m", tmp_path / "m", "--encoding", "latin-1")[0] == 0
