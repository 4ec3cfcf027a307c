"""Output codes for many labels: time and accuracy, compared with exact CRFs."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from _common import begin, cpu_seconds, load_splits, yes_or_no  # before numpy

# isort: split
import numpy as np
from _features import encode
from _training import problem_of, zeros
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, OutputCodeCRF, SequenceVectorizer
from sklearn_crcrf.estimators.output_codes.codes import balanced_code
from sklearn_crcrf.estimators.output_codes.columns import Columns
from sklearn_crcrf.feature_extraction import TokenFeatures, Window

N_COLUMNS = 64
# The exact CRF must take this number of times longer, and be at most so many points better.
TIMES, POINTS = 8.0, 1.3
SPELLING = [
    *(f"{kind}{n}" for kind in ("prefix", "suffix") for n in (1, 2, 3, 4)),
    "shape",
    "lower",
]
AROUND = [f"{name}[{i}]" for name in ("suffix2", "suffix3", "shape") for i in (-1, 1)]
TEMPLATES = [*(f"token[{i}]" for i in range(-2, 3)), *(f"{name}[0]" for name in SPELLING), *AROUND]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("output_codes.py", description=__doc__)
    tables = {"evaluation": evaluation_table, "accuracy": accuracy_table}
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    parser.add_argument("--runs", type=int, default=5, help="of an evaluation; the median counts")
    args = begin(parser, argv)
    for name in args.tables:
        title, columns, rows = tables[name](args)
        args.report.table(title, columns, rows)


def evaluation_table(args: argparse.Namespace) -> tuple[str, list[str], Iterator[list[str]]]:
    title = "One evaluation of objective and gradient, Brown 32623, float32"
    return title, ["model", "CPU s", "times faster", "target", "met"], evaluation_rows(args)


def accuracy_table(args: argparse.Namespace) -> tuple[str, list[str], Iterator[list[str]]]:
    title = "Parts of speech, Brown 1000-4000, words and spelling in a window"
    columns = ["model", "accuracy", "CPU s of training", "iterations", "target", "met"]
    return title, columns, accuracy_rows(args)


def evaluation_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """The exact chain and the columns, with the simple attributes of the papers."""
    encoded = encode("32623-1000", args)
    problem = problem_of(encoded, "all", "float32")
    objective, w = problem.objective(), zeros(problem)
    objective(w)
    exact, _ = cpu_seconds(lambda: objective(w), args.runs)
    yield [f"CRF, {len(encoded.classes)} labels", f"{exact:.2f}", "1", "", ""]
    code = balanced_code(np.bincount(encoded.y), N_COLUMNS, np.random.RandomState(0))
    columns = Columns(problem.corpus, code, 1.0, 1)
    x = columns.start()
    columns(x)
    seconds, _ = cpu_seconds(lambda: columns(x), args.runs)
    met = yes_or_no(exact >= TIMES * seconds)
    name = f"OutputCodeCRF, {N_COLUMNS} columns"
    yield [name, f"{seconds:.2f}", f"{exact / seconds:.1f}", f">= {TIMES:.0f}", met]


def attributes() -> Pipeline:
    """Words and spelling, in a window."""
    return make_pipeline(
        TokenFeatures(SPELLING), Window(TEMPLATES), SequenceVectorizer(dtype=np.float32)
    )


def methods() -> dict[str, Callable[[], CRF | EmpiricalCRF | OutputCodeCRF]]:
    """The models that are compared; the first is exact."""
    code = partial(OutputCodeCRF, dtype="float32", random_state=0)
    return {
        "CRF": partial(CRF, dtype="float32", max_iter=100, tol=1e-4),
        "balanced code, product": code,
        "balanced code, marginal": partial(code, decoding="marginal"),
        "balanced code, hamming": partial(code, decoding="hamming"),
        "balanced code of 128, product": partial(code, code_size=128),
        "random code, product": partial(code, "random"),
        "one_vs_rest, product": partial(code, "one_vs_rest"),
    }


def accuracy_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Train every model on a thousand sentences."""
    (X, y), _, (X_test, y_test) = load_splits("1000-4000", args)
    vectorizer, exact = attributes(), None
    rows, rows_test = vectorizer.fit_transform(X), vectorizer.transform(X_test)
    for name, make in methods().items():
        seconds, crf = cpu_seconds(lambda make=make: make().fit(rows, y))
        accuracy = 100 * crf.score(rows_test, y_test)
        row = [name, f"{accuracy:.2f}", f"{seconds:.1f}", str(crf.n_iter_)]
        exact = accuracy if exact is None else exact
        judged = name == "balanced code, product"
        target = [f">= {exact - POINTS:.2f}", yes_or_no(accuracy >= exact - POINTS)]
        yield [*row, *(target if judged else ["", ""])]
    seconds, crf = cpu_seconds(lambda: EmpiricalCRF().fit(X, y))
    accuracy = 100 * crf.score(X_test, y_test)
    yield ["EmpiricalCRF, from words alone", f"{accuracy:.2f}", f"{seconds:.1f}", "0", "", ""]


if __name__ == "__main__":
    main()
