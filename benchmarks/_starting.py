"""What serving.py measures of files, of starts of processes, and of many sentences at once."""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

from _common import cpu_seconds, n_tokens, yes_or_no  # before numpy

# isort: split
from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.model_files import load_model, save_model

__all__ = ["bulk", "compact_files", "starts", "write_files"]

RUNS = 5
N_BULK = 1000
LEAST_LABELS, LEAST_PROBABILITIES = 400, 150  # thousand words a second
MOST_MAPPED, MOST_PACKED, MOST_LOADING = 45.0, 20.0, 10.0  # MB, MB, ms
MOST_IMPORT, MOST_TAGGER, MOST_MODEL = 0.1, 0.4, 2.0  # seconds

Table = tuple[str, list[str], Iterator[list[str]]]


def bulk(model: EmpiricalCRF, words: list) -> Table:
    """Many sentences in one call."""
    title = f"{N_BULK:,} sentences at once, {len(model.classes_)} labels, EmpiricalCRF"
    return title, ["what", "k words/s of CPU time", "target", "met"], bulk_rows(model, words)


def bulk_rows(model: EmpiricalCRF, words: list) -> Iterator[list[str]]:
    words = words[:N_BULK]
    model.predict(words[:1])  # from the second call on by the kernel of taggers
    tagger = model.tagger()
    ways: list[tuple[str, Callable[[], Any], int | None]] = [
        ("labels, predict", lambda: model.predict(words), LEAST_LABELS),
        ("labels, predict, the first call", lambda: _first_time(model, words), None),
        ("labels, tagger.many", lambda: tagger.many(words), None),
        ("probabilities, predict_proba", lambda: model.predict_proba(words), LEAST_PROBABILITIES),
    ]
    for name, function, least in ways:
        function()
        speed = n_tokens(words) / cpu_seconds(function, RUNS)[0] / 1e3
        target = "" if least is None else f"{least}"
        yield [name, f"{speed:.0f}", target, "" if least is None else yes_or_no(speed >= least)]


def _first_time(model: EmpiricalCRF, words: list) -> Any:
    """What the first call does, which makes no tables."""
    twin = copy(model)
    twin.model_ = model.model_.copy()
    return twin.predict(words)


def write_files(model: EmpiricalCRF, folder: Path) -> dict[str, Path]:
    """A model in files of each kind."""
    paths = {name: folder / f"all.{name}" for name in ("tagger", "compact", "compact.gz", "model")}
    model.tagger().save(paths["tagger"])
    save_model(model, paths["compact"], compact=True)
    save_model(model, paths["compact.gz"], compact=True)
    save_model(model, paths["model"])
    return paths


def compact_files(model: EmpiricalCRF, paths: dict[str, Path], words: list) -> Table:
    """The compact model of a large corpus."""
    title = f"Files of EmpiricalCRF, {len(model.classes_)} labels"
    return title, ["what", "measured", "target", "met"], compact_rows(model, paths, words)


def compact_rows(model: EmpiricalCRF, paths: dict[str, Path], words: list) -> Iterator[list[str]]:
    size = {name: path.stat().st_size / 1e6 for name, path in paths.items()}
    yield ["complete model, MB", f"{size['model']:.1f}", "", ""]
    yield ["tagger, MB", f"{size['tagger']:.1f}", "", ""]
    for name, key, most in (
        ("compact model, mapped, MB", "compact", MOST_MAPPED),
        ("compact model, compressed, MB", "compact.gz", MOST_PACKED),
    ):
        yield [name, f"{size[key]:.1f}", f"{most:.0f}", yes_or_no(size[key] <= most)]
    loading = 1e3 * cpu_seconds(lambda: load_model(paths["compact"]), RUNS)[0]
    met = yes_or_no(loading <= MOST_LOADING)
    yield ["to load it mapped, CPU ms", f"{loading:.1f}", f"{MOST_LOADING:.0f}", met]
    labels = load_model(paths["compact"]).estimator.predict(words).tolist()
    differ = sum(a != b for a, b in zip(labels, model.predict(words).tolist(), strict=True))
    yield ["sentences with other labels", f"{differ} of {len(words)}", "0", yes_or_no(differ == 0)]


def starts(paths: dict[str, Path], folder: Path) -> Table:
    """Programs, from their start to their end."""
    columns = ["what", "CPU s", "target", "met"]
    return "Starting: CPU time of a whole process", columns, start_rows(paths, folder)


def start_rows(paths: dict[str, Path], folder: Path) -> Iterator[list[str]]:
    text = folder / "two.txt"
    text.write_text("the\ndog\n\n")
    tag = ["-m", "sklearn_crcrf", "tag", str(text), "--model"]
    programs: list[tuple[str, list[str], float | None]] = [
        ("Python alone", ["-c", "pass"], None),
        ("Python, import numpy", ["-c", "import numpy"], None),
        ("import sklearn_crcrf", ["-c", "import sklearn_crcrf"], MOST_IMPORT),
        ("sklearn-crcrf --help", ["-m", "sklearn_crcrf", "--help"], MOST_IMPORT),
        ("tag two words, file of a tagger", [*tag, str(paths["tagger"])], MOST_TAGGER),
        ("tag two words, compact model", [*tag, str(paths["compact"])], MOST_TAGGER),
        ("tag two words, complete model", [*tag, str(paths["model"])], MOST_MODEL),
    ]
    for name, arguments, most in programs:
        seconds = min(child_seconds(arguments) for _ in range(3))
        target = "" if most is None else f"{most}"
        met = "" if most is None else yes_or_no(seconds <= most)
        yield [name, f"{seconds:.2f}", target, met]


def child_seconds(arguments: list[str]) -> float:
    """CPU time of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
