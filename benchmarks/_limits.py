"""Speed of the kernels, relative to the limits of one core and its memory."""

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from _common import cpu_seconds
from _features import encode
from _training import problem_of

from sklearn_crcrf.linear.factoring import factor
from sklearn_crcrf.linear.problem import Problem
from sklearn_crcrf.structures import Scores

COLUMNS = ["what", "CPU ms", "rate", "limit", "share of it"]
CORPORA = {"chunking": "chunking", "1000-4000": "Brown 1000-4000"}
# Numbers in each of two arrays that are copied, and rows of matrices that are multiplied.
N_COPIED, N_ROWS = 2**25, 1500

Kernel = tuple[Callable[[], object], float]
"""What is timed, and how many bytes it moves or operations it does."""


def limit_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Rates of copies of large arrays, of products of large matrices, and of kernels."""
    seconds, n_bytes = timed(copy_of_array(), args.runs)
    bandwidth = n_bytes / seconds
    yield [f"copy of {n_bytes / 2e6:.0f} MB", *cells(seconds, n_bytes, "GB/s")]
    peaks = {}
    for dtype in ("float64", "float32"):
        seconds, n_operations = timed(product_of_matrices(dtype), args.runs)
        peaks[dtype] = n_operations / seconds
        yield [f"product of matrices, {dtype}", *cells(seconds, n_operations, "Gflop/s")]
    for corpus, title in CORPORA.items():
        encoded = encode(corpus, args)
        for dtype, peak in peaks.items():
            problem = problem_of(encoded, "all", dtype)
            for name, kernel, limit, unit in (
                ("X @ W", scores_kernel, bandwidth, "GB/s"),
                ("X.T @ D", gradient_kernel, bandwidth, "GB/s"),
                ("forward-backward", marginals_kernel, peak, "Gflop/s"),
            ):
                seconds, amount = timed(kernel(problem), args.runs)
                what = f"{title}, {problem.n_labels} labels, {dtype}: {name}"
                yield [what, *cells(seconds, amount, unit, limit)]


def timed(kernel: Kernel, runs: int) -> tuple[float, float]:
    run, amount = kernel
    run()
    return cpu_seconds(run, runs)[0], amount


def cells(seconds: float, amount: float, unit: str, limit: float | None = None) -> list[str]:
    rate = amount / seconds
    share = ["", ""] if limit is None else [f"{limit / 1e9:.1f} {unit}", f"{rate / limit:.0%}"]
    return [f"{1e3 * seconds:.2f}", f"{rate / 1e9:.1f} {unit}", *share]


def copy_of_array() -> Kernel:
    """Bytes are read and written."""
    source, target = np.ones(N_COPIED), np.ones(N_COPIED)
    return lambda: np.copyto(target, source), source.nbytes + target.nbytes


def product_of_matrices(dtype: str) -> Kernel:
    a, out = np.ones((2, N_ROWS, N_ROWS), dtype=dtype)
    return lambda: np.matmul(a, a, out=out), 2.0 * N_ROWS**3


def scores_kernel(problem: Problem) -> Kernel:
    """For every entry, factored, its value, its column and a row of weights are read."""
    X, design = problem.corpus.X, problem.shard().design
    W = design.weights(np.full(design.n_weights, 0.01, dtype=X.dtype))
    chunks = [chunk for block in problem.corpus.chunks(problem.n_labels) for chunk in block]
    single, groups, _ = factor(X)
    n_entries = single.nnz + groups.nnz
    n_rows = n_entries + X.shape[0]
    return (
        lambda: [design.scores(W, chunk.start, chunk.stop) for chunk in chunks],
        n_entries * (X.dtype.itemsize + 4) + n_rows * problem.n_labels * X.dtype.itemsize,
    )


def gradient_kernel(problem: Problem) -> Kernel:
    """As for the scores, with a row of D; the rows of the gradient are read and written."""
    X, design = problem.corpus.X, problem.shard().design
    D = np.full((X.shape[0], problem.n_labels), 0.01, dtype=X.dtype)
    out = design.derivatives(np.zeros(design.n_weights, dtype=X.dtype))
    bounds = [(block[0].start, block[-1].stop) for block in problem.corpus.chunks(problem.n_labels)]

    def run() -> None:
        for number, (start, stop) in enumerate(bounds):
            design.add_gradient(number, D[start:stop], out)

    single, groups, _ = factor(X)
    n_entries = single.nnz + groups.nnz
    n_out = sum(
        len(np.unique(matrix[start:stop].indices))
        for matrix in (single, groups)
        for start, stop in bounds
    )
    n_rows = n_entries + 2 * n_out
    return run, n_entries * (X.dtype.itemsize + 4) + n_rows * problem.n_labels * X.dtype.itemsize


def marginals_kernel(problem: Problem) -> Kernel:
    """For every token but the first three products with matrices of all pairs of labels."""
    n, dtype = problem.n_labels, problem.corpus.X.dtype
    rng = np.random.default_rng(0)
    transition = rng.normal(size=(n, n))
    batches = []
    for block in problem.corpus.chunks(n):
        for chunk in block:
            state = rng.normal(size=(chunk.stop - chunk.start, n)).astype(dtype)
            batches.append((chunk, Scores.of(state, transition), np.empty_like(state)))

    def run() -> None:
        for chunk, scores, counts in batches:
            chunk.structure.log_partition_and_gradient(scores, chunk.weight, counts)

    n_pairs = problem.corpus.X.shape[0] - len(problem.corpus.weight)
    return run, 3 * 2.0 * n**2 * n_pairs
