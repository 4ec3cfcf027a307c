"""CRFs over a few candidate labels: accuracy and time with 205 labels, and on other corpora."""

import argparse
import gzip
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

from _common import begin, corpus_file, cpu_seconds, load_splits, yes_or_no  # before numpy

# isort: split
import numpy as np
import scipy.sparse as sp
from _features import columns_of, encode
from _training import problem_of, zeros
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, LatticeCRF, SequenceVectorizer
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.data.sequences import as_sequences
from sklearn_crcrf.datasets import Splits
from sklearn_crcrf.estimators.lattice.candidates import Proposals
from sklearn_crcrf.estimators.lattice.design import choose_features
from sklearn_crcrf.estimators.lattice.problem import LatticeProblem
from sklearn_crcrf.feature_extraction import text_features
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.metrics import known_accuracy, segment_f1, token_accuracy, unknown_accuracy
from sklearn_crcrf.structures import HigherOrderChain, Lattice

BROWN = "32623-1000"
# An evaluation over candidates must be this number of times faster than over all labels.
TIMES = 15.0
# ... and must take this number of times less memory.
LESS = 10.0
# A threshold of likely labels so low that probabilities are as good as exact.
TINY = 1e-12
# What a model must reach: accuracy of all tokens, and of unknown words.
TARGETS = {
    "order 1, plain, no candidate scores, L-BFGS": (96.1, 0.0),
    "order 1, rich, no candidate scores": (97.3, 0.0),
    "order 2, rich, no candidate scores": (97.45, 0.0),
    "order 2, rich": (97.75, 86.8),
}
# The best other model in one stage must not be better by more points than this.
POINTS = 0.1


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("lattice.py", description=__doc__)
    tables = {
        "brown": brown_table,
        "evaluation": evaluation_table,
        "prediction": prediction_table,
        "corpora": corpora_table,
    }
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    parser.add_argument("--runs", type=int, default=5, help="of an evaluation; the median counts")
    args = begin(parser, argv)
    for name in args.tables:
        title, columns, rows = tables[name](args)
        args.report.table(title, columns, rows)


Table = tuple[str, list[str], Iterator[list[str]]]


def brown_table(args: argparse.Namespace) -> Table:
    columns = ["model", "overall", "known", "unknown", "target", "met", "candidates per token"]
    title = "Parts of speech, Brown 32623-1000, from strings to labels"
    return title, [*columns, "gold outside, %", "CPU s", "wall s"], brown_rows(args)


def evaluation_table(args: argparse.Namespace) -> Table:
    title = "One evaluation of objective and gradient, Brown 32623, order 1, plain, float32"
    columns = ["labels", "weights", "CPU s", "times faster", "met"]
    columns += ["MB", "times less", "met"]
    return title, columns, evaluation_rows(args)


def prediction_table(args: argparse.Namespace) -> Table:
    title = f"EmpiricalCRF(order=2), Brown 32623: the threshold of likely labels, and {TINY:.0e}"
    columns = ["method", "CPU s", f"CPU s, {TINY:.0e}", "times"]
    return title, [*columns, "labels that differ", "largest difference"], prediction_rows(args)


def corpora_table(args: argparse.Namespace) -> Table:
    title = "Other corpora: F1 of segments, else accuracy, in one stage"
    return title, ["corpus", *models(), "met", "CPU s of LatticeCRF"], corpora_rows(args)


def plain() -> Pipeline:
    """The word, and eleven properties of it, as in the papers."""
    return make_pipeline(columns_of("brown"), SequenceVectorizer(dtype=np.float32))


def brown_models() -> dict[str, LatticeCRF]:
    """Models of higher and higher order, with and without the scores of candidates."""
    lattice = partial(LatticeCRF, dtype="float32", random_state=0)
    rich = partial(lattice, transformer=text_features("tags"))
    return {
        "order 1, plain, no candidate scores": lattice(
            1, transformer=plain(), candidate_scores=False, dropout=0.0
        ),
        "order 1, plain, no candidate scores, L-BFGS": lattice(
            1,
            transformer=plain(),
            candidate_scores=False,
            dropout=0.0,
            solver="lbfgs",
            threshold=1e-3,
        ),
        "order 1, plain": lattice(1, transformer=plain()),
        "order 1, rich, no candidate scores": rich(1, candidate_scores=False, dropout=0.0),
        "order 2, rich, no candidate scores": rich(2, candidate_scores=False, dropout=0.0),
        "order 1, rich": rich(1),
        "order 2, rich": rich(2),
        "order 2, rich, best label of each token": rich(2, decoding="marginal"),
        "order 3, rich": rich(3),
    }


