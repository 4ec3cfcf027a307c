import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import sklearn_crcrf
from sklearn_crcrf import datasets, feature_extraction, labels, text
from sklearn_crcrf.apps.cli import main

FOLDER = Path(sklearn_crcrf.__file__).parent
API = FOLDER.parent / "docs" / "api.rst"
# All that these, and the package itself, export is for users.
PUBLIC = [
    "criteria",
    "dask",
    "datasets",
    "display",
    "estimators.crf",
    "estimators.opinion_pool",
    "feature_extraction",
    "metrics",
    "model_files.conversion",
    "serving",
    "solvers",
    "structures",
    "text",
]
LAZY = [sklearn_crcrf, datasets, feature_extraction, labels, text]
# Kernels are compiled; torch, and each module of integrations, needs what it is named after.
LEFT_OUT = ("sklearn_crcrf._kernels", "sklearn_crcrf.integrations.", "sklearn_crcrf.torch")
MODULES = [
    module.name
    for module in walk_packages([FOLDER], "sklearn_crcrf.")
    if not module.name.startswith(LEFT_OUT) and not module.name.endswith(".on_device")
]


def test_public_names():
    assert set(sklearn_crcrf.__all__) >= {
        "EmpiricalCRF",
        "SequenceArray",
        "SequenceVectorizer",
        "TokenFeatures",
        "Window",
        "as_sequences",
    }


@pytest.mark.parametrize("package", LAZY, ids=lambda it: it.__name__)
def test_what_type_checkers_read_is_what_is_imported(package):
    tree = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    aliases = [alias for node in imports for alias in node.names]
    assert [alias.asname for alias in aliases] == [alias.name for alias in aliases]
    assert {alias.name for alias in aliases} == set(package.__all__) <= set(dir(package))
    assert all(hasattr(package, name) for name in package.__all__)


def test_packages_are_attributes_and_other_names_are_not():
    program = "import sklearn_crcrf as s; print(s.serving.__name__, hasattr(s, 'missing'))"
    assert _run(program).stdout == "sklearn_crcrf.serving False\n"


def test_importing_the_package_changes_nothing_else():
    program = """
import signal, sys, warnings
state = lambda: (
    [signal.getsignal(number) for number in signal.valid_signals()], list(sys.meta_path),
    list(sys.path_hooks), list(sys.path), sys.excepthook, sys.displayhook, list(warnings.filters),
)
before = state()
import sklearn_crcrf
print(before == state(), "numpy" in sys.modules)
before = before[:-1]  # numpy and scikit-learn have filters of their own
for name in {names}:
    getattr(sklearn_crcrf, name)
print(before == state()[:-1])
"""
    for name, names in (
        ("program.py", ["SequenceArray"]),
        ("sklearn-crcrf", sklearn_crcrf.__all__),
    ):
        code = f"import sys; sys.argv = [{name!r}]\n{program.format(names=names)}"
        assert _run(code).stdout.split() == ["True", "False", "True"]


def test_nothing_needs_torch():
    program = f"""
import sys
from importlib import import_module
class Missing:
    def find_spec(self, name, *args):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
for name in {MODULES}:
    import_module(name)
import sklearn_crcrf
names = [getattr(sklearn_crcrf, name) for name in sklearn_crcrf.__all__]
try:
    import sklearn_crcrf.torch
except ImportError as error:
    print(error)
"""
    done = _run(program)
    assert done.stdout == "sklearn_crcrf.torch needs torch: pip install torch\n"


def test_every_module_says_what_is_public_and_has_it():
    modules = [import_module(name) for name in ["sklearn_crcrf", *MODULES]]
    assert [module.__name__ for module in modules if not module.__doc__] == []
    public = [(module, name) for module in modules for name in getattr(module, "__all__", ())]
    assert [f"{m.__name__}.{name}" for m, name in public if not hasattr(m, name)] == []


def documented():
    """What the reference lists, by its full name."""
    if not API.exists():
        return {}
    found, module = {}, ""
    for line in API.read_text(encoding="utf-8").splitlines():
        module = line.partition(".. currentmodule:: ")[2] or module
        if re.fullmatch(r"   [\w.]+", line):
            name = f"{module}.{line.strip()}"
            found[name] = getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2])
    return found


