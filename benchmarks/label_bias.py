"""Label bias: the accuracy of every method on the simulated data of Zhu et al. (2013), 4.4."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from _common import begin, cpu_seconds  # before numpy

# isort: split
import numpy as np

import sklearn_crcrf
from sklearn_crcrf import CRF, HMM, MEMM, EmpiricalCRF
from sklearn_crcrf.base.classifier import BaseSequenceClassifier
from sklearn_crcrf.criteria import CRITERIA
from sklearn_crcrf.datasets import make_label_bias

N_TRAIN, N_TEST = 2000, 500
COLUMNS = ["method", "accuracy", "from the best", "in the paper", "CPU s of training"]
# Published accuracy of criteria of CRF, in per cent.
PUBLISHED = {"log_loss": 95.9, "piecewise": 96.0}
# What can follow a label in the two words of the data.
FOLLOW = {"R1": ["I"], "R2": ["O"], "I": ["B"], "O": ["B"]}


class Method(NamedTuple):
    """A row of the table.

    Parameters
    ----------
    make : callable
        Returns an estimator.
    published : float, optional
        Per cent in the paper.
    """

    make: Callable[[], BaseSequenceClassifier]
    published: float | None = None


def methods() -> dict[str, Method]:
    """All methods except criteria for segments, as these data have none."""
    return {
        "EmpiricalCRF, paper mode": Method(EmpiricalCRF.ecrn, 95.8),
        "EmpiricalCRF, maxent": Method(EmpiricalCRF.maxent, 95.9),
        "EmpiricalCRF, default": Method(EmpiricalCRF),
        "HMM": Method(HMM),
        "MEMM, sigma=1": Method(MEMM),
        "MEMM, sigma=10": Method(partial(MEMM, sigma=10.0), 66.6),
        "MEMM, only seen transitions": Method(partial(MEMM, constraints=FOLLOW), 66.6),
        **{
            f"CRF, {name}": Method(partial(CRF, name), PUBLISHED.get(name))
            for name in CRITERIA
            if name != "mce_f1"
        },
        **{
            name: Method(getattr(sklearn_crcrf, name))
            for name in ("StructuredPerceptron", "MaxMarginCRF")
            if hasattr(sklearn_crcrf, name)
        },
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("label_bias.py", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    args = begin(parser, argv)
    size = min(args.sentences or N_TRAIN, N_TRAIN)
    title = f"Label bias: per cent of labels, mean of {args.rounds} rounds"
    args.report.table(title, COLUMNS, rows(methods(), args.rounds, size))


def rows(named: dict[str, Method], n_rounds: int, n_train: int) -> Iterator[list[str]]:
    """Train and test each method; the first row is the Bayes-optimal decoding."""
    rounds = [
        (make_label_bias(n_train, random_state=k), make_label_bias(N_TEST, random_state=100 + k))
        for k in range(n_rounds)
    ]
    best = [accuracy(y, bayes_optimal_labels(X)) for _, (X, y) in rounds]
    yield ["best decoding", f"{np.mean(best):.1f}", "", "", ""]
    for name, method in named.items():
        scores, seconds = [], []
        for (X, y), (X_test, y_test) in rounds:
            took, estimator = cpu_seconds(partial(method.make().fit, X, y))
            seconds.append(took)
            scores.append(accuracy(y_test, estimator.predict(X_test)))
        published = "" if method.published is None else f"{method.published:.1f}"
        difference = f"{np.mean(scores) - np.mean(best):+.1f}"
        yield [name, f"{np.mean(scores):.1f}", difference, published, f"{np.mean(seconds):.2f}"]


def accuracy(y: Any, predicted: Any) -> float:
    """Per cent of the labels."""
    return 100 * float(np.mean(np.array(list(y)) == np.array(list(predicted))))


def bayes_optimal_labels(X: list[list[str]], noise: float = 3 / 32) -> list[list[str]]:
    """The likelier of the two words, given how the data is made."""
    paths = {"rib": ["R1", "I", "B"], "rob": ["R2", "O", "B"]}

    def likelihood(word: str, symbols: list[str]) -> float:
        right = np.array(list(word)) == np.array(symbols)
        return float(np.prod(np.where(right, 1 - noise, noise / 3)))

    return [paths[max(paths, key=lambda word: likelihood(word, s))] for s in X]


if __name__ == "__main__":
    main()
