"""Training by CRF and by python-crfsuite, from the same encoded tokens."""

import argparse
import os
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple
from unittest import mock

from _common import cpu_seconds, in_fresh_process
from _crfsuite import Peer, tag
from _features import Encoded, encode
from _training import (
    Stopwatch,
    descend,
    duplicates,
    minimise,
    predict,
    problem_of,
    seconds_per_evaluation,
    zeros,
)
from _verdicts import ratio_row
from scipy.optimize import OptimizeResult
from sklearn_crcrf._kernels.machine import instruction_sets

from sklearn_crcrf import SequenceArray, StructuredPerceptron
from sklearn_crcrf.metrics import segment_f1

# Objectives that differ by no more than this part of them are the same.
TOLERANCE = 1e-5
# Epochs of stochastic descent before L-BFGS.
EPOCHS = 10
# F1 that stochastic descent must reach, the maximum number of epochs, and how many of them
# python-crfsuite took when it was last measured.
F1, MOST_EPOCHS, PEER_EPOCHS = 0.936, 80, 30
PERCEPTRON_EPOCHS = 20


class Entry(NamedTuple):
    """A setting of CRF, and its target: how many times faster it should be."""

    target: float | None = None
    dtype: str = "float64"
    n_threads: int = 1
    n_epochs: int = 0

    def __str__(self) -> str:
        epochs = f", after {self.n_epochs} epochs of sgd" if self.n_epochs else ""
        threads = f", {self.n_threads} threads, wall time" if self.n_threads > 1 else ""
        return f"{self.dtype}{threads}{epochs}"


class Contest(NamedTuple):
    """A training problem for both packages.

    Parameters
    ----------
    title, corpus, features : str
    evaluation, training : list of Entry
        For one evaluation, and for training to the same objective.
    n_iterations : int
        Number of iterations in which, or after which, evaluations are timed.
    peer : tuple of (int, float), optional
        Number of evaluations and final objective of python-crfsuite when last measured.
    """

    title: str
    corpus: str
    features: str
    evaluation: list[Entry]
    training: list[Entry]
    n_iterations: int = 10
    peer: tuple[int, float] | None = None


CONTESTS = {
    "chunking-observed": Contest(
        "chunking, observed features",
        "chunking",
        "observed",
        evaluation=[Entry(6), Entry(9, n_threads=2), Entry(dtype="float32")],
        training=[Entry(6), Entry(9, n_threads=2)],
        peer=(208, 8930.38),
    ),
    "chunking-all": Contest(
        "chunking, all features",
        "chunking",
        "all",
        evaluation=[Entry(13), Entry(dtype="float32")],
        training=[Entry(7), Entry(10, "float32"), Entry(15, "float32", n_epochs=EPOCHS)],
        peer=(188, 7705.38),
    ),
    "ner": Contest(
        "Dutch named entities, observed features",
        "ner",
        "observed",
        evaluation=[Entry(4), Entry(6, n_threads=2)],
        training=[Entry(4), Entry(6, n_threads=2)],
        peer=(290, 19591.15),
    ),
    "brown": Contest(
        "Brown 1000-4000, observed features",
        "1000-4000",
        "observed",
        evaluation=[Entry(7), Entry(13, "float32")],
        training=[Entry(7), Entry(13, "float32")],
        peer=(102, 13503.96),
    ),
    "brown-large": Contest(
        "Brown 32623-1000, observed features",
        "32623-1000",
        "observed",
        evaluation=[Entry(8), Entry(16, "float32"), Entry(8 * 1.7, n_threads=2)],
        training=[],
        n_iterations=1,
    ),
}
BASELINE_TARGET = 2.5
F1_ENTRIES = [("observed", "float64", 20), ("all", "float64", 20), ("all", "float32", 20)]


def contest_rows(contest: Contest, args: argparse.Namespace) -> Iterator[list[str]]:
    """Train with both packages."""
    encoded = encode(contest.corpus, args)
    peer = Peer(encoded.strings(), encoded.splits.train[1], features=contest.features)
    theirs = peer.seconds_per_evaluation(contest.n_iterations)
    for entry in contest.evaluation:
        problem = problem_of(encoded, contest.features, entry.dtype, entry.n_threads)
        ours = seconds_per_evaluation(problem, contest.n_iterations, args.runs)
        yield ratio_row(f"{contest.title}: one evaluation, {entry}", theirs, ours, entry.target)
    if contest.training:
        yield from training_rows(contest, encoded, peer, theirs if args.quick else None)


def training_rows(
    contest: Contest, encoded: Encoded, peer: Peer, per_evaluation: float | None
) -> Iterator[list[str]]:
    """Train until the objective is within TOLERANCE of the final one of python-crfsuite.

    If the seconds of one of its evaluations are given, how many it takes is taken as known.
    """
    if per_evaluation is None:
        trace = peer.train()
        n_theirs, end = trace.n_evaluations, trace.objective[-1]
        theirs = trace.seconds_to(end * (1 + TOLERANCE))
    else:
        n_theirs, end = contest.peer
        theirs = n_theirs * per_evaluation
    for entry in contest.training:
        ours, n_ours = time_training(contest, entry, encoded, end * (1 + TOLERANCE))
        what = f"{contest.title}: training to {end:.2f}, {n_ours} evaluations against {n_theirs}"
        yield ratio_row(f"{what}, {entry}", theirs, ours, entry.target)


