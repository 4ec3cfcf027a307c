"""What the site makes of pages and docstrings: pictures, code to be copied, and parameters."""

import doctest
import importlib
import inspect
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sklearn_crcrf import CRF

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs a checkout")


@pytest.fixture
def shown(monkeypatch):
    pytest.importorskip("docutils")
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("shown")


def test_what_examples_made_is_shown(shown):
    page = """
>>> from sklearn_crcrf import CRF
>>> crf = CRF().fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
>>> crf.predict("the")
Traceback (most recent call last):
ValueError: ...
"""
    names = dict(shown.NAMES)
    html = shown.show(page, 'TaggedSequence.from_estimator(crf, ["the", "cat"])', names)
    assert "cat" in html and "<style>" in html
    picture = shown.show("", "TransitionDisplay.from_estimator(crf)", names)
    assert picture.startswith("<svg") and "currentColor" in picture
    with pytest.raises(ZeroDivisionError):
        shown.show(">>> 1 / 0\n", "None", names)


def test_pages_show_what_they_talk_about():
    pages = [path for path in DOCS.rglob("*.rst") if ".. shown::" in path.read_text("utf-8")]
    assert len(pages) >= 12
    assert (DOCS / "user_guide" / "inspection.rst").read_text("utf-8").count(".. shown::") >= 8


def test_readme_and_first_page_have_one_example():
    readme = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    page = (DOCS / "index.rst").read_text("utf-8")
    examples = doctest.DocTestParser().get_examples(page)
    assert "".join(e.source for e in examples).split() == readme[1].split()


def test_code_is_copied_without_prompts_and_output():
    if not (node := shutil.which("node")):
        pytest.skip("needs Node")
    script = f"const {{runnable}} = require({str(DOCS / '_static' / 'copy.js')!r});"
    script += """
    const examples = ">>> for x in y:\\n...     z\\n...\\n3\\n";
    const blocks = [examples, "$ ls\\nfile\\n", "pip install x\\n"];
    console.log(JSON.stringify(blocks.map(runnable)));"""
    done = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["for x in y:\n    z\n\n", "ls\n", "pip install x\n"]


def test_parameters_that_are_those_of_another_method_are_written_out(shown):
    written = importlib.import_module("references_to_parameters")
    lines = inspect.getdoc(CRF.partial_fit).split("\n")
    written.write_out(None, "method", "sklearn_crcrf.CRF.partial_fit", CRF.partial_fit, None, lines)
    names = [line.partition(" : ")[0] for line in lines if " : " in line and line[0] != " "]
    assert names == [*inspect.signature(CRF.partial_fit).parameters][1:]
    assert not any("as in" in line for line in lines[: lines.index("Returns")])
