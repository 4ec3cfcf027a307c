"""The criterion "mce_f1" by defaults, compared with the log loss by defaults."""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from _common import begin  # before numpy

# isort: split
import numpy as np
from corpora import CORPORA, kind_of
from exponents import Part
from f1_criterion import interval
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, text_features
from sklearn_crcrf.criteria import MCEF1
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures
from sklearn_crcrf.metrics import segment_f1

TESTED = ("Dutch names", "German names", "chunks")
N_FEW, SIZES = 800, (800, 2500, 15_000)
OPTIONS = {"features": "observed", "dtype": "float32"}
COLUMNS = ["corpus", "attributes", "sentences", "log loss", "mce_f1", "difference", "95 % of draws"]
# Weights of the loss, among which one is chosen on the other corpora.
WEIGHTS = (1.0, 4.0, 9.0)
WEIGHED = [
    "corpus",
    "attributes",
    *(f"weight {weight:g}" for weight in WEIGHTS),
    "chosen on others",
]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("f1_defaults.py", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=[*TESTED], help="all")
    note = (
        "observed features in single precision, and defaults for all else; draws are of blocks of "
        "sentences, as in f1_criterion.py"
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=[*SIZES], help="%(default)s")
    args = begin(parser, argv, note)
    warnings.simplefilter("ignore", ConvergenceWarning)
    args.report.table("F1 by defaults", COLUMNS, rows(args))
    args.report.table(f"Gain over the log loss, {N_FEW} sentences", WEIGHED, gains(args))


def attributes_of(name: str) -> dict[str, Any]:
    """Attributes that suit a corpus, and those of the papers, by name."""
    simple = make_pipeline(TokenFeatures("simple"), SequenceVectorizer())
    return {"text_features": text_features(kind_of(name)), "of the papers": simple}


def gains(args: argparse.Namespace) -> list[list[str]]:
    """The gain on little data with each weight, and the weight with the best mean on others."""
    gained: dict[tuple[str, str], list[float]] = {}
    for name in args.corpora:
        train, test = CORPORA[name].load(args)
        for title, attributes in attributes_of(name).items():
            criteria = ["log_loss", *(MCEF1(weight=weight) for weight in WEIGHTS)]
            found = predictions(attributes, train, test, N_FEW, criteria)
            base, *others = (100 * segment_f1(test[1], predicted) for predicted in found)
            gained[name, title] = [other - base for other in others]

    def best_without(name: str) -> float:
        sums = np.sum([values for (other, _), values in gained.items() if other != name], axis=0)
        return WEIGHTS[int(np.argmax(sums))]

    return [
        [name, title, *(f"{value:+.2f}" for value in values), f"{best_without(name):g}"]
        for (name, title), values in gained.items()
    ]


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Train with both criteria, on the first sentences of each corpus."""
    for name in args.corpora:
        train, test = CORPORA[name].load(args)
        for title, attributes in attributes_of(name).items():
            for n in sorted({min(size, len(train[0])) for size in args.sizes}):
                first, second = predictions(attributes, train, test, n, ["log_loss", "mce_f1"])
                scores = [100 * segment_f1(test[1], found) for found in (first, second)]
                low, high = interval(test[1], first, second)
                yield [
                    name,
                    title,
                    f"{n:,}",
                    *(f"{score:.2f}" for score in scores),
                    f"{scores[1] - scores[0]:+.2f}",
                    f"{low:+.2f} to {high:+.2f}",
                ]


def predictions(
    attributes: Any, train: Part, test: Part, n: int, criteria: Sequence[Any]
) -> Iterator[Any]:
    """Predictions of CRFs that are trained on the first sentences by each criterion."""
    X, y = train[0][:n], train[1][:n]
    X, tested = attributes.fit_transform(X), attributes.transform(test[0])
    for criterion in criteria:
        yield CRF(criterion, **OPTIONS).fit(X, y).predict(tested)


if __name__ == "__main__":
    main()
