"""Campaigns of files make the same files each time, and see what goes wrong with them."""

import contextlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from sklearn_crcrf import HMM, CRFsuiteCRF
from sklearn_crcrf.datasets import read_conll

FOLDER = Path(__file__).parents[2] / "campaigns"
STORED = """
import hashlib
from pathlib import Path
from random import Random
import _campaign
import _files
from _models import make
from sklearn_crcrf import CRFsuiteCRF, EmpiricalCRF
kinds, y = _files.examples(3)
found = [*_files._corpora()]
for public, kind in ((EmpiricalCRF, "words"), (CRFsuiteCRF, "dicts")):
    found += _files._files_of(kind, make(public).fit(kinds[kind], y), kinds[kind])
for it in found:
    changed = [_files.damaged(Random(seed), it.parts) for seed in range(3)]
    print(it.format, it.name, hashlib.sha256(repr([it.parts, changed]).encode()).hexdigest())
"""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_files_are_made_and_changed_the_same_way_in_every_process(load, tmp_path, capsys):
    path = os.pathsep.join([str(FOLDER), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "1"}
    (tmp_path / "other").mkdir()
    options = {"stdout": subprocess.PIPE, "text": True, "env": environment}
    options["cwd"] = tmp_path / "other"
    with subprocess.Popen([sys.executable, "-c", STORED], **options) as other:
        load("_files")
        with contextlib.chdir(tmp_path):
            exec(STORED, {})
        found = capsys.readouterr().out
        assert other.communicate(timeout=300)[0] == found
    assert len(found.splitlines()) == 9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_change_of_a_part_has_the_right_checksums(load, tmp_path):
    files, formats = load("_files"), load("_formats").FORMATS
    kinds, y = files.examples(3)
    with contextlib.chdir(tmp_path):
        made = [*files._corpora()]
        for public, kind in ((HMM, "words"), (CRFsuiteCRF, "dicts")):
            made += files._files_of(kind, files.make(public).fit(kinds[kind], y), kinds[kind])
    assert {it.format for it in made} == formats.keys()
    for it in made:
        for number, name in enumerate(name for name, data in it.parts.items() if len(data) > 300):
            path = tmp_path / f"{it.format} {it.name} {number}"
            changed = it.parts[name][:-100] + bytes(100)
            formats[it.format].make({**it.parts, name: changed}, path)
            try:
                files.READERS[it.format](Random(0), path, it.X)
            except (ValueError, load("_campaign").Wrong) as error:
                assert "checksum" not in str(error), name
                assert "must have" not in str(error) or "bytes" not in str(error), name


@pytest.mark.parametrize("module", ["_conll", "_templates", "_dumps"])
def test_the_same_chance_makes_the_same_file(load, module):
    mutated = load(module).mutated
    made = [mutated(Random(seed)) for seed in range(300)]
    assert made == [mutated(Random(seed)) for seed in range(300)]
    assert len(set(made)) > 200


@pytest.mark.parametrize("module, name", [("_templates", "transform"), ("_dumps", "read_and_ask")])
def test_files_are_neither_all_refused_nor_all_taken(load, module, name):
    one, taken = getattr(load(module), name), 0
    for seed in range(300):
        try:
            one(Random(seed), seed)
        except ValueError:
            continue
        taken += 1
    assert 50 < taken < 250


def test_a_reader_that_loses_something_is_found(load, monkeypatch):
    conll, wrong = load("_conll"), load("_campaign").Wrong

    def reads(*arguments, **options):
        X, y = read_conll(*arguments, **options)
        return [x[1:] or x for x in X], y

    monkeypatch.setattr(conll, "read_conll", reads)
    with pytest.raises(wrong, match=r"differ in length|changes it"):
        for seed in range(100):
            try:
                conll.read(Random(seed), seed)
            except ValueError:
                continue


@pytest.mark.parametrize(
    "action",
    [
        lambda path: Path(path).write_text("written"),
        lambda path: os.mkdir(path),
        lambda path: os.system(f"touch {path}"),
        lambda path: subprocess.Popen(["touch", path]),
        lambda path: pickle.loads(pickle.dumps(os.system)),
        lambda path: eval("1 + 1"),
    ],
)
def test_what_a_model_file_may_not_do_is_prevented_and_told(load, tmp_path, action):
    guard, wrong = load("_guard"), load("_campaign").Wrong
    with pytest.raises(wrong, match="a model file caused"), guard.guarded():
        try:
            action(str(tmp_path / "written"))
        except PermissionError:
            raise ValueError("as load_model would")  # noqa: B904
    assert not (tmp_path / "written").exists()
    with guard.guarded(str(tmp_path)):
        (tmp_path / "written").write_text("allowed")
    assert os.system("true") == 0  # no longer


@pytest.mark.parametrize(
    "status, errors, what",
    [
        (1, "sklearn-crcrf: error: IndexError: index 9", "status 1 of tag: IndexError"),
        (2, "Traceback (most recent call last):", "traceback of tag"),
        (2, "", "no message of tag"),
        (-11, "", "status -11 of tag"),
    ],
)
def test_commands_that_fail_badly_are_found(load, status, errors, what):
    commands = load("_commands")
    assert commands._judge(["tag"], None, "") == "status 0"
    assert commands._judge(["tag"], 2, "sklearn-crcrf: error: this is bad") == "status 2"
    with pytest.raises(load("_campaign").Wrong, match=what):
        commands._judge(["tag"], status, errors)
