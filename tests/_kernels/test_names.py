"""Names and arguments of the kernels, and their README.

A name stands for one function in all kernels: a reader need not ask which one is meant. Arguments
that belong together are one object: a reader need not count them.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

import sklearn_crcrf

FOLDER = Path(sklearn_crcrf.__file__).parent / "_kernels"
SOURCES = [path for path in FOLDER.glob("**/*") if path.suffix in {".pyx", ".pxi", ".pxd"}]
# From the first column to the end of the line that ends the arguments.
FUNCTION = re.compile(
    r"^c?p?def (?:[\w* ]+ \**)?(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\)[^\n]*:$", re.M
)
MOST_ARGUMENTS = 12
# The names and arguments of functions and methods, and of functions in C.
NESTED = r"((?:[^()]|\([^()]*\))*)"
CYTHON = re.compile(rf"^ *c?p?def (?:inline )?(?:[\w* ]+ \**)?(\w+)\({NESTED}\)[^\n]*:$", re.M)
C = re.compile(rf"^[\w* ]*?(\w+|NAME\(\w+\))\({NESTED}\)\s*\{{", re.M)


@pytest.mark.skipif(not SOURCES, reason="needs the sources of the kernels")
def test_no_two_functions_have_one_name():
    names = Counter(
        name for path in SOURCES for name in FUNCTION.findall(path.read_text(encoding="utf-8"))
    )
    assert {"sum_forward", "max_forward", "viterbi", "give_turn", "edges_of"} <= names.keys()
    assert [name for name, n in names.items() if n > 1] == []


@pytest.mark.skipif(not SOURCES, reason="needs the sources of the kernels")
def test_no_function_has_many_arguments():
    found = Counter()
    for path in [*SOURCES, *FOLDER.glob("**/*.h")]:
        text = re.sub(r"#.*|\\$", "", path.read_text(encoding="utf-8"), flags=re.M)
        for name, arguments in (C if path.suffix == ".h" else CYTHON).findall(text):
            parts = re.sub(r"\[[^\]]*\]|\([^()]*\)", "", arguments).split(",")
            found[name] = max(found[name], sum(bool(part.strip()) for part in parts))
    some = {"sum_backward": 11, "maximum_sum": 3, "in_rows_of": 2, "NAME(shift_row)": 6}
    assert {name: found[name] for name in some} == some
    assert {name: n for name, n in found.items() if n > MOST_ARGUMENTS} == {}


@pytest.mark.skipif(not (FOLDER / "README.md").exists(), reason="needs the sources of the kernels")
def test_the_readme_has_every_source():
    text = (FOLDER / "README.md").read_text(encoding="utf-8").replace("```", "")
    told = {name for word in re.findall("`([^`]+)`", text) for name in _files(word)}
    assert {*SOURCES, *FOLDER.glob("**/*.h")} <= told


def _files(word):
    """The files of a name, which may have a star."""
    return set(FOLDER.glob(word)) if re.fullmatch(r"[\w.*/]+", word) else set()
