"""Memory of training CRF for each weight and for each entry of X, by solver."""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from _common import begin, in_fresh_process, memory_growth  # before numpy

# isort: split
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sklearn_crcrf import CRF, SequenceArray

SOLVERS = {"lbfgs": {}, "owlqn": {"c1": 0.1}, "sgd": {}, "rprop": {}, "quickprop": {}}
DTYPES = ["float64", "float32"]
COLUMNS = ["solver", "weights", "entries", *DTYPES]
# After these iterations, the history of L-BFGS is full: six steps for this number of weights.
N_ITERATIONS = 8
LENGTH = 20


class Size(NamedTuple):
    """Size of random data.

    Parameters
    ----------
    n_sequences : int
        Number of sequences of LENGTH tokens.
    n_columns, together : int
        Number of columns of symbols, and number of attributes of each symbol, which always occur
        together. The second attribute is shared by two symbols, the next by four.
    times : int
        Number of tokens with each symbol.
    n_labels : int
    """

    n_sequences: int
    n_columns: int
    together: int
    times: int
    n_labels: int


class Growth(NamedTuple):
    """By how many bytes memory grows in training, at its peak, and how much there is to train."""

    n_bytes: int
    n_weights: int
    n_entries: int


# Ten million of the one and little of the other. Arrays of this size are given back to the system
# once they are freed, so that none is hidden in memory that was there before.
TABLES = {
    "Bytes per weight": ("n_weights", Size(125, 80, 1, 2, 100)),
    "Bytes per entry of X": ("n_entries", Size(5000, 100, 1, 5000, 2)),
    "Bytes per entry of X, where attributes come in twos": (
        "n_entries",
        Size(5000, 50, 2, 5000, 2),
    ),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("memory.py", description=__doc__)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS), help="all")
    args = begin(parser, argv)
    for title, (per, size) in TABLES.items():
        n_sequences = min(args.sentences or size.n_sequences, size.n_sequences)
        sized = size._replace(n_sequences=n_sequences)
        args.report.table(title, COLUMNS, rows(args.solvers, sized, per))


def rows(solvers: Sequence[str], size: Size, per: str) -> Iterator[list[str]]:
    """Train with each solver in each precision."""
    for solver in solvers:
        growths = [in_fresh_process(fit_growth, solver, dtype, size) for dtype in DTYPES]
        figures = [f"{growth.n_bytes / getattr(growth, per):.1f}" for growth in growths]
        yield [solver, f"{growths[0].n_weights:,}", f"{growths[0].n_entries:,}", *figures]


def fit_growth(solver: str, dtype: str, size: Size) -> Growth:
    """Train once, on data that exist before."""
    X, y = make_data(size, dtype)
    fit(
        solver, *make_data(Size(2, 2, 1, 1, 2), dtype)
    )  # imports modules that are imported at first use
    growth, crf = memory_growth(lambda: fit(solver, X, y))
    n_attributes, n_labels = crf.coef_.shape
    return Growth(growth, (n_attributes + n_labels) * n_labels, X.data.nnz)


def fit(solver: str, X: SequenceArray, y: SequenceArray) -> CRF:
    """The model after some iterations."""
    crf = CRF(solver=solver, max_iter=N_ITERATIONS, tol=0, **SOLVERS[solver])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return crf.fit(X, y)


def make_data(size: Size, dtype: str) -> tuple[SequenceArray, SequenceArray]:
    """Random labels, and columns of random symbols, all of which are equally frequent."""
    rng = np.random.default_rng(0)
    n_tokens = size.n_sequences * LENGTH
    n_symbols = -(-n_tokens // size.times)
    symbols = np.arange(n_tokens, dtype=np.int32) % n_symbols
    columns = [rng.permutation(symbols) for _ in range(size.n_columns)]
    ids = [column >> k for column in columns for k in range(size.together)]
    starts = np.cumsum([0, *(column.max() + 1 for column in ids)])
    attributes = np.stack(ids, 1) + starts[:-1].astype(np.int32)
    indptr = np.arange(0, attributes.size + 1, attributes.shape[1], dtype=np.int32)
    ones = np.ones(attributes.size, dtype=dtype)
    X = sp.csr_array((ones, attributes.ravel(), indptr), shape=(n_tokens, starts[-1]))
    y = rng.integers(size.n_labels, size=n_tokens)
    lengths = [LENGTH] * size.n_sequences
    return SequenceArray.from_lengths(X, lengths), SequenceArray.from_lengths(y, lengths)


if __name__ == "__main__":
    main()
