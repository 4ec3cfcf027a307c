"""What setup.py compiles, and what it writes for that."""

import importlib.util
import os
import re
from inspect import ismodule
from pathlib import Path

import pytest

import sklearn_crcrf
from sklearn_crcrf._kernels import vectorized

pytest.importorskip("Cython")
pytest.importorskip("setuptools")
ROOT = Path(sklearn_crcrf.__file__).parent.parent
KERNELS = ROOT / "sklearn_crcrf" / "_kernels"
if not (ROOT / "setup.py").exists():
    pytest.skip("the package is installed without its setup.py", allow_module_level=True)


@pytest.fixture
def build(monkeypatch):
    """setup.py as a module, in its own folder."""
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("setup_of_kernels", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_that_can_be_built_is_there(build):
    names = [extension.name for extension in build.extensions()]
    assert len(names) == len(set(names))
    assert all(importlib.util.find_spec(name) is not None for name in names)


def test_each_vector_type_has_each_kernel(build):
    assert list(build.VECTOR_TYPES) == [f"_{name}" for name in vectorized.SETS]
    modules = {name for name in vectorized.__all__ if ismodule(getattr(vectorized, name))}
    assert set(build.VECTOR_KERNELS) == modules
    for vector_type in build.VECTOR_TYPES:
        assert (KERNELS / vector_type / "__init__.py").exists()


def test_the_files_of_vector_types_are_written_for_the_build_only(build, tmp_path, monkeypatch):
    assert not list(KERNELS.glob("*/*.pyx"))
    monkeypatch.chdir(tmp_path)
    for name, parts in build.VECTOR_KERNELS.items():
        path = Path("written", f"{name}.pyx")
        build.write_kernel(path)
        included = re.findall('^include "(.+)"$', path.read_text(), re.MULTILINE)
        assert included == [f"sklearn_crcrf/_kernels/{part}" for part in parts]
        assert all((ROOT / part).exists() for part in included)


def test_a_file_that_is_there_is_not_written_again(build, tmp_path):
    path = tmp_path / "viterbi.pyx"
    build.write_kernel(path)
    os.utime(path, (0, 0))
    build.write_kernel(path)
    assert path.stat().st_mtime == 0
    path.write_text("what it was")
    build.write_kernel(path)
    assert path.read_text().startswith("include ")


def test_every_part_is_of_a_kernel(build):
    parts = {part for parts in build.VECTOR_KERNELS.values() for part in parts}
    for path in KERNELS.glob("*.pyx"):
        parts |= set(re.findall('^include "(.+)"$', path.read_text(), re.MULTILINE))
    assert parts == {path.name for path in KERNELS.glob("*.pxi")}


def test_kernels_depend_on_headers_of_headers_too(build):
    folder = "sklearn_crcrf/_kernels"
    of_vectors = [f"{folder}/{x}.h" for x in ("products_of_type", "vectors", "vectors_of_type")]
    assert build.with_included([f"{folder}/vectors.h", "Python.h"]) == of_vectors
    assert build.with_included([f"{folder}/turns.h"]) == [f"{folder}/turns.h"]
    assert build.with_included([f"{folder}/maxima.h"]) == [f"{folder}/maxima.h", *of_vectors]
