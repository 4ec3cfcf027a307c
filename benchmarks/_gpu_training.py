"""Training of CRF on a GPU: evaluations and where their time goes, whole runs, and memory."""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from _common import yes_or_no
from _features import encode
from _training import duplicates, predict, problem_of, zeros
from scipy.optimize import OptimizeResult

from sklearn_crcrf.linear.on_device import DeviceObjective, minimise
from sklearn_crcrf.linear.problem import Problem
from sklearn_crcrf.metrics import segment_f1, token_accuracy
from sklearn_crcrf.structures.chain.on_device import DeviceChain, Memory, TimeMajor

# As in CRF by default; the objectives agree up to this part of them.
TOL, MOST_ITERATIONS, CLOSE = 1e-5, 1000, 1e-5
RUNS, MANY_TOKENS = 10, 10_000_000


class Task(NamedTuple):
    """A training problem, and what is wanted.

    Parameters
    ----------
    title, corpus, features : str
    seconds : float
        Of training on one H100 or H200.
    objective : float or None
        Of the kernels of the package, to the same tolerance.
    """

    title: str
    corpus: str
    features: str
    seconds: float
    objective: float | None


TASKS = [
    Task("chunking, all features", "chunking", "all", 1.0, 7705.38),
    Task("chunking, observed features", "chunking", "observed", 1.2, 8930.38),
    Task("Brown 32623-1000, observed features", "32623-1000", "observed", 5.5, None),
]


def training_tables(args: argparse.Namespace, device: str) -> None:
    """Report evaluations and whole runs in float32, by wall time, on a device of torch."""
    columns = ["problem", "weights", "evaluation, ms", "products", "recursions", "training, s"]
    more = ["iterations", "objective", "on the test part, %", "memory, MB", "target, s", "met"]
    args.report.table(
        "Training of CRF, float32, wall time", [*columns, *more], _training(args, device)
    )
    columns = ["tokens", "batches", "evaluation, s", "million tokens/s", "memory, MB"]
    args.report.table("Many tokens: sentences of Brown, repeated", columns, _many(args, device))
    columns = ["sentences, tokens, labels", "torch-struct, ms", "here, ms"]
    args.report.table("Log-partitions and derivatives", columns, _beside_others(device))


def _training(args: argparse.Namespace, device: str) -> Iterator[list[str]]:
    for task in TASKS:
        encoded = encode(task.corpus, args)
        problem = problem_of(encoded, task.features, dtype="float32")
        n_weights = problem.terms().n_weights
        problem, x0 = duplicates(problem, zeros(problem))
        _forget_memory(device)
        times = _evaluation(problem, device)
        seconds, result = _timed(partial(_trained, problem, x0, device), device)
        predicted, gold = predict(problem, result.x, encoded), encoded.splits.test[1]
        score = segment_f1 if task.corpus == "chunking" else token_accuracy
        is_close = task.objective is None or result.fun <= task.objective * (1 + 10 * CLOSE)
        yield [
            task.title,
            f"{n_weights:,}",
            *(f"{1e3 * time:.2f}" for time in times),
            f"{seconds:.2f}",
            str(result.nit),
            f"{result.fun:.2f}",
            f"{100 * score(gold, predicted):.2f}",
            _memory(device),
            f"{task.seconds}",
            yes_or_no(seconds <= task.seconds and is_close),
        ]


def _trained(problem: Problem, x0: np.ndarray, device: str) -> OptimizeResult:
    how = {"max_iter": MOST_ITERATIONS, "tol": TOL, "callback": lambda _: None}
    return minimise(problem, x0, device, **how)


def _evaluation(problem: Problem, device: str) -> Iterator[float]:
    """Yield the seconds of an evaluation, of its products, and of its recursions."""
    objective = DeviceObjective(problem, torch.device(device))
    w = torch.zeros(problem.terms().n_weights, device=device)
    yield _median(lambda: objective(w), device)
    (part,) = objective.parts
    rows = torch.zeros((part.X.shape[1], problem.n_labels), device=device)
    state = part.X @ rows
    yield _median(lambda: (part.X @ rows, part.transposed @ state), device)
    yield _median(part.loss.chain.run, device)


def _many(args: argparse.Namespace, device: str) -> Iterator[list[str]]:
    problem = problem_of(encode("32623-1000", args), "observed", dtype="float32")
    corpus = problem.corpus
    times = max(1, round(MANY_TOKENS / corpus.X.shape[0]))
    many = corpus.take(np.repeat(np.arange(len(corpus.weight)), times))
    _forget_memory(device)
    objective = DeviceObjective(problem._replace(corpus=many), torch.device(device))
    w = torch.zeros(problem.terms().n_weights, device=device)
    objective(w)
    seconds, _ = _timed(lambda: objective(w), device)
    n_tokens = many.X.shape[0]
    rate = n_tokens / seconds / 1e6
    yield [
        f"{n_tokens:,}",
        str(len(objective.parts)),
        f"{seconds:.2f}",
        f"{rate:.1f}",
        _memory(device),
    ]


def _beside_others(name: str) -> Iterator[list[str]]:
    """Log-partitions of random scores, by autograd of torch-struct if it is installed."""
    for n_sequences, n_tokens, n_labels in ((256, 64, 22), (32, 128, 205)):
        rng, device = np.random.default_rng(0), torch.device(name)
        order = TimeMajor(np.arange(n_sequences + 1) * n_tokens)
        chain = DeviceChain(order, np.ones(n_sequences), Memory(n_labels, np.float32, device))
        chain.scores.copy_(torch.tensor(rng.normal(size=(n_sequences * n_tokens, n_labels))))
        transition = rng.normal(size=(n_labels, n_labels))
        ours = _median(partial(chain.expected, transition), name)
        shape = n_sequences, n_tokens - 1, n_labels, n_labels
        try:
            theirs = f"{1e3 * _median(partial(_by_torch_struct, shape, device), name):.2f}"
        except ImportError:
            theirs = "not installed"
        except RuntimeError as error:
            theirs = str(error).partition("\n")[0][:60]  # such as too little memory
        yield [f"{n_sequences}, {n_tokens}, {n_labels}", theirs, f"{1e3 * ours:.2f}"]


def _by_torch_struct(shape: tuple[int, ...], device: torch.device) -> None:
    import torch_struct

    potentials = torch.randn(shape, device=device, requires_grad=True)
    torch_struct.LinearChainCRF(potentials).partition.sum().backward()


def _timed(function: Callable, device: str) -> tuple[float, OptimizeResult]:
    _wait(device)
    start = perf_counter()
    result = function()
    _wait(device)
    return perf_counter() - start, result


def _median(function: Callable, device: str) -> float:
    function()
    return median(_timed(function, device)[0] for _ in range(RUNS))


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def _forget_memory(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _memory(device: str) -> str:
    """Return the largest number of MB of the card that were in use."""
    if not device.startswith("cuda"):
        return ""
    return f"{torch.cuda.max_memory_allocated() / 1e6:,.0f}"
