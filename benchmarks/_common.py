"""Tools of all benchmarks: one thread, the command line, corpora, time and memory.

Import this module before numpy, which reads the number of threads only once.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import gc
import multiprocessing
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from _questions import QUESTIONS
from _report import Report
from threadpoolctl import threadpool_info

from sklearn_crcrf import CRF, EmpiricalCRF, __version__
from sklearn_crcrf.datasets import Splits, fetch_conll2000, load_brown_splits, load_dutch_ner
from sklearn_crcrf.linear import Weights

MODES: dict[str, Callable[[], EmpiricalCRF]] = {
    "paper": EmpiricalCRF.ecrn,
    "default": EmpiricalCRF,
}
PACKAGES = ("numpy", "scipy", "scikit-learn", "python-crfsuite")


def begin(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, *notes: str
) -> argparse.Namespace:
    """Read the command line with the common options, and print the circumstances.

    Returns
    -------
    Namespace
        The options, and ``report``, to which results go.

    """
    parser.add_argument("--download", action="store_true", help="fetch missing corpora")
    parser.add_argument(
        "--sentences",
        type=int,
        help="use only this number of sentences of each part, to try a script",
    )
    parser.add_argument("--output", type=Path, help="write the tables here, as reStructuredText")
    args = parser.parse_args(argv)
    page = args.output or Path(parser.prog)
    args.report = Report(QUESTIONS.get(page.stem, parser.prog), args.output)
    command = shlex.join(sys.argv[1:] if argv is None else argv)
    circumstances = [
        f"Python {platform.python_version()}, {', '.join(_versions())}",
        f"{_cpu()}, {os.cpu_count()} cores; BLAS threads: {_threads()}; {_load()}; {_commit()}",
    ]
    command = f"python benchmarks/{parser.prog} {command}".rstrip()
    args.report.opening(parser.description, command, [*circumstances, *notes])
    return args


def load_splits(name: str, args: argparse.Namespace, **of_brown: bool) -> Splits:
    """The parts of a corpus: "ner", "chunking", or a split of Brown; chunking has no tuning part.

    They are taken from the folder named by SKLEARN_CRCRF_DATA. ``of_brown`` are options of
    load_brown_splits.
    """
    options = {"download_if_missing": args.download}
    try:
        if name == "ner":
            splits = load_dutch_ner(**options)
        elif name == "chunking":
            train, test = (
                fetch_conll2000(part, return_X_y=True, **options) for part in ("train", "test")
            )
            splits = Splits(train, ([], []), test)
        else:
            splits = load_brown_splits(name, **of_brown, **options)
    except OSError as error:
        sys.exit(
            f"{error}\nName the folder of the corpora by the environment variable "
            "SKLEARN_CRCRF_DATA, or fetch them by --download."
        )
    return Splits(*((X[: args.sentences], y[: args.sentences]) for X, y in splits))


def corpus_file(name: str) -> Path:
    """A file in the folder named by SKLEARN_CRCRF_DATA."""
    path = Path(os.environ.get("SKLEARN_CRCRF_DATA", "")) / name
    if not path.is_file():
        sys.exit(f"The environment variable SKLEARN_CRCRF_DATA must name the folder of {name}.")
    return path


def weights_of(crf: CRF) -> Weights:
    """The weights of a fitted model, from which another one can start."""
    return Weights(crf.coef_, crf.transitions_, crf.begin_, crf.end_, crf.edge_coef_)


def n_tokens(X: Sequence[Sequence]) -> int:
    """Number of tokens of nested lists."""
    return sum(map(len, X))


def cpu_seconds(function: Callable[[], Any], runs: int = 1) -> tuple[float, Any]:
    """Median CPU time of several runs, and the last result."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        result = function()
        seconds.append(time.process_time() - start)
    return median(seconds), result


def memory_growth(function: Callable[[], Any]) -> tuple[int, Any]:
    """Growth of memory in bytes, from the start of a function to its peak."""
    status = Path("/proc/self/status")
    if not status.exists():
        sys.exit("The peak of memory is read from /proc, which only Linux has.")
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak of resident memory
    before = _resident(status, "VmRSS")
    result = function()
    return _resident(status, "VmHWM") - before, result


def peak_memory() -> int:
    """The peak of the memory of this process so far, in bytes."""
    return _resident(Path("/proc/self/status"), "VmHWM")


def in_fresh_process(function: Callable, *args: Any) -> Any:
    """Call a function of a module in a process that holds nothing but its arguments."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()


def yes_or_no(met: bool) -> str:
    """Whether a target is met, for a table."""
    return "yes" if met else "**no**"


def _versions() -> Iterable[str]:
    # It may be measured in a checkout that is not installed.
    yield f"sklearn-crcrf {__version__}"
    for name in PACKAGES:
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            yield f"no {name}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _threads() -> int:
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def _load() -> str:
    if not hasattr(os, "getloadavg"):
        return "load unknown"
    load = os.getloadavg()[0]
    return (
        f"load average {load:.1f} at the "
        f"start{', under load: times may be too long' * (load > 1.5)}"
    )


def _commit() -> str:
    """The commit that is measured, with a plus sign if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return "commit unknown"
    return f"commit {found.stdout.strip() or 'unknown'}"


def _resident(status: Path, field: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])
