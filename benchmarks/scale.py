"""Training on more text than fits into memory: time, memory, and what it costs to work in parts."""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from _common import begin, cpu_seconds, in_fresh_process, peak_memory, yes_or_no  # before numpy

# isort: split
import numpy as np
from _repeated_brown import repeated_brown
from sklearn.exceptions import ConvergenceWarning

from sklearn_crcrf import CRF, EmpiricalCRF, StructuredPerceptron, Window
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.datasets import read_conll, write_conll
from sklearn_crcrf.linear.folder_shards import FolderShards
from sklearn_crcrf.linear.objective import Objective, Shard, elsewhere, here
from sklearn_crcrf.linear.parts import Survey, read_part
from sklearn_crcrf.out_of_core import CorpusFolder, write_corpus
from sklearn_crcrf.solvers import lbfgs
from sklearn_crcrf.training.monitor import Step, listening

SIZES = [10**6, 4 * 10**6, 10**7]
WINDOW = Window((-1, 0, 1))
# Attributes that occur this often in a million tokens have weights. In more tokens they must occur
# more often in proportion, so that all sizes have about the same number of weights.
MIN_FREQ = 5
ONLINE = {
    "SGD": CRF(solver="sgd", max_iter=1, random_state=0, dtype="float32"),
    "perceptron": StructuredPerceptron(max_iter=1, random_state=0, dtype="float32"),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("scale.py", description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of tokens")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="all")
    parser.add_argument("--iterations", type=int, default=8, help="of L-BFGS; default: 8")
    parser.add_argument("--folder", help="has room for the text and for 130 bytes for each token")
    args = begin(
        parser,
        argv,
        "Brown, repeated and perturbed; tags cut to two letters; words at -1, 0 and +1; float32",
        "seconds are CPU time of one thread; memory is the peak of a process, in MB",
    )
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for name in args.tables:
            title, columns, rows = TABLES[name]
            args.report.table(title, columns.split(";"), rows(args, Path(folder)))


def labelled(n_tokens: int) -> Iterator[tuple[list, list]]:
    """Parts of a text with the coarse tags of Brown."""
    for X, y in repeated_brown(n_tokens):
        yield X, [[tag[:2] if tag[0].isalpha() else tag[0] for tag in tags] for tags in y]


class Cost(NamedTuple):
    """CPU seconds of some work, the peak of the memory of its process, and what else is known."""

    seconds: float
    peak: int
    result: Any = None


def cost(function: Callable[..., Any], *args: Any) -> Cost:
    """What a function costs in a process of its own."""
    return in_fresh_process(measured, function, *args)


def measured(function: Callable[..., Any], *args: Any) -> Cost:
    """What a function costs in this process."""
    seconds, result = cpu_seconds(lambda: function(*args))
    return Cost(seconds, peak_memory(), result)


def files_of(n_tokens: int, folder: Path) -> list[Path]:
    """The files of a text, written if they are not there."""
    if not list(folder.glob(f"{n_tokens}-*")):
        cost(write_text, n_tokens, folder)
    return sorted(folder.glob(f"{n_tokens}-*"))


def write_text(n_tokens: int, folder: Path) -> None:
    for number, (X, y) in enumerate(labelled(n_tokens)):
        write_conll(folder / f"{n_tokens}-{number:04d}.tsv", X, y, sep="\t")


def corpus_of(n_tokens: int, folder: Path) -> Path:
    """The corpus folder of a text, written if it is not there."""
    corpus = folder / f"corpus-{n_tokens}"
    if not corpus.exists():
        cost(write, files_of(n_tokens, folder), corpus)
    return corpus


def write(paths: list[Path], folder: Path) -> int:
    """Write a corpus folder; its number of bytes."""
    corpus = write_corpus(paths, folder, sep="\t", transformer=WINDOW)
    return sum(path.stat().st_size for path in corpus.folder.rglob("*") if path.is_file())


def min_freq(n_tokens: int) -> int:
    """How often an attribute must occur to have weights."""
    return max(1, MIN_FREQ * n_tokens // 10**6)


def folder_rows(args: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """Write each text into a folder."""
    for n_tokens in args.sizes:
        found = cost(write, files_of(n_tokens, folder), folder / f"corpus-{n_tokens}")
        rate = f"{found.result / n_tokens:.1f}"
        yield [f"{n_tokens:,}", f"{found.seconds:.1f}", rate, megabytes(found.peak)]


def lbfgs_rows(args: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """Train in memory and out of core."""
    for n_tokens in args.sizes:
        work = corpus_of(n_tokens, folder), min_freq(n_tokens), args.iterations
        in_memory, out_of_core = cost(train_in_memory, *work), cost(train_out_of_core, *work)
        ratio = out_of_core.result.evaluation / in_memory.result.evaluation
        met = ratio <= 1.2 and out_of_core.peak <= 900 * 10**6
        for where, it, last in [
            ("in memory", in_memory, ["", megabytes(in_memory.peak), ""]),
            (
                "out of core",
                out_of_core,
                [f"{ratio:.2f}", megabytes(out_of_core.peak), yes_or_no(met)],
            ),
        ]:
            preparation, evaluation, n_weights = it.result
            seconds = [f"{preparation:.1f}", f"{evaluation:.2f}"]
            yield [where, f"{n_tokens:,}", f"{n_weights:,}", *seconds, *last]


class Training(NamedTuple):
    """CPU seconds of preparation and of an evaluation with its steps, and the number of weights."""

    preparation: float
    evaluation: float
    n_weights: int


def train_out_of_core(corpus: Path, least: int, n_iterations: int) -> Training:
    """Train a CRF by L-BFGS from a corpus folder."""
    start = time.process_time()
    reader = CRF(dtype="float32")
    with FolderShards(CorpusFolder(corpus), reader, min_freq=least) as shards:
        objective = Objective(shards.evaluation(log_loss, 1), sigma=1.0)
        return trained(objective, shards.shape.terms().n_weights, n_iterations, start)


def train_in_memory(corpus: Path, least: int, n_iterations: int) -> Training:
    """The same with all sequences in one shard in memory."""
    start = time.process_time()
    parts = list(CorpusFolder(corpus))
    X, y = (np.concatenate(sequences) for sequences in zip(*parts, strict=True))
    part = read_part(CRF(dtype="float32"), X, y)
    shape = Survey.of(part).shape(min_freq=least)
    shard = shape.shard(part, log_loss)
    objective = Objective(here([shard], 1), sigma=1.0)
    return trained(objective, shard.terms.n_weights, n_iterations, start)


def trained(objective: Callable, n_weights: int, n_iterations: int, start: float) -> Training:
    """Train, given when the preparation began."""
    prepared = time.process_time()
    result = lbfgs(objective, np.zeros(n_weights, dtype=np.float32), max_iter=n_iterations)
    evaluation = (time.process_time() - prepared) / result.nfev
    return Training(prepared - start, evaluation, n_weights)


def online_rows(args: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """Train for one epoch out of core, on the first size: the speed is the same for all."""
    for n_tokens in args.sizes[:1]:
        for name, estimator in ONLINE.items():
            corpus = corpus_of(n_tokens, folder)
            estimator.set_params(min_freq=min_freq(n_tokens))
            found = cost(train_online, estimator, corpus)
            speed = n_tokens / found.result
            met = yes_or_no(speed >= 150_000) if name == "SGD" else ""
            seconds, peak = f"{found.result:.1f}", megabytes(found.peak)
            yield [name, f"{n_tokens:,}", seconds, f"{speed:,.0f}", peak, met]


def train_online(estimator: Any, corpus: Path) -> float:
    """The CPU seconds of an epoch, without the preparation."""
    last = [0.0]

    def note(event: Any) -> None:
        if isinstance(event, Step):
            last[0] = time.process_time()

    with warnings.catch_warnings(), listening(note):
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(CorpusFolder(corpus))
    return time.process_time() - last[0]


def counting_rows(args: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """Count the text in parts that are made one after another, and at once."""
    for n_tokens in args.sizes:
        paths = files_of(n_tokens, folder)
        at_once, in_parts = cost(count_at_once, paths), cost(count_in_parts, paths)
        ratio = in_parts.seconds / at_once.seconds
        met = ratio <= 1.5 and in_parts.peak <= 1300 * 10**6
        seconds = [f"{at_once.seconds:.1f}", f"{in_parts.seconds:.1f}", f"{ratio:.2f}"]
        peaks = [megabytes(at_once.peak), megabytes(in_parts.peak)]
        yield [f"{n_tokens:,}", *seconds, *peaks, yes_or_no(met)]


def count_in_parts(paths: list[Path]) -> None:
    EmpiricalCRF().fit_parts(read_conll(path, sep="\t") for path in paths)


def count_at_once(paths: list[Path]) -> None:
    X, y = zip(*(read_conll(path, sep="\t") for path in paths), strict=True)
    EmpiricalCRF().fit(sum(X, []), sum(y, []))  # noqa: RUF017, the parts are few


def shard_rows(args: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """The objective as a sum over shards, against the objective of one corpus."""
    X, y = next(labelled(min(args.sizes[0], 100_000)))
    for features in ("all", "observed"):
        crf = CRF(features=features)
        results = []
        for n_parts in (1, 2, 4, 8):
            cuts = np.linspace(0, len(X), n_parts + 1).astype(int)
            parts = [read_part(crf, X[a:b], y[a:b]) for a, b in pairwise(cuts)]
            shape = Survey.unite(map(Survey.of, parts)).shape(features=features)
            shards = [shape.shard(part, log_loss) for part in parts]
            add_parts = elsewhere(
                [shard.columns for shard in shards],
                lambda own, shards=shards: map(Shard.evaluate, shards, own),
            )
            objective = Objective(add_parts, sigma=1.0)
            w = np.random.default_rng(0).normal(size=shape.terms().n_weights)
            seconds, (loss, gradient) = cpu_seconds(lambda of=objective, w=w: of(w), 3)
            results.append((loss, gradient, seconds))
            loss, gradient, seconds = results[0]
            apart = abs(results[-1][0] / loss - 1)
            far = np.abs(results[-1][1] - gradient).max() / np.abs(gradient).max()
            sent = np.mean([shard.terms.n_weights for shard in shards]) / len(w)
            yield [
                features,
                str(n_parts),
                f"{apart:.0e}",
                f"{far:.0e}",
                f"{100 * sent:.0f}",
                f"{results[-1][2] / seconds:.2f}",
                yes_or_no(max(apart, far) <= 1e-12),
            ]


def apart_rows(args: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """Count parts of the text each by itself, as workers do."""
    from _on_workers import count_apart  # not above: Dask takes memory that others would count

    for n_tokens in args.sizes:
        for n_parts in (2, 8):
            paths = files_of(n_tokens, folder)
            found = in_fresh_process(count_apart, paths, n_parts)
            sent = found.sent / found.compressed
            steps = (found.at_once, found.counting, found.merging, found.finishing)
            met = yes_or_no(found.ratio <= 1.5 and sent <= 1.2)
            seconds = [f"{it:.2f}" for it in (*steps, found.ratio, sent)]
            yield [f"{n_tokens:,}", str(n_parts), *seconds, met]


def worker_rows(args: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """Evaluate the objective of a CRF on two workers."""
    from _on_workers import evaluate_on_workers

    for n_tokens in args.sizes:
        corpus = corpus_of(n_tokens, folder)
        found = in_fresh_process(evaluate_on_workers, corpus, min_freq(n_tokens), args.iterations)
        allowed = 0.02 + found.n_bytes / 10**9
        met = found.overhead <= allowed and found.speedup >= 1.7
        steps = (found.at_once, found.longest, found.client, found.speedup)
        seconds = [f"{it:.3f}" for it in (*steps, found.overhead, allowed)]
        size = f"{found.n_bytes / 10**6:.1f}"
        yield [f"{n_tokens:,}", f"{found.n_weights:,}", size, *seconds, yes_or_no(met)]


def megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 10**6:.0f}"


TABLES = {
    "shards": (
        "The objective in shards, 100,000 tokens, float64",
        "features;shards;loss apart;gradient apart;weights of a shard, %;CPU, times one shard;"
        "met: 1e-12",
        shard_rows,
    ),
    "folder": (
        "Writing a corpus folder",
        "tokens;CPU s;bytes per token;memory",
        folder_rows,
    ),
    "lbfgs": (
        "CRF by L-BFGS",
        "where;tokens;weights;preparation s;evaluation s;times in memory;memory;"
        "met: 1.2 times, 900 MB",
        lbfgs_rows,
    ),
    "online": (
        "One epoch out of core",
        "training;tokens;CPU s;tokens per s;memory;met: 150,000 per s",
        online_rows,
    ),
    "counting": (
        "EmpiricalCRF, counting in parts",
        "tokens;at once, CPU s;in parts, CPU s;times;memory at once;in parts;"
        "met: 1.5 times, 1300 MB",
        counting_rows,
    ),
    "apart": (
        "EmpiricalCRF, parts counted apart",
        "tokens;parts;one fit, CPU s;counting;merging;estimating;times one fit;"
        "sent, times the most compressed;met: 1.5 times, 1.2 times",
        apart_rows,
    ),
    "workers": (
        "An evaluation of CRF on two worker processes of Dask",
        "tokens;weights;sent, MB;one process, CPU s;longest worker;client and scheduler;"
        "times as fast;overhead;allowed;met: 1.7 times, 20 ms and 1 GB/s",
        worker_rows,
    ),
}
"""The title, the columns and the rows of each table."""


if __name__ == "__main__":
    main()
