"""What setup.py compiles, and the cores that it writes into what Cython has translated."""

import importlib.util
import re
from pathlib import Path

import pytest

import sklearn_crcrf
from sklearn_crcrf import _kernels

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


def test_setup_knows_the_instruction_sets_and_the_kernels(build):
    assert tuple(build.TARGETS) == _kernels.SETS
    assert all((KERNELS / f"{name}.pyx").exists() for name in build.WITH_CORES)
    assert build.WITH_CORES >= build.UNFUSED


def test_every_part_is_of_a_module():
    parts = set()
    for path in [*KERNELS.glob("**/*.pyx")]:
        for name in re.findall('^include "(.+)"$', path.read_text(), re.MULTILINE):
            parts.add(ROOT / name if name.startswith("sklearn_crcrf/") else path.parent / name)
    assert parts == set(KERNELS.glob("**/*.pxi"))


def test_kernels_depend_on_headers_of_headers_too(build):
    folder = "sklearn_crcrf/_kernels"
    names = "as_double", "as_float", "no_type", "products_of_type", "vectors", "vectors_of_type"
    of_vectors = [f"{folder}/{name}.h" for name in names]
    assert build.with_included([f"{folder}/vectors.h", "Python.h"]) == of_vectors
    assert build.with_included([f"{folder}/turns.h"]) == [f"{folder}/turns.h"]
    found = build.with_included([f"{folder}/maxima.h"])
    assert found == sorted([f"{folder}/maxima.h", *of_vectors])


TRANSLATED = """\
#include "vectors.h"
static double __pyx_f_total(double const *, Py_ssize_t); /*proto*/
/* #### Code section: module_code ### */
static PyObject *__pyx_pf_total_of(PyObject *__pyx_self, double *__pyx_v_x) {
  return PyFloat_FromDouble(__pyx_f_total(__pyx_v_x, 3));
  /* function exit code */
}

static PyObject *__pyx_pw_total_of(PyObject *__pyx_self, PyObject *x) {
  return __pyx_pf_total_of(__pyx_self, read(x));
  /* function exit code */
}

/* Comments may name a type: vector_d. */
static double __pyx_f_total(double const *__pyx_v_x, Py_ssize_t __pyx_v_n) {
  {
    product_d(__pyx_v_x, __pyx_v_n);
}
  /* function exit code */
  return 0;
}
/* #### Code section: module_exttypes ### */
"""


def test_each_set_has_a_core_and_what_parses_arguments_is_there_once(build):
    text = build.with_cores(TRANSLATED, ["baseline", "avx2"])
    assert text.startswith('#define BUILT_SETS "baseline avx2"\n')
    assert text.count("__pyx_pw_total_of(PyObject *__pyx_self, PyObject *x) {") == 1
    assert re.findall("^#define SET (.+)$", text, re.MULTILINE) == ["_baseline", "_avx2"]
    cores = re.findall("#define SET .*?#undef SET\n", text, re.DOTALL)
    for core in cores:
        assert '#include "vectors.h"\n' in core and "#undef SKLEARN_CRCRF_VECTORS_H\n" in core
        assert core.count("__pyx_f_total(double const *__pyx_v_x, Py_ssize_t __pyx_v_n)") == 2
        assert "  return 0;\n}\n" in core
    assert "#pragma" not in cores[0]
    assert '#pragma GCC target("avx2,fma")\n' in cores[1]
    assert "#define product_d OF_SET(product_d)\n" in text
    # Outside the cores, a name stands for the function of the core in use.
    assert "{__pyx_pf_total_of_baseline, __pyx_pf_total_of_avx2, 0}" in text
    assert "vector_d_of" not in text and "__pyx_f_total_of" not in text and "/*proto*/" not in text


def test_one_set_alone_needs_no_choice(build):
    text = build.with_cores(TRANSLATED, ["avx512"])
    assert "#define __pyx_pf_total_of __pyx_pf_total_of_avx512\n" in text
    assert "chosen_set" not in text


