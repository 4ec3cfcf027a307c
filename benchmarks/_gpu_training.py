"""Training of CRF on a GPU: whether it is right, how fast it is, where its time goes, memory."""

import argparse
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from _common import yes_or_no
from _features import encode
from _training import duplicates, predict, problem_of, zeros

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.linear.on_device import DeviceObjective, minimise
from sklearn_crcrf.linear.problem import Problem
from sklearn_crcrf.metrics import segment_f1, token_accuracy
from sklearn_crcrf.solvers import lbfgs
from sklearn_crcrf.structures.chain.on_device import DeviceChain, Memory, TimeMajor
from sklearn_crcrf.torch import ChainCRF

Row = Callable[[], list[str]]

# As in CRF by default; the objectives agree up to this part of them.
TOL, MOST_ITERATIONS, CLOSE = 1e-5, 1000, 1e-5
RUNS, MANY_TOKENS = 10, 10_000_000
# Of the objective and its derivatives on a small problem, relative to the kernels.
LARGEST_ERROR = {"float32": 1e-4, "float64": 1e-9}


class Task(NamedTuple):
    """A training problem, and what is wanted.

    Parameters
    ----------
    title, corpus, features : str
    seconds : float
        Of training on one H100 or H200.
    objective : float or None
        Of the kernels of the package, to the same tolerance, where they take seconds.
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


def attempts(rows: Iterable[Row], n_columns: int, failed: list[str]) -> Iterator[list[str]]:
    """Yield rows; where one fails, say why, keep that in ``failed``, and go on."""
    for row in rows:
        try:
            yield row()
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            failed.append(f"{type(error).__name__}: {error}".partition("\n")[0][:100])
            yield [failed[-1], *[""] * (n_columns - 1)]


CHECKED = ["what", "error of the objective", "of its derivatives", "largest", "right"]


def checks(device: str) -> Iterator[Row]:
    """Compare small problems, layers and a trained model with the kernels."""
    X, y = make_addresses(100, random_state=0)
    partial_y = [[None if i % 3 == 0 else label for i, label in enumerate(labels)] for labels in y]
    rng = np.random.default_rng(0)
    dense = SequenceArray.from_lengths(rng.normal(size=(sum(map(len, X)), 5)), [*map(len, X)])
    for dtype in LARGEST_ERROR:
        for criterion in ("log_loss", "softmax_margin", "pseudo_likelihood", "piecewise"):
            crf = CRF(criterion, dtype=dtype, boundaries=True, constraints="IOB2")
            yield partial(_check, f"{criterion}, {dtype}", crf, X, y, device)
        crf = CRF(dtype=dtype, features="observed")
        yield partial(_check, f"partial labels, {dtype}", crf, X, partial_y, device)
        yield partial(_check, f"sums that underflow, {dtype}", crf, X, y, device, scale=100.0)
        yield partial(_check, f"batches, {dtype}", crf, X, y, device, most=200)
        yield partial(_check, f"dense attributes, {dtype}", crf, dense, y, device)
    yield partial(_check_layer, device)
    yield partial(_check_model, X, y, device)


def _check(
    what: str, crf: Any, X: Any, y: Any, device: str, scale: float = 1.0, most: int | None = None
) -> list[str]:
    crf = crf._unfitted()
    corpus = crf._read(X, y, None).longest_first()
    crf._n_seen = corpus.weight.sum()
    problem = crf._problem(corpus, None)
    w = np.random.default_rng(1).normal(scale=scale, size=problem.terms().n_weights)
    loss, gradient = problem.objective()(w.astype(crf.dtype))
    objective = DeviceObjective
    if most is not None:
        objective = type("InBatches", (DeviceObjective,), {"_most_tokens": lambda *_: most})
    there = objective(problem, torch.empty(0, device=device).device)
    w_there = torch.tensor(w.astype(crf.dtype), device=device)
    there(w_there)  # the second time, what was captured is replayed
    found, derivatives = there(w_there)
    errors = [abs(found / loss - 1), _difference(derivatives, gradient)]
    return _checked(what, errors, LARGEST_ERROR[crf.dtype])


def _check_layer(device: str) -> list[str]:
    torch.manual_seed(0)
    found = []
    scores, labels = torch.randn(8, 12, 5), torch.randint(5, (8, 12))
    for name in ("cpu", device):
        x = scores.to(name).requires_grad_()
        loss = ChainCRF(5).to(name)(x, labels.to(name), lengths=torch.arange(5, 13))
        loss.backward()
        found.append((loss.item(), x.grad))
    (loss, gradient), (there, derivatives) = found
    errors = [abs(there / loss - 1), _difference(derivatives, gradient.numpy())]
    return _checked("layer, float32", errors, LARGEST_ERROR["float32"])


def _check_model(X: Any, y: Any, device: str) -> list[str]:
    here, there = (CRF(tol=1e-8, device=name).fit(X, y) for name in (None, device))
    errors = [
        abs(there.loss_curve_[-1] / here.loss_curve_[-1] - 1),
        np.mean(np.concatenate(there.predict(X)) != np.concatenate(here.predict(X))),
    ]
    return _checked("trained, and share of other labels", errors, CLOSE)


def _checked(what: str, errors: list[float], largest: float) -> list[str]:
    is_right = all(error <= largest for error in errors)
    return [what, *(f"{e:.0e}" for e in errors), f"{largest:.0e}", yes_or_no(is_right)]


def _difference(tensor: torch.Tensor, array: np.ndarray) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(tensor.cpu().numpy() - array).max() / np.abs(array).max())


TRAINED = [
    "problem",
    "weights",
    "evaluation, ms",
    "products",
    "recursions",
    "training, s",
    "iterations",
    "evaluations",
    "outside of them, %",
    "objective",
    "error at these weights",
    "change of weights in a second run",
    "other labels than the CPU's",
    "on the test part, %",
    "memory, MB",
    "target, s",
    "met",
]


def training(args: argparse.Namespace, device: str) -> Iterator[Row]:
    """Evaluate, and train twice, in float32; some problems on the CPU, too."""
    return (partial(_train, task, args, device) for task in TASKS)


def _train(task: Task, args: argparse.Namespace, device: str) -> list[str]:
    encoded = encode(task.corpus, args)
    n_threads = os.cpu_count() or 1
    problem = problem_of(encoded, task.features, dtype="float32", n_threads=n_threads)
    n_weights = problem.terms().n_weights
    problem, x0 = duplicates(problem, zeros(problem))
    _forget_memory(device)
    times = [*_evaluation(problem, device)]
    how = {"max_iter": MOST_ITERATIONS, "tol": TOL, "callback": lambda _: None}
    (seconds, result), (_, again) = (
        _timed(lambda: minimise(problem, x0.copy(), device, **how), device) for _ in range(2)
    )
    memory, objective = _memory(device), problem.objective()
    error = abs(result.fun / objective(result.x)[0] - 1)
    predicted, gold = predict(problem, result.x, encoded), encoded.splits.test[1]
    score = segment_f1 if task.corpus == "chunking" else token_accuracy
    others, met = "", seconds <= task.seconds and error <= CLOSE
    if task.objective is not None:
        x = lbfgs(objective, x0, n_threads=n_threads, **how).x
        n_others = (predict(problem, x, encoded).data != predicted.data).sum()
        others = f"{n_others:,} of {len(predicted.data):,}"
        met &= args.sentences is not None or result.fun <= task.objective * (1 + CLOSE)
    return [
        task.title,
        f"{n_weights:,}",
        *(f"{1e3 * time:.2f}" for time in times),
        f"{seconds:.2f}",
        str(result.nit),
        str(result.nfev),
        f"{100 * max(0.0, 1 - result.nfev * times[0] / seconds):.0f}",
        f"{result.fun:.2f}",
        f"{error:.0e}",
        f"{np.abs(result.x - again.x).max():.0e}",
        others,
        f"{100 * score(gold, predicted):.2f}",
        memory,
        f"{task.seconds}",
        yes_or_no(met),
    ]


def _evaluation(problem: Problem, device: str) -> Iterator[float]:
    """Yield the seconds of an evaluation, of its products, and of its recursions."""
    objective = DeviceObjective(problem, torch.empty(0, device=device).device)
    w = torch.zeros(problem.terms().n_weights, device=device)
    yield _median(lambda: objective(w), device)
    rows, parts = torch.zeros((problem.corpus.X.shape[1], problem.n_labels)), objective.parts
    rows = rows.to(device)
    states = [part.X @ rows for part in parts]

    def products() -> None:
        for part, state in zip(parts, states, strict=True):
            _ = part.X @ rows, part.transposed @ state

    yield _median(products, device)
    yield _median(lambda: [part.loss.chain.run() for part in parts], device)


MANY = [
    "tokens",
    "batches",
    "first evaluation, s",
    "evaluation, s",
    "million tokens/s",
    "memory, MB",
]


def many_tokens(args: argparse.Namespace, device: str) -> Iterator[Row]:
    """Evaluate once on the sentences of Brown, each many times."""

    def row() -> list[str]:
        problem = problem_of(encode("32623-1000", args), "observed", dtype="float32")
        corpus = problem.corpus
        times = max(1, round(MANY_TOKENS / corpus.X.shape[0]))
        many = corpus.take(np.repeat(np.arange(len(corpus.weight)), times))
        _forget_memory(device)
        whole = problem._replace(corpus=many)
        w = torch.zeros(problem.terms().n_weights, device=device)

        def begin() -> DeviceObjective:
            objective = DeviceObjective(whole, torch.empty(0, device=device).device)
            objective(w)
            return objective

        first, objective = _timed(begin, device)
        seconds, _ = _timed(lambda: objective(w), device)
        n_tokens = many.X.shape[0]
        rate = n_tokens / seconds / 1e6
        n_parts, times = len(objective.parts), (f"{first:.1f}", f"{seconds:.3f}")
        return [f"{n_tokens:,}", str(n_parts), *times, f"{rate:.1f}", _memory(device)]

    yield row


SUMS = ["sentences, tokens, labels", "torch-struct, ms", "here, ms"]
SHAPES = ((256, 64, 22), (32, 128, 205))


def log_partitions(device: str) -> Iterator[Row]:
    """Sum over random scores; torch-struct, if it is installed, does so with autograd."""
    return (partial(_log_partitions, shape, device) for shape in SHAPES)


def _log_partitions(shape: tuple[int, int, int], name: str) -> list[str]:
    n_sequences, n_tokens, n_labels = shape
    rng, device = np.random.default_rng(0), torch.empty(0, device=name).device
    order = TimeMajor(np.arange(n_sequences + 1) * n_tokens)
    chain = DeviceChain(order, np.ones(n_sequences), Memory(n_labels, np.float32, device))
    chain.scores.copy_(torch.tensor(rng.normal(size=(n_sequences * n_tokens, n_labels))))
    transition = rng.normal(size=(n_labels, n_labels))
    ours = _median(partial(chain.expected, transition), name)
    pairs = n_sequences, n_tokens - 1, n_labels, n_labels
    try:
        theirs = f"{1e3 * _median(partial(_by_torch_struct, pairs, device), name):.2f}"
    except ImportError:
        theirs = "not installed"
    except RuntimeError as error:
        theirs = str(error).partition("\n")[0][:60]  # such as too little memory
    return [", ".join(map(str, shape)), theirs, f"{1e3 * ours:.2f}"]


def _by_torch_struct(shape: tuple[int, ...], device: torch.device) -> None:
    import torch_struct

    potentials = torch.randn(shape, device=device, requires_grad=True)
    torch_struct.LinearChainCRF(potentials).partition.sum().backward()


def _timed(function: Callable[[], Any], device: str) -> tuple[float, Any]:
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
