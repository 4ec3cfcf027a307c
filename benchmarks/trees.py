"""Trees: relations of words to their heads, constraints on them, and the speed of sums."""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from _common import begin, cpu_seconds, weights_of, yes_or_no  # before numpy

# isort: split
from _tree_kernels import COLUMNS as KERNEL_COLUMNS
from _tree_kernels import kernel_rows
from _trees import ATTRIBUTES, EXPERTS, STRUCTURES, Treebank
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.feature_extraction import Window
from sklearn_crcrf.labels import AtMost
from sklearn_crcrf.metrics import sequence_accuracy, token_accuracy

SINGLE, CHAIN, TREE, TYPED = STRUCTURES
COLUMNS = [
    "method",
    "structure",
    "sentences",
    "CPU s of training",
    "CPU s of labelling",
    "words",
    "whole sentences",
    "target",
    "met",
]
N_FEW = 5000
# A head has one word in each of these relations at most.
UNIQUE = ["nsubj", "obj", "iobj", "cop", "expl"]
CONSTRAINT_COLUMNS = [
    "exponents",
    "part",
    "prediction",
    "words",
    "whole sentences",
    "breaking it",
    "CPU s",
    "target",
    "met",
]
# Least gain in words and whole sentences, in percentage points, and most seconds.
GAIN, MOST_SECONDS = (0.1, 1.4), 5.0


class Target(NamedTuple):
    """Least accuracy of words and of whole sentences, and most seconds of training."""

    words: float
    sentences: float
    seconds: float = float("inf")

    def cells(self, words: float, sentences: float, seconds: float) -> list[str]:
        text = f">= {self.words:g} / {self.sentences:g}"
        if self.seconds < float("inf"):
            text += f", <= {self.seconds:g} s"
        met = words >= self.words and sentences >= self.sentences and seconds <= self.seconds
        return [text, yes_or_no(met)]


COUNTED_TARGET, TRAINED_TARGET = Target(95.5, 67, 2), Target(96.4, 73.5)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("trees.py", description=__doc__)
    tables = {
        "counted": (counted_rows, "Relations, counted in closed form", COLUMNS),
        "trained": (trained_rows, "Relations, trained by iterations", COLUMNS),
        "constraint": (constraint_rows, "One subject for each head", CONSTRAINT_COLUMNS),
        "kernels": (speed_rows, "Loss and gradient by the scores", KERNEL_COLUMNS),
    }
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables), help="all")
    parser.add_argument(
        "--part",
        choices=["dev", "test"],
        default="test",
        help="what is labelled; dev to tune",
    )
    parser.add_argument("--runs", type=int, default=9, help="number of runs of which medians are")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    args = begin(parser, argv)
    warnings.simplefilter("ignore", ConvergenceWarning)
    train, test = (Treebank.load(part, args.sentences) for part in ("train", args.part))
    for name in args.tables:
        rows, title, columns = tables[name]
        args.report.table(title, columns, rows(train, test, args))
        if name == "constraint":
            broken = test.n_broken(test.y, UNIQUE)
            args.report.remark(f"The gold labels of {broken} sentences of the test part break it.")


def counted_rows(train: Treebank, test: Treebank, args: argparse.Namespace) -> Iterator[list[str]]:
    """EmpiricalCRF: with the experts of the benchmark, and with its default experts."""
    for name, exponents in (("default exponents", None), ("exponents fitted", "fit")):
        for structure in STRUCTURES:
            model = EmpiricalCRF(experts=EXPERTS, exponents=exponents)
            target = COUNTED_TARGET if structure == TREE and exponents is None else None
            if not (args.quick and exponents and structure == TYPED):
                yield tested(name, model, structure, train, test, target)
        if not (args.quick and exponents):
            model = EmpiricalCRF(exponents=exponents)
            yield tested(f"default experts, {name}", model, TREE, train, test)


