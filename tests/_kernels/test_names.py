"""A name stands for one function in all kernels: a reader need not ask which one is meant."""

import re
from collections import Counter
from pathlib import Path

import pytest

import sklearn_crcrf

FOLDER = Path(sklearn_crcrf.__file__).parent / "_kernels"
SOURCES = [path for path in FOLDER.iterdir() if path.suffix in {".pyx", ".pxi", ".pxd"}]
# From the first column to the end of the line that ends the arguments.
FUNCTION = re.compile(
    r"^c?p?def (?:[\w* ]+ \**)?(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\)[^\n]*:$", re.M
)


@pytest.mark.skipif(not SOURCES, reason="needs the sources of the kernels")
def test_no_two_functions_have_one_name():
    names = Counter(
        name for path in SOURCES for name in FUNCTION.findall(path.read_text(encoding="utf-8"))
    )
    assert {"sum_forward", "max_forward", "viterbi", "give_turn", "edges_of"} <= names.keys()
    assert [name for name, n in names.items() if n > 1] == []
