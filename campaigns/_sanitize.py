"""Tests and hostile inputs with sanitized kernels.

Each input is a test file, or some inputs of another campaign, in a process of its own, with one of
the instruction sets that the processor has; the checks of Cython are the same in all, and are made
with one. The kernels come from a copy of the checkout, which is built first: for "tests" and the
sanitized inputs with AddressSanitizer and UndefinedBehaviorSanitizer, for "bounds" with the checks
of Cython, and for the sanitized threads with ThreadSanitizer.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from _campaign import Campaign, Wrong, show
from _crashes import reported
from sklearn_crcrf._kernels.machine import sets_of_processor

CHECKOUT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {
    # No reports of leaks: at its end the interpreter frees little. Huge arrays are a MemoryError.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    # Small objects get separate memory, so that reads beyond them are detected.
    "PYTHONMALLOC": "malloc",
    "OMP_NUM_THREADS": "1",
}


class Result(NamedTuple):
    """The result of a process: exit status, output, and reports of sanitizers."""

    status: int
    output: str
    reports: str


@dataclass(frozen=True)
class Build:
    """A copy of the checkout with its own kernels.

    Parameters
    ----------
    name : str
        Of its folder, in ``build/campaigns`` of the checkout.
    sanitizers : str
        As gcc calls them, with commas between them; empty for none.
    libraries : tuple of str
        What must be loaded before Python.
    environment : mapping of str to str
        For ``setup.py``.
    flags : str
        More flags of the compiler.
    """

    name: str
    sanitizers: str = ""
    libraries: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    flags: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the copy."""
        return CHECKOUT / "build" / "campaigns" / self.name

    def make(self) -> None:
        """Copy what is under version control, and build what has changed since the last time."""
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        paths = subprocess.run(listed, cwd=CHECKOUT, check=True, capture_output=True, text=True)
        for path in filter(None, paths.stdout.split("\0")):
            source, copy = CHECKOUT / path, self.folder / path
            if source.exists() and not (copy.exists() and _is_same(source, copy)):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copy)
        flags = f"-fsanitize={self.sanitizers} " * bool(self.sanitizers) + self.flags
        options = {
            "SKLEARN_CRCRF_CFLAGS": f"-O1 -g -fno-omit-frame-pointer -fno-math-errno {flags}",
            "SKLEARN_CRCRF_BUILD": "all",
            "LDFLAGS": flags,
            **self.environment,
        }
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(
            build, cwd=self.folder, env={**os.environ, **options}, check=True, capture_output=True
        )

    def run(self, arguments: list[str], instructions: str | None = None) -> Result:
        """Run Python with the package of this build, and perhaps one instruction set."""
        environment = {**os.environ, **ENVIRONMENT, "LD_PRELOAD": self._preloaded}
        paths = os.fspath(self.folder), environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        if instructions is not None:
            environment["SKLEARN_CRCRF_INSTRUCTIONS"] = instructions
        with tempfile.TemporaryDirectory() as logs:
            for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
                given = environment.get(name, "")
                environment[name] = f"{given}:log_path={logs}/report".removeprefix(":")
            process = subprocess.run(
                [sys.executable, *arguments],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                preexec_fn=_lift_limits,
            )
            reports = [log.read_text(errors="replace") for log in sorted(Path(logs).iterdir())]
        return Result(process.returncode, process.stdout + process.stderr, "\n".join(reports))

    @cached_property
    def _preloaded(self) -> str:
        """The libraries of the compiler that must come first."""
        finders = (["gcc", f"-print-file-name={name}"] for name in self.libraries)
        paths = [subprocess.check_output(finder) for finder in finders]
        return os.fsdecode(b" ".join(path.strip() for path in paths))


def _is_same(source: Path, copy: Path) -> bool:
    return source.stat().st_mtime == copy.stat().st_mtime


def _lift_limits() -> None:
    """Sanitizers map more memory than any machine has."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


SETS = sets_of_processor()
N_INPUTS = 50  # of another campaign, for one input of these
HOUR = 3600.0

LIBRARIES = "libasan.so", "libubsan.so", "libstdc++.so.6"
ADDRESSES = Build("addresses", "address,undefined", LIBRARIES)
# Other instructions than this processor's are not run.
NATIVE = {"SKLEARN_CRCRF_BUILD": "native"}
BRANCHES = Build("branches", environment=NATIVE, flags="--coverage -O0 -g0")
THREADS = Build("threads", "thread", ("libtsan.so",))
BOUNDS = Build("bounds", environment={"SKLEARN_CRCRF_BOUNDSCHECK": "1"})


@cache
def test_files() -> list[str]:
    """The test files, except tests of tools around the package."""
    left_out = "benchmarks", "campaigns", "test_package.py"
    found = (path.relative_to(CHECKOUT) for path in sorted(CHECKOUT.glob("tests/**/test_*.py")))
    return [str(path) for path in found if path.parts[1] not in left_out]


def run_tests(sets: Sequence[str], build: Build, rng: Random, number: int) -> str:
    """Run a test file; exceptions that a kernel ignores are errors."""
    path, instructions = test_files()[number // len(sets)], sets[number % len(sets)]
    show(path, instructions)
    warning = "error::pytest.PytestUnraisableExceptionWarning"
    # What a sanitizer writes must not end in a file of pytest's.
    options = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--capture=sys", "-W", warning]
    judge(build.run([*options, path], instructions))
    return f"passed with {instructions}"


def run_campaign(program: Sequence[str], build: Build, rng: Random, number: int) -> str:
    """Some inputs of other campaigns."""
    instructions, seed = SETS[number % len(SETS)], rng.randrange(2**31)
    numbers = {"--seed": seed, "--n": N_INPUTS, "--jobs": 1, "--limit": 300}
    arguments = [*program, *(str(part) for option in numbers.items() for part in option)]
    show(*arguments, instructions)
    judge(build.run(arguments, instructions))
    return f"{N_INPUTS} of each kind with {instructions}"


def judge(result: Result) -> None:
    """Raise Wrong if a sanitizer has reported anything, or a test failed."""
    report = reported(result.reports) or reported(result.output)
    if report is not None:
        raise Wrong(report, result.reports or result.output)
    if result.status:
        raise Wrong(f"exit status {result.status}", result.output[-4000:])


def on(build: Build, name: str, one: Callable, n: int) -> Campaign:
    """A campaign with a build."""
    return Campaign(name, partial(one, build), prepare=build.make, n=n, limit=HOUR)


RUN = "campaigns/run.py"
INPUTS = RUN, "classifiers", "replaced", "transformers", "metrics", "models", "taggers", "folders"

N_TESTS = len(test_files())
CAMPAIGNS = [
    on(ADDRESSES, "tests", partial(run_tests, SETS), len(SETS) * N_TESTS),
    on(BOUNDS, "bounds", partial(run_tests, SETS[-1:]), N_TESTS),
    on(ADDRESSES, "sanitized inputs", partial(run_campaign, INPUTS), 100),
    on(THREADS, "sanitized threads", partial(run_campaign, [RUN, "threads"]), 10),
]
