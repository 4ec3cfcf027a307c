"""The programs for the files of other tools, on files of the same layout."""

import importlib.util
from pathlib import Path

import pytest

import sklearn_crcrf

FOLDER = Path(sklearn_crcrf.__file__).parents[1] / "examples" / "from_other_tools"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs the folder of examples")

TEXT = "The DT B\ndog NN I\nbarks VBZ O\n\nDogs NNS B\nbark VBP O\n\n"


def program(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_examples_of_crfpp(tmp_path, capsys):
    text = TEXT.encode() * 3
    for name in ("basenp", "chunking", "seg", "JapaneseNE"):
        (tmp_path / name).mkdir()
        for file, content in (("train.data", text), ("test.data", text)):
            (tmp_path / name / file).write_bytes(content)
        (tmp_path / name / "template").write_text("U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB\n")
        (tmp_path / f"{name}.out").write_text(TEXT.replace("O\n", "O\tO\n") * 3)
    program("crfpp").main(tmp_path, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and all("accuracy 1.0000  0 of 15 labels differ" in x for x in lines)


def test_examples_of_wapiti(tmp_path, capsys):
    for prefix, patterns in (
        ("", "*1:%x[0,0]\n"),
        ("np", "u:%x[0,0]\n*\n"),
        ("ch", "u:%x[0,0]\nb\n"),
    ):
        (tmp_path / f"{prefix}pattern.txt").write_text(patterns)
        for kind in ("train", "test"):
            (tmp_path / f"{prefix}{kind}.txt").write_text(TEXT * 3)
    program("wapiti").main(tmp_path, "20")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all(" 0 of 15 labels wrong" in line for line in lines)


def test_the_tutorial_of_crfsuite(tmp_path, capsys):
    path = tmp_path / "text"
    path.write_text(TEXT.replace(" B\n", " B-NP\n").replace(" I\n", " I-NP\n") * 3)
    program("crfsuite").main(path, path, "4")
    out = capsys.readouterr().out
    assert "CRFsuiteCRF()                      accuracy 1.0000  F1 100.00" in out
    if importlib.util.find_spec("pycrfsuite"):
        assert "0 labels differ" in out and "0 labels of 15 differ" in out
