"""What it costs to count parts apart, and to compute gradients on the workers of Dask."""

import pickle
import time
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from _common import cpu_seconds  # before numpy

# isort: split
import dask
import numpy as np
from distributed import Client, LocalCluster

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.counts import count, finish, merge
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.dask.counting import Packed
from sklearn_crcrf.dask.shards import DaskParts, DaskShards
from sklearn_crcrf.datasets import read_conll
from sklearn_crcrf.linear.objective import Objective, Shard, elsewhere, here
from sklearn_crcrf.linear.parts import Survey, read_part
from sklearn_crcrf.out_of_core import CorpusFolder

__all__ = ["Evaluation", "PartsApart", "count_apart", "evaluate_on_workers"]

N_WORKERS = 2
# As the guide says: by default workers return memory at once, and look at what they do every 10 ms.
SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.worker.profile.enabled": False,
}
ROUNDS = 4
READER = CRF(dtype="float32")


class Evaluation(NamedTuple):
    """CPU seconds of an evaluation on workers, without what they use when idle, and here.

    Parameters
    ----------
    n_weights : int
    n_bytes : int
        Of weights and derivatives that travel.
    at_once : float
        In this process, of all data as one shard.
    longest, workers : float
        Of the worker that takes longest, and of all workers.
    alone : float
        Of all workers, if they evaluate their shards without any message.
    client : float
        Of the client and the scheduler, which are in this process.
    """

    n_weights: int
    n_bytes: int
    at_once: float
    longest: float
    workers: float
    alone: float
    client: float

    @property
    def speedup(self) -> float:
        return self.at_once / (self.longest + self.client)

    @property
    def overhead(self) -> float:
        return self.workers + self.client - self.alone


def evaluate_on_workers(corpus: Path, least: int, n_evaluations: int) -> Evaluation:
    """Measure evaluations of the objective of a CRF, with half of a folder on each worker."""
    options: dict[str, Any] = {"min_freq": least, "features": "observed"}
    pairs = [dask.delayed(read_piece)(corpus, number, N_WORKERS) for number in range(N_WORKERS)]
    quiet: dict[str, Any] = {"dashboard_address": None, "silence_logs": 60, "threads_per_worker": 1}
    with (
        dask.config.set(SETTINGS),
        LocalCluster(n_workers=N_WORKERS, **quiet) as cluster,
        Client(cluster) as client,
    ):
        parts = [(pair[0], pair[1], None) for pair in pairs]
        shards = DaskShards(DaskParts(parts, READER, client, **options), client, None)
        w = np.zeros(shards.shape.terms().n_weights, dtype=np.float32)
        gradients = shards.gradients(log_loss, 1)
        objective = Objective(elsewhere(gradients.columns, gradients), sigma=1.0)
        expected = objective(w)
        own = [columns.take(w) for columns in gradients.columns]
        n = max(1, n_evaluations // ROUNDS)
        *used, alone = cpu_of_evaluations(client, objective, w, gradients._shards, own, n)
    apart = [read_piece(corpus, number, N_WORKERS) for number in range(N_WORKERS)]
    _, found, n_bytes = evaluate_here(apart, w, 1, options)
    assert found[0] == expected[0] and np.array_equal(found[1], expected[1])
    at_once, _, _ = evaluate_here([read_piece(corpus, 0, 1)], w, n_evaluations, options)
    client_cpu, *workers = used
    return Evaluation(len(w), n_bytes, at_once, max(workers), sum(workers), alone, client_cpu)


def cpu_of_evaluations(
    client: Client,
    objective: Objective,
    w: np.ndarray,
    shards: list[Any],
    own: list[np.ndarray],
    n_evaluations: int,
) -> list[float]:
    """CPU seconds of this process, of each worker, and of all workers without any message.

    The median of rounds in which both are measured in turn, because other programs slow both down.
    """
    rounds = []
    for _ in range(ROUNDS):
        idle, seconds = cpu_of(client, lambda: time.sleep(1))
        used, elapsed = cpu_of(client, lambda: [objective(w) for _ in range(n_evaluations)])
        used = (used - idle / seconds * elapsed) / n_evaluations
        numbers = [n_evaluations] * len(shards)
        alone = client.gather(client.map(evaluate_alone, shards, own, numbers, pure=False))
        rounds.append([*used, sum(alone)])
    return np.median(rounds, axis=0).tolist()


def evaluate_alone(shard: Shard, own: np.ndarray, n_evaluations: int) -> float:
    """CPU seconds of an evaluation on a worker."""
    start = time.thread_time()
    for _ in range(n_evaluations):
        shard.evaluate(own)
    return (time.thread_time() - start) / n_evaluations


def read_piece(corpus: Path, number: int, n_pieces: int) -> tuple[Any, Any]:
    """One of several pieces of a corpus folder with about as many sequences."""
    X, y = (np.concatenate(pieces) for pieces in zip(*CorpusFolder(corpus), strict=True))
    cut = slice(number * len(X) // n_pieces, (number + 1) * len(X) // n_pieces)
    return X[cut], y[cut]


def evaluate_here(
    parts: list[tuple[Any, Any]], w: np.ndarray, n_evaluations: int, options: dict[str, Any]
) -> tuple[float, tuple[float, np.ndarray], int]:
    """CPU seconds of an evaluation in this process; its value, and the bytes that would travel."""
    read = [read_part(READER, X, y) for X, y in parts]
    shape = Survey.unite(map(Survey.of, read)).shape(**options)
    shards = [shape.shard(part, log_loss) for part in read]
    objective = Objective(here(shards, 1), sigma=1.0)
    seconds, value = cpu_seconds(lambda: objective(w), n_evaluations)
    return seconds, value, 2 * w.itemsize * sum(shard.terms.n_weights for shard in shards)


def cpu_of(client: Client, work: Callable[[], Any]) -> tuple[np.ndarray, float]:
    """CPU seconds of this process and of each worker during some work, and its time."""
    before, begin = cpu_now(client), time.perf_counter()
    work()
    elapsed = time.perf_counter() - begin
    return cpu_now(client) - before, elapsed


def cpu_now(client: Client) -> np.ndarray:
    return np.array([time.process_time(), *client.run(time.process_time).values()])


class PartsApart(NamedTuple):
    """CPU seconds of one fit and of its steps in parts; what travels, and the smallest size."""

    at_once: float
    counting: float
    merging: float
    finishing: float
    sent: int
    compressed: int

    @property
    def ratio(self) -> float:
        return (self.counting + self.merging + self.finishing) / self.at_once


def count_apart(paths: list[Path], n_parts: int) -> PartsApart:
    """Count parts of a text, each by itself, as workers do, and merge them at once."""
    texts = [read_conll(path, sep="\t") for path in paths]
    X, y = ([sequence for text in texts for sequence in text[k]] for k in range(2))
    cuts = pairwise(np.linspace(0, len(X), n_parts + 1).astype(int).tolist())
    pieces = [(X[a:b], y[a:b]) for a, b in cuts]
    at_once, _ = cpu_seconds(lambda: EmpiricalCRF().fit(X, y), 3)
    counting, parts = cpu_seconds(lambda: [count(EmpiricalCRF(), *piece) for piece in pieces], 3)
    merging, total = cpu_seconds(lambda: merge(*parts), 3)
    finishing, _ = cpu_seconds(lambda: finish(EmpiricalCRF(), total), 3)
    sent = sum(len(pickle.dumps(Packed(part), protocol=5)) for part in parts)
    compressed = sum(len(zlib.compress(pickle.dumps(part, protocol=5), 9)) for part in parts)
    return PartsApart(at_once, counting, merging, finishing, sent, compressed)