def test_what_the_reference_lists_has_an_example():
    docs = {name: inspect.getdoc(public) for name, public in documented().items()}
    assert [name for name, doc in docs.items() if "\n>>> " not in doc] == []


@pytest.mark.skipif(not API.exists(), reason="needs the documentation")
def test_the_reference_lists_what_is_public():
    listed, missing = list(documented().values()), []
    for package in ["sklearn_crcrf", *(f"sklearn_crcrf.{p}" for p in PUBLIC)]:
        for name in import_module(package).__all__:
            public = getattr(import_module(package), name)
            is_code = inspect.isclass(public) or inspect.isfunction(public)
            if is_code and not any(public is other for other in listed):
                missing.append(f"{package}.{name}")
    assert missing == []


def test_the_citation_and_the_changelog_name_the_version():
    root, version = FOLDER.parent, sklearn_crcrf.__version__
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}\n" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_type_hints_are_announced():
    assert (FOLDER / "py.typed").exists()


@pytest.fixture
def readme():
    path = FOLDER.parent / "README.md"
    if not path.exists():
        pytest.skip("the package is installed without its README")
    return path.read_text(encoding="utf-8")


def test_the_demonstration_prints_what_the_site_says(readme, capsys):
    assert readme.split("```sh\n")[1].split("```")[0].endswith("/python -m sklearn_crcrf\n")
    page = (FOLDER.parent / "docs" / "getting_started.rst").read_text(encoding="utf-8")
    block = page.split(".. code-block:: text\n\n")[1].split("\nThe estimators themselves")[0]
    main([])
    printed = capsys.readouterr().out
    # Seconds depend on the machine.
    written = textwrap.dedent(block)
    assert re.sub(r"\d+\.\d\d s\b", "", printed) == re.sub(r"\d+\.\d\d s\b", "", written)


def test_the_program_in_the_readme_prints_what_it_says(readme, capsys):
    exec(readme.split("```python\n")[1].split("```")[0], {})
    assert capsys.readouterr().out == readme.split("```text\n")[1].split("```")[0]


def test_the_commands_in_the_readme_print_what_it_says(readme, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = readme.split("```console\n")[1].split("```")[0]
    table = block.partition("cat names.csv\n")[2].partition("$")[0]
    Path("names.csv").write_text(table, encoding="utf-8")
    Path("letter.txt").write_text(re.search("echo '(.*)'", block)[1] + "\n", encoding="utf-8")
    for command in re.findall(r"\$ \.venv/bin/sklearn-crcrf (.*)\n", block):
        main(command.split())
    assert capsys.readouterr().out == block.splitlines(keepends=True)[-1]


def test_pushes_are_tested_by_the_commands_of_the_readme(readme):
    workflow = FOLDER.parent / ".github" / "workflows" / "tests.yml"
    runs = re.findall(r"- run: (.*)\n", workflow.read_text(encoding="utf-8"))
    assert runs[:2] == re.findall(r"```sh\n(.*)\n```", readme)


def test_uncompiled_sources_say_what_to_do(tmp_path):
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    shutil.copytree(FOLDER, tmp_path / "sklearn_crcrf", ignore=compiled)
    done = _import_in(tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: sklearn_crcrf._kernels.")
    assert str(tmp_path) in last and "pip install -e ." in last


def test_other_missing_modules_are_reported_as_they_are(tmp_path):
    missing = shutil.ignore_patterns("tagger.py", "__pycache__")
    shutil.copytree(FOLDER, tmp_path / "sklearn_crcrf", ignore=missing)
    last = _import_in(tmp_path).stderr.splitlines()[-1]
    assert last == "ModuleNotFoundError: No module named 'sklearn_crcrf.serving.tagger'"


def _run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def _import_in(folder):
    return subprocess.run(
        [sys.executable, "-c", "import sklearn_crcrf; sklearn_crcrf.serving"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
