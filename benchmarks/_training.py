"""Training problems of CRF for encoded tokens, and the time of its solvers."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import scipy.sparse as sp
from _features import Encoded
from scipy.optimize import OptimizeResult

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.data.sums import state_scores
from sklearn_crcrf.estimators.crf.features import FEATURES
from sklearn_crcrf.labels.constraints.constraints import forbidden_scores
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.linear.problem import Problem
from sklearn_crcrf.linear.terms import numbered
from sklearn_crcrf.solvers import lbfgs, sgd
from sklearn_crcrf.structures import Chain, Scores

# L-BFGS goes on until the objective falls by less than this part of it in ten iterations.
TOL, MOST_ITERATIONS = 1e-8, 2000
# Minimum time over which evaluations are measured, in seconds.
LEAST_SECONDS = 0.5

Reached = Callable[[OptimizeResult], bool]


class Stopwatch:
    """A callback that ends a solver when a condition is reached, and measures the time.

    Parameters
    ----------
    n_threads : int
        With one thread the time is CPU time, else wall time. It runs from now on, but not during
        the callback.
    reached : callable
        The condition, a function of the OptimizeResult of an iteration.

    Attributes
    ----------
    elapsed : float
        Seconds.
    has_reached : bool
    """

    def __init__(self, n_threads: int, reached: Reached):
        self._clock, self._reached = clock_of(n_threads), reached
        self.elapsed, self.has_reached = 0.0, False
        self._started = self._clock()

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        self.elapsed += self._clock() - self._started
        self.has_reached = self._reached(intermediate_result)
        if self.has_reached:
            raise StopIteration
        self._started = self._clock()

    @property
    def seconds(self) -> float:
        """Time until the condition was reached; infinite if it never was."""
        return self.elapsed if self.has_reached else np.inf


def clock_of(n_threads: int) -> Callable[[], float]:
    return time.process_time if n_threads == 1 else time.perf_counter


def problem_of(
    encoded: Encoded, features: str, dtype: str = "float64", n_threads: int = 1
) -> Problem:
    """The problem of ``CRF(features=features, dtype=dtype, n_jobs=n_threads)``."""
    n_labels, weight = len(encoded.classes), np.ones(len(encoded.offsets) - 1)
    X = sp.csr_array(encoded.X.astype(dtype))
    corpus = Corpus(X, encoded.y, Chain(encoded.offsets), weight).longest_first()
    pairs, transitions = FEATURES[features](corpus, n_labels)
    return Problem(
        corpus=corpus,
        edge_attributes=np.empty(0, dtype=int),
        n_labels=n_labels,
        pairs=pairs,
        transitions=numbered(transitions),
        boundaries=False,
        criterion=log_loss,
        forbidden=forbidden_scores(None, n_labels),
        sigma=1.0,
        n_threads=n_threads,
    )


def zeros(problem: Problem) -> np.ndarray:
    return np.zeros(problem.terms().n_weights, dtype=problem.corpus.X.dtype)


def minimise(problem: Problem, stopwatch: Stopwatch, x0: np.ndarray) -> OptimizeResult:
    """Train by L-BFGS, until the objective falls no further."""
    return lbfgs(
        problem.objective(),
        x0,
        max_iter=MOST_ITERATIONS,
        tol=TOL,
        callback=stopwatch,
        n_threads=problem.n_threads,
    )


def duplicates(problem: Problem, x0: np.ndarray) -> tuple[Problem, np.ndarray]:
    """The objective that L-BFGS minimises in ``CRF``, and its initial weights."""
    problem, start = problem.merge_duplicates(problem.terms().named(x0))
    return problem, problem.vector(start)


def descend(problem: Problem, stopwatch: Stopwatch, n_epochs: int) -> OptimizeResult:
    """Train by stochastic descent, even where an epoch does not lower the objective."""
    rng = np.random.RandomState(0)
    options = {"max_iter": n_epochs, "tol": -np.inf, "callback": stopwatch, "rng": rng}
    return sgd(problem.batches(), zeros(problem), **options)


def seconds_per_evaluation(problem: Problem, n_iterations: int, runs: int) -> float:
    """Median seconds of the objective and its gradient, after some iterations of L-BFGS.

    Short ones are timed more often than ``runs``, as a process may be disturbed for a while.
    """
    problem, x0 = duplicates(problem, zeros(problem))
    objective, clock = problem.objective(), clock_of(problem.n_threads)
    x = lbfgs(objective, x0, max_iter=n_iterations).x
    seconds = []
    while len(seconds) < runs or sum(seconds) < LEAST_SECONDS:
        start = clock()
        objective(x)
        seconds.append(clock() - start)
    return median(seconds)


def predict(problem: Problem, x: np.ndarray, encoded: Encoded) -> SequenceArray:
    """The labels of the best paths of the test part."""
    weights = problem.terms().named(x)
    X, coef = encoded.X_test.astype(x.dtype), problem.coefficients(weights.state)
    scores = Scores.of(state_scores(X, coef, 0, X.shape[0]), weights.transition)
    _, y = Chain(encoded.test_offsets).maximum(scores)
    return SequenceArray(encoded.classes[y], encoded.test_offsets)
