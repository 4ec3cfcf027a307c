"""The commands of the documentation, run one after the other, print what is written there."""

import doctest
import io
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sklearn_crcrf.apps.cli import main
from sklearn_crcrf.datasets import make_addresses, write_conll

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "user_guide" / "command_line.rst"
BLOCK = re.compile(r"\.\. code-block:: console\n\n((?:   .*\n|\n)+)")

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not PAGE.exists(), reason="needs a checkout, and a shell"
)


@pytest.fixture
def shell(tmp_path, monkeypatch, capfd):
    """Runs commands; sklearn-crcrf in this process, as it takes seconds to import."""
    monkeypatch.chdir(tmp_path)

    def run(command):
        *before, last = command.split(" | ")
        data = in_bash(" | ".join(before)) if before else b""
        program, *argv = shlex.split(last, comments=True)
        if program != "sklearn-crcrf":
            return in_bash(command).decode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        main(argv)
        out, err = capfd.readouterr()
        return err + out

    return run


def in_bash(command):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "timeout": 300}
    return subprocess.run(["bash", "-c", command], check=True, **options).stdout


def test_the_page_on_the_command_line(shell):
    blocks = [textwrap.dedent(block) for block in BLOCK.findall(PAGE.read_text())]
    steps = [step for block in blocks for step in block.split("$ ")[1:]]
    assert len(steps) > 10
    check, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for step in steps:
        command, _, expected = step.partition("\n")
        found = shell(command)
        assert check.check_output(expected.strip(), found.strip(), flags), (command, found)


def test_the_commands_of_getting_started(shell, tmp_path):
    X, y = make_addresses(100, random_state=0)
    write_conll(tmp_path / "train.txt", X, y)
    (tmp_path / "words.txt").write_text("Ann\nsings\n", encoding="utf-8")
    page = (ROOT / "docs" / "getting_started.rst").read_text(encoding="utf-8")
    section = page.split("On the command line\n")[1]
    block = section.split(".. code-block:: sh\n\n")[1].split("\n\n")[0]
    (tmp_path / "letter.txt").write_text("Ann Lee, 5 Church Road", encoding="utf-8")
    evaluate, train, tag, find = textwrap.dedent(block).split("\n")
    assert "accuracy" in shell(evaluate)
    assert shell(train) == ""
    assert [line.split("\t")[0] for line in shell(tag).split("\n")] == ["Ann", "sings", "", ""]
    assert "STREET" in shell(find)
