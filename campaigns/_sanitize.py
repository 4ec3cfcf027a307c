"""Tests and hostile inputs with sanitized kernels.

Each input is a test file, or some inputs of another campaign, in a process of its own, with one of
the instruction sets that the processor has; the checks of Cython are the same in all, and are made
with one. The kernels come from a copy of the checkout, which is built first: for "tests" and the
sanitized inputs with AddressSanitizer and UndefinedBehaviorSanitizer, for "bounds" with the checks
of Cython, and for the sanitized threads with ThreadSanitizer.
"""

from collections.abc import Sequence
from functools import cache
from random import Random

from _builds import CHECKOUT, Build, Result
from _campaign import Campaign, Wrong, show
from _crashes import reported
from sklearn_crcrf._kernels._cpu import instruction_sets

SETS = instruction_sets()
N_INPUTS = 50  # of another campaign, for one input of these
HOUR = 3600.0

LIBRARIES = "libasan.so", "libubsan.so", "libstdc++.so.6"
ADDRESSES = Build("addresses", "address,undefined", LIBRARIES)
BRANCHES = Build("branches", flags="--coverage -O0 -g0")
THREADS = Build("threads", "thread", ("libtsan.so",))
BOUNDS = Build("bounds", environment={"SKLEARN_CRCRF_BOUNDSCHECK": "1"})


@cache
def test_files() -> list[str]:
    """The test files, except tests of tools around the package."""
    left_out = "benchmarks", "campaigns", "test_package.py"
    found = (path.relative_to(CHECKOUT) for path in sorted(CHECKOUT.glob("tests/**/test_*.py")))
    return [str(path) for path in found if path.parts[1] not in left_out]


def run_tests(build: Build, sets: Sequence[str], number: int) -> str:
    """Run a test file; exceptions that a kernel ignores are errors."""
    path, instructions = test_files()[number // len(sets)], sets[number % len(sets)]
    show(path, instructions)
    warning = "error::pytest.PytestUnraisableExceptionWarning"
    # What a sanitizer writes must not end in a file of pytest's.
    options = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--capture=sys", "-W", warning]
    judge(build.run([*options, path], instructions))
    return f"passed with {instructions}"


def run_campaign(build: Build, program: Sequence[str], rng: Random, number: int) -> str:
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


def on_tests(name: str, build: Build, sets: Sequence[str]) -> Campaign:
    """The whole test suite with a build, once with each of the instruction sets."""

    def one(rng: Random, number: int) -> str:
        return run_tests(build, sets, number)

    n = len(sets) * len(test_files())
    return Campaign(name, one, prepare=build.make, n=n, limit=HOUR)


def on_campaign(name: str, build: Build, program: Sequence[str], n: int) -> Campaign:
    """Other campaigns with a build."""

    def one(rng: Random, number: int) -> str:
        return run_campaign(build, program, rng, number)

    return Campaign(name, one, prepare=build.make, n=n, limit=HOUR)


RUN = "campaigns/run.py"
INPUTS = RUN, "classifiers", "replaced", "transformers", "metrics", "models", "taggers", "folders"

CAMPAIGNS = [
    on_tests("tests", ADDRESSES, SETS),
    on_tests("bounds", BOUNDS, SETS[-1:]),
    on_campaign("sanitized inputs", ADDRESSES, INPUTS, 100),
    on_campaign("sanitized threads", THREADS, [RUN, "threads"], 10),
]
