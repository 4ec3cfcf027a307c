"""Features chosen in training, compared with templates and with an L1 penalty."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from _common import begin, cpu_seconds, yes_or_no  # before numpy

# isort: split
import numpy as np
import scipy.sparse as sp
from _common import load_splits
from _features import CHUNK_TEMPLATES, columns_of
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF, FeatureInduction, text_features
from sklearn_crcrf.feature_extraction import SequenceVectorizer, Window
from sklearn_crcrf.metrics import segment_f1

COLUMNS = ["features", "attributes", "weights", "joined", "F1", "CPU s", "target", "met"]
# The same precision and tolerance for all.
SETTINGS = {"dtype": "float32", "tol": 1e-3}
# The ten attributes of a token from which conjunctions for chunks are made.
ATOMS = [f"{column}[{i}]" for column in ("word", "pos") for i in range(-2, 3)]
# Least F1, most weights, and most time in multiples of the time with templates.
CHUNK_F1, CHUNK_WEIGHTS, TIMES = 93.6, 25_000, 2.0
# Most weights, as a part of the weights of hand-made windows.
NAME_PART = 0.1
# The best of several on testa, for windows and for what is chosen.
NAME_SIGMA = 2.0


class Way(NamedTuple):
    """A way to train, on some attributes.

    Parameters
    ----------
    title : str
    columns : transformer
        From tokens to columns of symbols.
    model : callable
        Returns an estimator that was not trained.
    is_judged : bool
        Whether it has a target.
    """

    title: str
    columns: Pipeline | Window
    model: Callable[[], CRF | FeatureInduction]
    is_judged: bool = False


class Result(NamedTuple):
    """What a way to train led to; F1 in per cent."""

    n_attributes: int
    n_weights: int
    n_joined: int
    f1: float
    seconds: float

    def cells(self) -> list[str]:
        counts = [f"{n:,}" for n in (self.n_attributes, self.n_weights, self.n_joined)]
        return [*counts, f"{self.f1:.2f}", f"{self.seconds:.1f}"]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("induction.py", description=__doc__)
    tables = {"chunking": chunk_table, "ner": name_table}
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    args = begin(parser, argv)
    for name in args.tables:
        title, rows = tables[name](args)
        args.report.table(title, COLUMNS, rows)


def trained(**parameters) -> CRF:
    return CRF(features="observed", **SETTINGS, **parameters)


def chunk_ways() -> list[Way]:
    """Templates first, then what is learned from the ten attributes."""

    def induced(**parameters) -> FeatureInduction:
        return FeatureInduction(CRF(**SETTINGS), **parameters)

    templates, atoms = Window(CHUNK_TEMPLATES), Window(ATOMS)
    return [
        Way("templates", templates, trained),
        Way("templates, c1=1", templates, lambda: trained(c1=1.0, sigma=10.0)),
        Way("ten attributes", atoms, trained),
        Way("ten attributes, induction", atoms, induced, is_judged=True),
        Way("ten attributes, pairs only", atoms, lambda: induced(max_order=2)),
    ]


def chunk_table(args: argparse.Namespace) -> tuple[str, Iterator[list[str]]]:
    (X, y), _, test = load_splits("chunking", args)
    target = f"F1 >= {CHUNK_F1}, <= {CHUNK_WEIGHTS:,} weights, <= {TIMES:.0f} x the time"

    def is_met(result: Result, first: Result) -> bool:
        is_fast = result.seconds <= TIMES * first.seconds
        return is_fast and result.f1 >= CHUNK_F1 and result.n_weights <= CHUNK_WEIGHTS

    rows = compared(chunk_ways(), (X, y), test, target, is_met)
    return "English chunks", rows


def name_ways() -> list[Way]:
    """Hand-made windows first, then what is chosen from single attributes of neighbours."""
    spelling, window = text_features("names", columns=["token"])[:-1]
    single = [template for template in window.templates if "|" not in template]

    def chosen() -> FeatureInduction:
        options = {"n_rounds": 3, "max_features": 62_000, "min_gain": 0.05}
        crf = CRF(sigma=NAME_SIGMA, **SETTINGS)
        return FeatureInduction(crf, candidates="attributes", **options)

    def plain() -> CRF:
        return trained(sigma=NAME_SIGMA)

    return [
        Way("windows", make_pipeline(spelling, window), plain),
        Way(
            "windows, c1=0.3", make_pipeline(spelling, window), lambda: trained(c1=0.3, sigma=10.0)
        ),
        Way("word, eleven properties", columns_of("ner"), plain),
        Way("single attributes", make_pipeline(spelling, Window(single)), plain),
        Way(
            "single attributes, chosen by gain",
            make_pipeline(spelling, Window(single)),
            chosen,
            is_judged=True,
        ),
    ]


def name_table(args: argparse.Namespace) -> tuple[str, Iterator[list[str]]]:
    (X, y), _, test = load_splits("ner", args)
    target = f"F1 of windows with <= {NAME_PART:.0%} of the weights"

    def is_met(result: Result, first: Result) -> bool:
        return result.f1 >= first.f1 and result.n_weights <= NAME_PART * first.n_weights

    rows = compared(name_ways(), (X, y), test, target, is_met)
    return "Dutch names, from words and their spelling (testb)", rows


def compared(
    ways: Sequence[Way],
    train: tuple[Sequence, Sequence],
    test: tuple[Sequence, Sequence],
    target: str,
    is_met: Callable[[Result, Result], bool],
) -> Iterator[list[str]]:
    """A row for each way to train; the first one is what the others are compared with."""
    first = None
    for way in ways:
        result = run(way, train, test)
        first = result if first is None else first
        verdict = [target, yes_or_no(is_met(result, first))] if way.is_judged else ["", ""]
        yield [way.title, *result.cells(), *verdict]


def run(way: Way, train: tuple, test: tuple) -> Result:
    """Train and test; the time is of training with encoded tokens."""
    (X, y), (X_test, y_test) = train, test
    attributes = make_pipeline(way.columns, SequenceVectorizer(dtype=np.float32))
    rows, rows_test = attributes.fit_transform(X), attributes.transform(X_test)
    seconds, model = cpu_seconds(lambda: way.model().fit(rows, y))
    coef = sp.csr_array(model.coef_)
    n_joined = sum(" & " in name for name in model.attribute_names_.tolist())
    f1 = 100 * segment_f1(y_test, model.predict(rows_test).tolist())
    n_weights = int(np.count_nonzero(coef.data))
    return Result(rows.data.shape[1], n_weights, n_joined, f1, seconds)


if __name__ == "__main__":
    main()