@pytest.mark.parametrize(("header", "sets"), [("turns.h", ["avx2"]), ("vectors.h", [])])
def test_what_has_no_vectors_or_sets_has_no_cores(build, header, sets):
    text = TRANSLATED.replace("vectors.h", header)
    found = build.with_cores(text, sets)
    assert found.startswith(f'#define BUILT_SETS "{"".join(sets)}"\n')
    for pragmas in (build.SMALL, build.FAST):
        assert found.count(pragmas) == 3
        found = found.replace(pragmas, "")
    assert found.endswith(f"\n{text}")


@pytest.mark.parametrize("sets", [[], ["baseline", "avx2"]])
def test_all_but_the_kernels_is_small(build, sets):
    text = build.with_cores(TRANSLATED, sets)
    small = "".join(re.findall(f"{re.escape(build.SMALL)}(.*?){re.escape(build.FAST)}", text, re.S))
    assert "*__pyx_pw_total_of(PyObject *__pyx_self, PyObject *x) {" in small
    assert "_total_of(PyObject *__pyx_self, double" not in small
    assert "__pyx_f_total(double const *__pyx_v_x, Py_ssize_t __pyx_v_n) {" not in small


def test_a_file_that_is_there_is_not_written_again(build, tmp_path):
    path = tmp_path / "total.c"
    path.write_text(TRANSLATED)
    cores = Path(build.write_with_cores(path, ["avx2"]))
    written = cores.stat().st_mtime_ns
    build.write_with_cores(path, ["avx2"])
    assert cores.stat().st_mtime_ns == written
    build.write_with_cores(path, ["avx512"])
    assert '"avx512"' in cores.read_text()


@pytest.fixture
def command(build):
    from setuptools import Distribution

    command = build.BuildKernels(Distribution())
    command.compiler = type("Compiler", (), {"compiler_so": ["cc"]})
    command.is_for_here = False
    return command


@pytest.fixture
def x86(build, monkeypatch):
    monkeypatch.setattr(build.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(build.platform, "system", lambda: "Linux")
    monkeypatch.delenv("SKLEARN_CRCRF_BUILD", raising=False)


def test_a_wheel_has_all_sets_and_a_checkout_the_one_of_the_machine(command, x86, monkeypatch):
    monkeypatch.setattr(command, "native_set", lambda: "avx2")
    assert command.instruction_sets() == list(_kernels.SETS)
    command.is_for_here = True
    assert command.instruction_sets() == ["avx2"]
    monkeypatch.setenv("SKLEARN_CRCRF_BUILD", "all")
    assert command.instruction_sets() == list(_kernels.SETS)
    monkeypatch.setenv("SKLEARN_CRCRF_BUILD", "avx512 baseline")
    assert command.instruction_sets() == ["baseline", "avx512"]
    monkeypatch.setenv("SKLEARN_CRCRF_BUILD", "AVX2")
    with pytest.raises(ValueError, match="must be all, native, or names of baseline, avx2"):
        command.instruction_sets()


def test_other_processors_have_one_set(build, command, x86, monkeypatch):
    monkeypatch.setattr(build.platform, "machine", lambda: "aarch64")
    assert command.instruction_sets() == ["baseline"]


@pytest.mark.parametrize(
    "macros, name",
    [
        ("AVX512F AVX512DQ AVX2 FMA", "avx512"),
        ("AVX512F AVX2 FMA", "avx2"),
        ("AVX2", "baseline"),
        ("", "baseline"),
    ],
)
def test_the_compiler_knows_the_machine(build, command, monkeypatch, macros, name):
    printed = "".join(f"#define __{macro}__ 1\n" for macro in macros.split())
    done = type("Done", (), {"stdout": printed})
    monkeypatch.setattr(build.subprocess, "run", lambda *args, **kwargs: done)
    assert command.native_set() == name