def time_training(
    contest: Contest, entry: Entry, encoded: Encoded, level: float
) -> tuple[float, int]:
    """Seconds until the objective has fallen to a level, and evaluations by L-BFGS."""

    def is_low(result: OptimizeResult) -> bool:
        return result.fun <= level

    x0, seconds = None, 0.0
    if entry.n_epochs:
        stopwatch = Stopwatch(entry.n_threads, is_low)
        problem = problem_of(encoded, contest.features, entry.dtype, entry.n_threads)
        x0 = descend(problem, stopwatch, entry.n_epochs).x
        seconds = stopwatch.elapsed
    stopwatch = Stopwatch(entry.n_threads, is_low)
    problem = problem_of(encoded, contest.features, entry.dtype, entry.n_threads)
    problem, x0 = duplicates(problem, zeros(problem) if x0 is None else x0)
    n_evaluations = minimise(problem, stopwatch, x0).nfev
    return seconds + stopwatch.seconds, n_evaluations


def baseline_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """One evaluation with the instructions that every processor has, if they were compiled."""
    if "baseline" not in instruction_sets():
        print('for the baseline, compile all with "SKLEARN_CRCRF_BUILD=all pip install -e ."')
        return
    contest = CONTESTS["brown"]
    encoded = encode(contest.corpus, args)
    peer = Peer(encoded.strings(), encoded.splits.train[1], features=contest.features)
    theirs = peer.seconds_per_evaluation(contest.n_iterations)
    with mock.patch.dict(os.environ, SKLEARN_CRCRF_INSTRUCTIONS="baseline"):
        ours = in_fresh_process(_evaluate, contest, encoded, args.runs)
    what = f"{contest.title}: one evaluation, float64, baseline instructions"
    yield ratio_row(what, theirs, ours, BASELINE_TARGET)


def _evaluate(contest: Contest, encoded: Encoded, runs: int) -> float:
    problem = problem_of(encoded, contest.features)
    return seconds_per_evaluation(problem, contest.n_iterations, runs)


def f1_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Stochastic descent until the F1 of the test chunks reaches its target."""
    encoded = encode("chunking", args)
    theirs, n_theirs = peer_to_f1(encoded, PEER_EPOCHS if args.quick else None)
    y_test = encoded.splits.test[1]

    def is_good(result: OptimizeResult) -> bool:
        return segment_f1(y_test, predict(problem, result.x, encoded)) >= F1

    for features, dtype, target in F1_ENTRIES:
        stopwatch = Stopwatch(1, is_good)
        problem = problem_of(encoded, features, dtype)
        n_ours = descend(problem, stopwatch, MOST_EPOCHS).nit
        what = f"chunking, {features} features: sgd to F1 of {100 * F1:g}, {dtype}"
        yield ratio_row(
            f"{what}, {n_ours} epochs against {n_theirs}", theirs, stopwatch.seconds, target
        )


def perceptron_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """An epoch of the averaged perceptron, of as many as both make."""
    encoded, n_epochs = encode("chunking", args), PERCEPTRON_EPOCHS
    X, (_, y), (_, y_test) = encoded.X, encoded.splits.train, encoded.splits.test
    peer = Peer(encoded.strings(), y, algorithm="ap")
    seconds = peer.train(max_iterations=n_epochs, epsilon=0.0).seconds
    perceptron = StructuredPerceptron(max_iter=n_epochs, random_state=0)
    ours, _ = cpu_seconds(lambda: perceptron.fit(SequenceArray(X, encoded.offsets), y))
    predicted = perceptron.predict(SequenceArray(encoded.X_test, encoded.test_offsets))
    f1 = f"F1 of {100 * segment_f1(y_test, predicted):.2f}"
    what = f"chunking, averaged perceptron: an epoch, of {perceptron.n_iter_} to {f1}"
    yield ratio_row(what, seconds[-1] / len(seconds), ours / perceptron.n_iter_, 1)


def peer_to_f1(encoded: Encoded, n_epochs: int | None) -> tuple[float, int]:
    """Seconds and epochs of the stochastic descent of python-crfsuite; the epochs may be known."""
    peer = Peer(encoded.strings(), encoded.splits.train[1], algorithm="l2sgd")
    attributes, y_test = encoded.test_strings(), encoded.splits.test[1]

    def is_good(n_epochs: int) -> bool:
        model = peer.model(max_iterations=n_epochs)
        return segment_f1(y_test, tag(model, attributes)) >= F1

    if n_epochs is None:
        too_few, enough = 0, 5
        while enough < MOST_EPOCHS and not is_good(enough):
            too_few, enough = enough, 2 * enough
        between = range(too_few + 1, enough)
        n_epochs = too_few + 1 + bisect_left(between, True, key=is_good)
    return peer.train(max_iterations=n_epochs).seconds[-1], n_epochs
