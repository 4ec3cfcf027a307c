"""The end of training: the objective, and the accuracy of labels."""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from _common import yes_or_no
from _features import encode
from _training import Stopwatch, duplicates, minimise, predict, problem_of, zeros

from sklearn_crcrf.metrics import segment_f1, token_accuracy

COLUMNS = ["problem", "weights", "at zero", "reference", "CRF", "evaluations", "test", "reached"]
# A reference counts as reached up to rounding.
TOLERANCE = 1e-7


class Optimum(NamedTuple):
    """A training problem, and its objective as other programs found it.

    Parameters
    ----------
    title, corpus, features : str
    n_weights : int
    objective : float
        Negative log-likelihood plus half of the squared norm of the weights.
    """

    title: str
    corpus: str
    features: str
    n_weights: int
    objective: float


OPTIMA = [
    Optimum("chunking, observed features", "chunking", "observed", 456_468, 8930.38),
    Optimum("chunking, all features", "chunking", "all", 7_448_606, 7705.38),
    Optimum("Dutch named entities, observed", "ner", "observed", 29_020, 19590.6780),
    Optimum("Dutch named entities, all", "ner", "all", 249_750, 17840.1992),
    Optimum("Brown 1000-4000, observed", "1000-4000", "observed", 8_152, 13503.9278),
    Optimum("Brown 1000-4000, all", "1000-4000", "all", 674_325, 12607.8812),
]


def optimum_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Train until the objective falls no further."""
    for optimum in OPTIMA:
        encoded = encode(optimum.corpus, args)
        problem = problem_of(encoded, optimum.features)
        n_weights = problem.terms().n_weights
        problem, x0 = duplicates(problem, zeros(problem))
        at_zero, _ = problem.objective()(x0)
        result = minimise(problem, Stopwatch(1, lambda result: False), x0)
        predicted, y = predict(problem, result.x, encoded), encoded.splits.test[1]
        score = token_accuracy if optimum.corpus == "1000-4000" else segment_f1
        reached = result.fun <= optimum.objective * (1 + TOLERANCE)
        yield [
            optimum.title,
            f"{n_weights:,}",
            f"{at_zero:.4f}",
            f"{optimum.objective:.4f} with {optimum.n_weights:,}",
            f"{result.fun:.4f}",
            f"{result.nfev}",
            f"{100 * score(y, predicted):.2f}",
            yes_or_no(reached) if n_weights == optimum.n_weights else "",
        ]