def brown_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Train and test each model; its time includes all attributes and candidates."""
    (X, y), _, (X_test, y_test) = load_splits(BROWN, args)
    words = {word for sentence in X for word in sentence}
    is_known = [[word in words for word in sentence] for sentence in X_test]
    for name, model in brown_models().items():
        start, seconds = time.perf_counter(), time.process_time()
        predicted = model.fit(X, y).predict(X_test)
        wall, seconds = time.perf_counter() - start, time.process_time() - seconds
        overall = 100 * token_accuracy(y_test, predicted)
        known = 100 * known_accuracy(y_test, predicted, is_known)
        unknown = 100 * unknown_accuracy(y_test, predicted, is_known)
        verdict = ["", ""]
        if name in TARGETS:
            least, least_unknown = TARGETS[name]
            target = f">= {least}" + (f" / {least_unknown}" if least_unknown else "")
            verdict = [target, yes_or_no(overall >= least and unknown >= least_unknown)]
        figures = [f"{figure:.2f}" for figure in (overall, known, unknown)]
        candidates = model.candidates_
        statistics = [f"{candidates.mean_number:.2f}", f"{100 * candidates.gold_outside:.2f}"]
        yield [name, *figures, *verdict, *statistics, f"{seconds:.1f}", f"{wall:.1f}"]


def evaluation_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """All labels, then candidates only, with the attributes of the papers."""
    encoded = encode(BROWN, args)
    problem = problem_of(encoded, "all", "float32")
    exact, most = evaluated(problem, zeros(problem), args)
    first = [f"all {len(encoded.classes)}", str(len(zeros(problem))), f"{exact:.2f}"]
    yield [*first, "1", "", f"{most:.0f}", "1", ""]
    pruned = pruned_problem(encoded, *load_splits(BROWN, args).train)
    seconds, least = evaluated(pruned, pruned.start(), args)
    times, less = exact / seconds, most / least
    yield [
        *("candidates", str(len(pruned.start())), f"{seconds:.3f}"),
        *(f"{times:.1f}", yes_or_no(times >= TIMES)),
        *(f"{least:.0f}", f"{less:.1f}", yes_or_no(less >= LESS)),
    ]


def evaluated(problem: Any, w: np.ndarray, args: argparse.Namespace) -> tuple[float, float]:
    """Seconds of an evaluation, and the MB that it takes with all that it is made of."""
    tracemalloc.start()
    objective = problem.objective()
    objective(w.copy())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    seconds, _ = cpu_seconds(partial(objective, w), args.runs)
    return seconds, peak / 1e6


def prediction_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Labels and probabilities of the test part."""
    (X, y), _, (X_test, _) = load_splits(BROWN, args)
    model = EmpiricalCRF(order=2).fit(X, y)
    for name in ("predict", "predict_proba"):
        method = partial(getattr(model, name), X_test)
        with patch.object(HigherOrderChain.__init__, "__defaults__", (TINY,)):
            slow, expected = cpu_seconds(method, args.runs)
        fast, found = cpu_seconds(method, args.runs)
        exact, pruned = (np.concatenate([*map(np.array, part)]) for part in (expected, found))
        apart = [str((exact != pruned).sum()), ""]
        if name == "predict_proba":
            apart = ["", f"{abs(exact - pruned).max():.0e}"]
        yield [name, f"{fast:.2f}", f"{slow:.2f}", f"{slow / fast:.1f}", *apart]


def pruned_problem(encoded: Any, X: Sequence, y: Sequence) -> LatticeProblem:
    """The training problem over candidates."""
    tokens = as_sequences(X).X
    proposals = Proposals(EmpiricalCRF(), encoded.classes)
    weight = np.ones(len(tokens))
    folds = proposals.folds(tokens, encoded.y, weight, 2)
    candidates, _ = proposals.out_of_fold(folds, proposals.threshold(folds, 0.0015))
    lattice = Lattice(encoded.offsets, candidates, 1)
    rows = sp.csr_array(encoded.X.astype(np.float32))
    rows.sort_indices()
    features = choose_features(rows, lattice, lattice, False)
    corpus = Corpus(rows, encoded.y, lattice, weight)
    return LatticeProblem(corpus, features, log_loss, 1.0, 0.0, 1)


def models() -> dict[str, Callable[[str], Any]]:
    """What is compared, each for a kind of labels; the first must be the best."""
    return {
        "LatticeCRF": lambda kind: LatticeCRF(
            transformer=text_features(kind), dtype="float32", random_state=0
        ),
        "CRF": lambda kind: make_pipeline(
            text_features(kind), CRF(features="observed", dtype="float32")
        ),
        "EmpiricalCRF": lambda kind: EmpiricalCRF(),
        "EmpiricalCRF, order 2": lambda kind: EmpiricalCRF(order=2),
        "EmpiricalCRF, fitted": lambda kind: EmpiricalCRF(exponents="fit"),
    }


def corpora() -> dict[str, tuple[Callable[[argparse.Namespace], Splits], str]]:
    """Corpora, and the kind of their labels."""
    return {
        "English chunks": (partial(load_splits, "chunking"), "chunks"),
        "Dutch names": (partial(load_splits, "ner"), "names"),
        "German names": (partial(from_files, "germeval2014-dev", "germeval2014-test"), "names"),
        "English tags": (partial(from_files, "ud-en_ewt-train", "ud-en_ewt-test"), "tags"),
        "Greek tags": (partial(from_files, "ud-el_gdt-train", "ud-el_gdt-test"), "tags"),
    }


def from_files(train: str, test: str, args: argparse.Namespace) -> Splits:
    """The first two columns of files, a word and its label."""
    parts = []
    for name in (train, test):
        with gzip.open(corpus_file(f"{name}.tsv.gz"), "rt", encoding="utf-8") as file:
            blocks = [block.split("\n") for block in file.read().strip().split("\n\n")]
        rows = [[line.split("\t")[:2] for line in block] for block in blocks[: args.sentences]]
        parts.append(tuple([[row[k] for row in block] for block in rows] for k in (0, 1)))
    return Splits(parts[0], ([], []), parts[1])


def corpora_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Train and test each model on each corpus."""
    for title, (load, kind) in corpora().items():
        splits = load(args)
        metric = token_accuracy if kind == "tags" else segment_f1
        X_test, y_test = splits.test
        figures, seconds = [], []
        for make in models().values():
            cpu, model = cpu_seconds(partial(make(kind).fit, *splits.train))
            seconds.append(cpu)
            figures.append(100 * metric(y_test, model.predict(X_test)))
        met = yes_or_no(figures[0] >= max(figures) - POINTS)
        yield [title, *(f"{figure:.2f}" for figure in figures), met, f"{seconds[0]:.1f}"]


if __name__ == "__main__":
    main()
