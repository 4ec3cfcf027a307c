"""How many branches of the checks and kernels the inputs of some campaigns reach.

    python campaigns/branches.py 300  # inputs of each campaign

Kernels are built for gcov, and all inputs are tried in one process, so a crash ends it. Branches of
Python are counted by the package coverage, if it is installed.
"""

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import _campaign  # noqa: F401 (before numpy)
from _sanitize import BRANCHES

NAMES = "conll", "dumps", "templates", "models", "taggers", "crfsuite", "folders", "classifiers"
NAMES += "transformers", "metrics"
CHECKS = "utils/soundness", "utils/unpacking", "model_files/", "serving/content"
CHECKS += "serving/files", "serving/crfsuite/", "out_of_core/corpus_folder"
CHECKS += "datasets/_readers", "data/"
# Branches of what Cython adds: errors of memory, counts of references.
OWN = re.compile(r"(__pyx_fuse_\w+?)?__pyx_p?f_13sklearn_crcrf")
ADDED = re.compile(r"likely\(|__Pyx|__PYX|CYTHON|Py_")
PROGRAM = """
import os, sys, warnings
import _campaign
from importlib import import_module
from _runner import judge, prepare
from run import MODULES
try:
    from coverage import Coverage
    coverage = Coverage(data_file="python", branch=True, source_pkgs=["sklearn_crcrf"])
    coverage.start()
except ImportError:
    coverage = None
for name in sys.argv[2:]:
    (one,) = [c for c in import_module(MODULES[name]).CAMPAIGNS if c.name == name]
    prepare(one)
    for number in range(int(sys.argv[1])):
        judge(one, 0, number)
if coverage:
    coverage.stop()
    coverage.json_report(outfile="python.json")
"""


def of_kernels(folder: Path) -> Counter:
    """Branches of all kernels, and those that are reached, by gcov."""
    found: Counter = Counter()
    with TemporaryDirectory() as place:
        data = [str(path) for path in folder.rglob("*.gcda")]
        subprocess.run(["gcov", "-b", "-j", *data], cwd=place, capture_output=True, check=True)
        for path in Path(place).glob("*.gz"):
            for file in json.loads(gzip.decompress(path.read_bytes()))["files"]:
                source = folder / file["file"]
                if "sklearn_crcrf" in file["file"] and source.exists():
                    found += _of_source(source.read_text().splitlines(), file["lines"])
    return found


def _of_source(source: list[str], lines: list[dict]) -> Counter:
    own = [line for line in lines if OWN.match(line.get("function_name", ""))]
    kept = [line for line in own if not ADDED.search(source[line["line_number"] - 1])]
    counts = [branch["count"] for line in kept for branch in line["branches"]]
    return Counter(all=len(counts), reached=sum(count > 0 for count in counts))


def of_checks(report: Path) -> Counter:
    """Branches of the Python files that check, and those that are reached."""
    found: Counter = Counter()
    for path, about in json.loads(report.read_text())["files"].items():
        if any(f"sklearn_crcrf/{name}" in path for name in CHECKS):
            summary = about["summary"]
            found += Counter(all=summary["num_branches"], reached=summary["covered_branches"])
    return found


def main(n: str) -> None:
    """Build, run and count."""
    BRANCHES.make()
    for path in BRANCHES.folder.rglob("*.gcda"):
        path.unlink()
    with TemporaryDirectory() as place:
        program = Path(place, "program.py")
        program.write_text(
            f"import os, sys\nos.chdir({place!r})\n"
            f"sys.path.insert(0, {str(BRANCHES.folder / 'campaigns')!r})\n{PROGRAM}"
        )
        result = BRANCHES.run([str(program), n, *NAMES])
        print(result.status, result.reports or result.output[-2000:])
        report = Path(place, "python.json")
        for what, found in (
            ("kernels", of_kernels(BRANCHES.folder)),
            ("checks", of_checks(report) if report.exists() else Counter()),
        ):
            share = 100 * found["reached"] / max(found["all"], 1)
            print(f"{what}: {found['reached']:,} of {found['all']:,} branches, {share:.0f} %")


if __name__ == "__main__":
    main(sys.argv[1])
