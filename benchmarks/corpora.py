"""Every corpus with every recommended model: accuracy, F1, calibration and time."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from _common import begin, cpu_seconds  # before numpy

# isort: split
import numpy as np
from exponents import TAGGED, WORDS, Part
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, FoundLabels, LatticeCRF, OpinionPoolCRF, text_features
from sklearn_crcrf.metrics import known_accuracy, segment_f1, token_accuracy, unknown_accuracy

CORPORA = WORDS | TAGGED
N_BINS = 20
COLUMNS = ["model", "overall", "known", "unknown", "F1", "calibration error", "CPU s of training"]


def crf(kind: str, **options: Any) -> Any:
    """A CRF with the attributes that suit a kind of labels."""
    return make_pipeline(text_features(kind), CRF(features="observed", dtype="float32", **options))


def two_stages(kind: str) -> Any:
    """A CRF that sees what a counted model finds."""
    return make_pipeline(FoundLabels(EmpiricalCRF(exponents="fit")), *crf(kind))


def pool(kind: str) -> Any:
    """A CRF and a counted model."""
    return OpinionPoolCRF([("crf", crf(kind)), ("counts", EmpiricalCRF())], random_state=0)


def lattice(kind: str) -> Any:
    """A CRF of second order over likely labels."""
    return LatticeCRF(transformer=text_features(kind), random_state=0)


MODELS: dict[str, Callable[[str], Any]] = {
    "EmpiricalCRF.ecrn()": lambda kind: EmpiricalCRF.ecrn(),
    "EmpiricalCRF()": lambda kind: EmpiricalCRF(),
    'EmpiricalCRF(exponents="fit")': lambda kind: EmpiricalCRF(exponents="fit"),
    "EmpiricalCRF(order=2)": lambda kind: EmpiricalCRF(order=2),
    "CRF, sigma=1": crf,
    "CRF, sigma=5": partial(crf, sigma=5.0),
    "LatticeCRF, order 2": lattice,
    "two stages": two_stages,
    "pool of CRF and EmpiricalCRF": pool,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("corpora.py", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=[*CORPORA], help="all")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS], help="all")
    note = "all parameters have their defaults, unless a row says otherwise; nothing is tuned"
    args = begin(parser, argv, note)
    for name in args.corpora:
        train, test = CORPORA[name].load(args)
        title = f"{name}, {sum(map(len, train[0])):,} tokens for training"
        args.report.table(title, COLUMNS, rows(name, train, test, args.models))


def rows(name: str, train: Part, test: Part, models: Sequence[str]) -> Iterator[list[str]]:
    """Train and test each model on a corpus."""
    kind = kind_of(name)
    for title in models:
        seconds, model = cpu_seconds(partial(MODELS[title](kind).fit, *train))
        yield [title, *figures(model, train, test, CORPORA[name].segments), f"{seconds:.1f}"]


def kind_of(name: str) -> str:
    """The kind of attributes that suits a corpus."""
    if "names" in name:
        return "names"
    return "chunks" if "chunks" in name else "tags"


def figures(model: Any, train: Part, test: Part, segments: bool) -> Iterator[str]:
    """Per cent of right labels, F1 of segments, and error of the probabilities."""
    X, y = test
    predicted, seen = model.predict(X), {_word(token) for x in train[0] for token in x}
    is_known = [[_word(token) in seen for token in x] for x in X]
    scores = [
        token_accuracy(y, predicted),
        known_accuracy(y, predicted, is_known),
        unknown_accuracy(y, predicted, is_known),
    ]
    yield from (f"{100 * score:.2f}" for score in scores)
    yield f"{100 * segment_f1(y, predicted):.2f}" if segments else ""
    yield f"{100 * calibration_error(model, X, y):.2f}"


def calibration_error(model: Any, X: Sequence, y: Sequence) -> float:
    """How far the probability of the likeliest label of a token is from its accuracy, on average.

    Tokens are sorted by this probability, and put into bins of equal size.
    """
    marginals = np.concatenate([np.asarray(rows) for rows in model.predict_proba(X)])
    gold = np.concatenate([np.array(labels, dtype=object) for labels in y])
    best = marginals.argmax(axis=1)
    confidence = marginals[np.arange(len(best)), best]
    is_right = (np.asarray(model.classes_, dtype=object)[best] == gold).astype(float)
    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(np.column_stack([confidence, is_right])[order], N_BINS)
    errors = [abs(part[:, 0].mean() - part[:, 1].mean()) * len(part) for part in bins if len(part)]
    return float(sum(errors) / len(gold))


def _word(token: Any) -> str:
    return token if isinstance(token, str) else next(iter(token.values()))


if __name__ == "__main__":
    main()
