"""Evaluations of the objective until training ends, from zeros and from counted weights."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from _common import begin, yes_or_no  # before numpy

# isort: split
import numpy as np
from exponents import TAGGED, WORDS

from sklearn_crcrf import CRF, text_features
from sklearn_crcrf.linear.objective import Objective

# Every tenth sentence is trained on.
STEP = 10
# How near the least objective training must come, relative to it.
NEAR = (0.1, 0.01, 0.001)
COLUMNS = [
    "corpus",
    "attributes",
    "loss of the start / of zeros",
    *(f"evaluations to {100 * near:g} % above the minimum" for near in NEAR),
    "evaluations, default tolerance",
    "met",
]


class Recorder:
    """Records the objective at every evaluation, while it is in use.

    Attributes
    ----------
    losses : list of float
    """

    def __init__(self) -> None:
        self.losses: list[float] = []

    def __enter__(self) -> "Recorder":
        self._call = Objective.__call__
        losses, call = self.losses, self._call

        def recorded(objective: Objective, x: np.ndarray) -> tuple[float, np.ndarray]:
            value = call(objective, x)
            losses.append(float(value[0]))
            return value

        Objective.__call__ = recorded
        return self

    def __exit__(self, *error: object) -> None:
        Objective.__call__ = self._call


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("starts.py", description=__doc__)
    note = 'every tenth sequence of the training data; pairs are of init="zeros" and "empirical"'
    args = begin(parser, argv, note)
    args.report.table('init="empirical" compared with zeros', COLUMNS, rows(args))


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Train from both starts, with the word alone and with rich attributes."""
    for name, corpus in (WORDS | TAGGED).items():
        X, y = (part[::STEP] for part in corpus.load(args)[0])
        yield row(name, "columns", X, y)
        yield row(name, "text_features", text_features(kind_of(name)).fit_transform(X), y)


def kind_of(name: str) -> str:
    """The kind of attributes that suits a corpus."""
    return next((kind for kind in ("names", "chunks") if kind in name), "tags")


def row(name: str, attributes: str, X: Any, y: Sequence) -> list[str]:
    """The evaluations from zeros, then from counts."""
    curves = [losses(init, X, y) for init in ("zeros", "empirical")]
    least = min(min(curve) for curve in curves)
    reached = [[first(curve, least * (1 + near)) for curve in curves] for near in NEAR]
    reached.append([len(curve) for curve in curves])
    cells = [f"{zeros}, {counted}" for zeros, counted in reached]
    start = curves[1][0] / curves[0][0]
    zeros, counted = reached[len(NEAR) - 1]
    is_met = yes_or_no(start < 1 and counted <= zeros)
    return [name, attributes, f"{start:.2f}", *cells, is_met]


def losses(init: str, X: Any, y: Sequence) -> list[float]:
    """The objective at every evaluation."""
    with Recorder() as recorder:
        CRF(features="observed", init=init).fit(X, y)
    return recorder.losses


def first(curve: Sequence[float], loss: float) -> int:
    """The number of evaluations until a loss is reached."""
    return 1 + int(np.argmax(np.array(curve) <= loss))


if __name__ == "__main__":
    main()