def trained_rows(train: Treebank, test: Treebank, args: argparse.Namespace) -> Iterator[list[str]]:
    """CRF on some sentences, and by several criteria on all sentences."""
    for structure in STRUCTURES:
        target = TRAINED_TARGET if structure == TYPED else None
        yield tested("log loss", crf(), structure, train.take(N_FEW), test, target)
    if args.quick:
        return
    model = crf()
    yield tested("log loss", model, TREE, train, test)
    yield tested("softmax margin", crf("softmax_margin"), TREE, train, test)
    start = weights_of(model[-1])
    mce = crf("mce", 3.0, init=start, max_iter=50)
    yield tested("mce, from the weights of the log loss", mce, TREE, train, test)
    more = crf(attributes=list(dict.fromkeys([*ATTRIBUTES, *EXPERTS])))
    yield tested("log loss, attributes of both tables", more, TREE, train, test)


def crf(*parameters: Any, attributes: Sequence[str] = ATTRIBUTES, **options: Any) -> Pipeline:
    """A CRF of these attributes."""
    return make_pipeline(Window(attributes), CRF(*parameters, **options))


def tested(
    name: str,
    model: Any,
    structure: str,
    train: Treebank,
    test: Treebank,
    target: Target | None = None,
) -> list[str]:
    """Train and test a model on one structure."""
    X, X_test = train.linked(structure), test.linked(structure)
    training, _ = cpu_seconds(lambda: model.fit(X, train.y))
    labelling, predicted = cpu_seconds(lambda: model.predict(X_test))
    words, sentences = accuracies(test, predicted)
    return [
        name,
        structure,
        f"{len(train.y):,}",
        f"{training:.1f}",
        f"{labelling:.2f}",
        f"{words:.2f}",
        f"{sentences:.2f}",
        *(target.cells(words, sentences, training) if target else ["", ""]),
    ]


def constraint_rows(
    train: Treebank, test: Treebank, args: argparse.Namespace
) -> Iterator[list[str]]:
    """Free and constrained prediction of trees in closed form."""
    X, parts = train.linked(TREE), {"dev": Treebank.load("dev", args.sentences), "test": test}
    for exponents in (None, "fit"):
        model = EmpiricalCRF(experts=EXPERTS, exponents=exponents).fit(X, train.y)
        known = [label for label in UNIQUE if label in model.classes_]
        constraints = [AtMost(label, 1, per="parent") for label in known]
        for part, treebank in parts.items():
            X_part, free = treebank.linked(TREE), None
            for name, subject_to in (("free", None), ("at most one", constraints)):
                predict = partial(model.predict, X_part, subject_to=subject_to)
                seconds, predicted = cpu_seconds(predict)
                found, broken = (
                    accuracies(treebank, predicted),
                    treebank.n_broken(predicted, UNIQUE),
                )
                cells = [*(f"{x:.2f}" for x in found), str(broken), f"{seconds:.2f}"]
                heading = [exponents or "default", part, name]
                yield [*heading, *cells, *verdict(found, free, broken, seconds)]
                free = found


def verdict(
    found: tuple[float, float], free: tuple[float, float] | None, broken: int, seconds: float
) -> list[str]:
    """The target of constrained prediction, and whether it is met."""
    if free is None:
        return ["", ""]
    gains = [after - before for after, before in zip(found, free, strict=True)]
    met = all(gain >= least for gain, least in zip(gains, GAIN, strict=True))
    text = f">= +{GAIN[0]} / +{GAIN[1]}, none, <= {MOST_SECONDS:g} s"
    return [text, yes_or_no(met and broken == 0 and seconds <= MOST_SECONDS)]


def speed_rows(train: Treebank, test: Treebank, args: argparse.Namespace) -> Iterator[list[str]]:
    """Trees compared with chains of the same words."""
    return kernel_rows(train, args.runs)


def accuracies(test: Treebank, predicted: Any) -> tuple[float, float]:
    """Per cent of the words, and of the sentences without an error."""
    return 100 * token_accuracy(test.y, predicted), 100 * sequence_accuracy(test.y, predicted)


if __name__ == "__main__":
    main()
