"""How fast counting, training and predicting are, on one core."""

import argparse
import pickle
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

from _common import (
    MODES,
    begin,
    cpu_seconds,
    in_fresh_process,
    load_splits,
    memory_growth,
    n_tokens,
    yes_or_no,
)
from _crfsuite import predict_crfsuite, train_crfsuite

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.counts import Template, count_tokens
from sklearn_crcrf.data.vocabulary import Vocabulary
from sklearn_crcrf.datasets import Splits, fetch_brown
from sklearn_crcrf.metrics import token_accuracy

TEMPLATES = {
    "words": Template((("word", 0),)),
    "pairs": Template((("word", -1), ("word", 0)), labels=(-1, 0)),
}
FIT_SECONDS = {"paper": 0.7, "default": 3.0}
PREDICT_RATE = {"paper": 300, "default": 100}  # thousands of tokens per second
BYTES_PER_TOKEN = 8  # of an interned corpus: the ids of a word and of a label


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("speed.py", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="number of runs; the median counts")
    args = begin(parser, argv)
    brown = load_splits("32623-1000", args)
    rows = chain(
        counting_rows(*brown.train, args.runs),
        fit_rows(*brown.train, args.runs),
        memory_rows(*brown.train),
        predict_rows(load_splits("17311-16312", args), brown_labels(), args.runs),
        crfsuite_rows(load_splits("ner", args), args.runs),
    )
    args.report.table("Speed on one core, as CPU time", ["what", "measured", "target", "met"], rows)


def counting_rows(X: Sequence, y: Sequence, runs: int) -> Iterator[list[str]]:
    """From strings to integers, and from integers to counts."""
    tokens = list(chain.from_iterable(X))
    millions = len(tokens) / 1e6
    seconds, words = cpu_seconds(lambda: Vocabulary().add(tokens), runs)
    yield at_least("interning of strings", millions / seconds, 8, "M tokens/s")
    labels = Vocabulary().add(chain.from_iterable(y))
    offsets = [0, *accumulate(map(len, X))]
    for name, template in TEMPLATES.items():
        seconds, _ = cpu_seconds(
            lambda t=template: count_tokens({"word": words}, labels, offsets, [t]), runs
        )
        yield at_least(f"counting of {name}", millions / seconds, 40, "M tokens/s")


def fit_rows(X: Sequence, y: Sequence, runs: int) -> Iterator[list[str]]:
    """From lists of strings to a fitted model."""
    what = f"fit on Brown, {len(X):,} sentences, {n_tokens(X):,} tokens"
    for name, mode in MODES.items():
        seconds, _ = cpu_seconds(lambda mode=mode: mode().fit(X, y), runs)
        yield at_most(f"{what}, {name} mode", seconds, FIT_SECONDS[name], "s")


def memory_rows(X: Sequence, y: Sequence) -> Iterator[list[str]]:
    """The growth of memory during fit, in multiples of the interned corpus, and the model."""
    corpus = BYTES_PER_TOKEN * n_tokens(X)
    for name in MODES:
        growth, model = in_fresh_process(fit_memory, name, X, y)
        times = (growth - model) / corpus
        what = (
            f"memory of that fit, {name} mode: {growth / 2**20:.0f} MB, of which the model "
            f"{model / 2**20:.0f} MB, the rest in corpora of {corpus / 2**20:.1f} MB"
        )
        yield at_most(what, times, 3, "x")


def fit_memory(name: str, X: Sequence, y: Sequence) -> tuple[int, int]:
    """Bytes by which the peak grows in fit, and bytes of the pickled model."""
    MODES[name]().fit(X[:10], y[:10])  # imports modules that are imported at first use
    growth, model = memory_growth(lambda: MODES[name]().fit(X, y))
    return growth, len(pickle.dumps(model))


def predict_rows(splits: Splits, all_labels: Sequence, runs: int) -> Iterator[list[str]]:
    """From lists of strings to labels, for the labels of one half and for all of the corpus."""
    X, y = splits.train
    thousands = n_tokens(splits.test[0]) / 1e3
    for name, mode in MODES.items():
        for model in (mode().fit(X, y), mode().partial_fit(X, y, classes=all_labels)):
            seconds, _ = cpu_seconds(lambda model=model: model.predict(splits.test[0]), runs)
            n_labels = len(model.classes_)
            what = f"predict Brown, {thousands:,.0f} k tokens, {n_labels} labels, {name} mode"
            yield at_least(what, thousands / seconds, PREDICT_RATE[name], "k tokens/s")


def brown_labels() -> list[str]:
    """All labels of the corpus, without their suffixes."""
    names = fetch_brown().target_names
    return sorted({re.sub(r"(?<=.)(-(hl|tl|nc))+$", "", name) for name in names})


def crfsuite_rows(splits: Splits, runs: int) -> Iterator[list[str]]:
    """Training on Dutch named entities, against L-BFGS with the features of the papers."""
    seconds, model = cpu_seconds(lambda: EmpiricalCRF().fit(*splits.train), runs)
    their_seconds, their_model = train_crfsuite(*splits.train)
    X, y = splits.test
    accuracy = 100 * token_accuracy(y, model.predict(X))
    their_accuracy = 100 * token_accuracy(y, predict_crfsuite(their_model, X))
    yield ["python-crfsuite, L-BFGS on Dutch named entities", f"{their_seconds:.2f} s", "", ""]
    yield ["fit on the same, from strings, default mode", f"{seconds:.2f} s", "", ""]
    yield at_least("how many times faster", their_seconds / seconds, 30, "x")
    yield at_least("accuracy, compared with python-crfsuite", accuracy, their_accuracy, "%", 2)


def at_least(what: str, measured: float, target: float, unit: str, digits: int = 1) -> list[str]:
    """Cells of a figure that should be large."""
    return row(what, measured, ">=", target, unit, digits, measured >= target)


def at_most(what: str, measured: float, target: float, unit: str, digits: int = 2) -> list[str]:
    """Cells of a figure that should be small."""
    return row(what, measured, "<=", target, unit, digits, measured <= target)


def row(what, measured, sign, target, unit, digits, met) -> list[str]:
    target = f"{target:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{target:,}"
    return [what, f"{measured:,.{digits}f} {unit}", f"{sign} {target} {unit}", yes_or_no(met)]


if __name__ == "__main__":
    main()
