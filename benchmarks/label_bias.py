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

Words = tuple[list[list[str]], list[list[str]]]
Round = tuple[Words, Words]
N_TRAIN, N_TEST = 2000, 500
COLUMNS = [
    "method",
    "accuracy",
    "from the best",
    "the same without ties",
    "in the paper",
    "CPU s of training",
]
REMARK = (
    "The best decoding chooses the likelier word, given how the data is made. Of {n} test words, "
    "{ties} are ties: their second letter was drawn as r or b, which is equally likely in both "
    "words, so no method can tell which word it was. Either choice has two thirds of the labels of "
    "a tie right on average, which is what the best decoding is given. Which word a method prefers "
    "depends on chance in its training words, and on average it is right in half of the ties; the "
    "standard deviation of its accuracy is {deviation:.2f} points. So a method may be above the "
    "best decoding, but it is not above it without the ties."
)
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
    rounds = made(args.rounds, size)
    args.report.table(title, COLUMNS, rows(methods(), rounds))
    n_ties = sum(int(ties(X).sum()) for _, (X, _) in rounds)
    n_words = args.rounds * N_TEST
    # A tie has one or three of three labels right.
    deviation = 100 * np.sqrt(n_ties) / (3 * n_words)
    args.report.remark(REMARK.format(n=n_words, ties=n_ties, deviation=deviation))


def made(n_rounds: int, n_train: int) -> list[Round]:
    """Training and test words of each round."""
    return [
        (make_label_bias(n_train, random_state=k), make_label_bias(N_TEST, random_state=100 + k))
        for k in range(n_rounds)
    ]


def rows(named: dict[str, Method], rounds: Sequence[Round]) -> Iterator[list[str]]:
    """Train and test each method; the first row is the Bayes-optimal decoding."""
    is_tie = np.concatenate([ties(X) for _, (X, _) in rounds])
    best = np.concatenate([right(y, bayes_optimal_labels(X)) for _, (X, y) in rounds])
    best[is_tie] = 2 / 3
    yield ["best decoding", f"{100 * best.mean():.1f}", "", "", "", ""]
    for name, method in named.items():
        scores, seconds = [], []
        for (X, y), (X_test, y_test) in rounds:
            took, estimator = cpu_seconds(partial(method.make().fit, X, y))
            seconds.append(took)
            scores.append(right(y_test, estimator.predict(X_test)))
        published = "" if method.published is None else f"{method.published:.1f}"
        each = np.concatenate(scores)
        gain = 100 * (each - best)
        gains = f"{gain.mean():+.1f}", f"{gain[~is_tie].mean():+.1f}"
        yield [name, f"{100 * each.mean():.1f}", *gains, published, f"{np.mean(seconds):.2f}"]


def right(y: Any, predicted: Any) -> np.ndarray:
    """How much of the labels of each word is right."""
    return np.mean(np.array(list(y)) == np.array(list(predicted)), axis=1)


def ties(X: list[list[str]]) -> np.ndarray:
    """Which words could as well be the other word: the second letter is that of neither."""
    return np.array([symbols[1] not in "io" for symbols in X])


def bayes_optimal_labels(X: list[list[str]]) -> list[list[str]]:
    """The likelier of the two words, which differ in the second letter; of ties, either."""
    return [["R2", "O", "B"] if symbols[1] == "o" else ["R1", "I", "B"] for symbols in X]


if __name__ == "__main__":
    main()
