"""python-crfsuite, for comparison."""

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from _common import cpu_seconds

from sklearn_crcrf.feature_extraction.spelling import SIMPLE_FEATURES, spelling_table

Attributes = list[list[list[str]]]
"""The attributes of each token of each sequence."""


class Trace(NamedTuple):
    """CPU seconds and objective after each iteration, and the number of evaluations in all."""

    seconds: list[float]
    objective: list[float]
    n_evaluations: int

    def seconds_to(self, level: float) -> float:
        """Time at which the objective first reached a level; infinite if it never did."""
        reached = (s for s, f in zip(self.seconds, self.objective, strict=True) if f <= level)
        return next(reached, float("inf"))


class Peer:
    """python-crfsuite and the sequences that it trains on.

    Parameters
    ----------
    attributes : iterable of lists of lists of str
        Attributes of each token of each sequence.
    y : sequence of label lists
    algorithm : {"lbfgs", "l2sgd", "ap"}
        The first two with a Gaussian prior; the last is the averaged perceptron.
    features : {"observed", "all"}
        Whether all pairs of attribute and label, and of two labels, have a weight.
    sigma : float
        Standard deviation of the prior.
    """

    def __init__(
        self,
        attributes: Iterable[list[list[str]]],
        y: Sequence[Sequence[str]],
        *,
        algorithm: str = "lbfgs",
        features: str = "observed",
        sigma: float = 1.0,
    ):
        self._trainer = import_crfsuite().Trainer(algorithm, verbose=False)
        every, defaults = int(features == "all"), self._trainer.get_params()
        self._params = {
            **defaults,
            **({"c2": 0.5 / sigma**2} if "c2" in defaults else {}),
            "feature.possible_states": every,
            "feature.possible_transitions": every,
        }
        for sequence, labels in zip(attributes, y, strict=True):
            self._trainer.append(sequence, labels)

    @property
    def n_weights(self) -> int:
        """Number of weights of the last training."""
        return self._trainer.logparser.featgen_num_features

    def train(self, path: str = "", **params: Any) -> Trace:
        """Train; seconds begin with the generation of features. A path stores the model."""
        self._trainer.set_params({**self._params, **params})
        seconds, _ = cpu_seconds(lambda: self._trainer.train(path))
        log = self._trainer.logparser
        steps = [iteration["time"] for iteration in log.iterations]
        before = max(0.0, seconds - sum(steps) - (log.storing_seconds or 0.0))
        trials = sum(iteration.get("linesearch_trials", 1) for iteration in log.iterations)
        return Trace(
            list(accumulate(steps, initial=before))[1:],
            [iteration["loss"] for iteration in log.iterations],
            1 + trials,
        )

    def model(self, **params: Any) -> bytes:
        """The trained model."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self.train(path, **params)
            return Path(path).read_bytes()

    def seconds_per_evaluation(self, n_iterations: int) -> float:
        """Median CPU seconds of an evaluation in the first iterations of L-BFGS.

        L-BFGS keeps one step only, so that its own work is minimal.
        """
        self.train(num_memories=1, max_iterations=n_iterations)
        first, *others = self._trainer.logparser.iterations
        rates = [iteration["time"] / iteration["linesearch_trials"] for iteration in others]
        # Before the first iteration the objective is evaluated once.
        return median(rates or [first["time"] / (1 + first["linesearch_trials"])])


def tag(model: bytes, attributes: Attributes) -> list[list[str]]:
    """Labels of all tokens."""
    tagger = import_crfsuite().Tagger()
    tagger.open_inmemory(model)
    return [tagger.tag(sequence) for sequence in attributes]


def train_crfsuite(
    X: Sequence[Sequence[str]], y: Sequence[Sequence[str]], sigma: float = 1.0
) -> tuple[float, bytes]:
    """CPU seconds of L-BFGS with the features of the papers, without making them; the model."""
    peer = Peer(simple_attributes(X), y, sigma=sigma)
    return cpu_seconds(peer.model)


def predict_crfsuite(model: bytes, X: Sequence[Sequence[str]]) -> list[list[str]]:
    """Labels of all tokens."""
    return tag(model, simple_attributes(X))


def simple_attributes(X: Sequence[Sequence[str]]) -> Attributes:
    """The word, and the binary features of the papers that hold, per token."""
    words = sorted({word for sentence in X for word in sentence})
    holds = spelling_table(words, SIMPLE_FEATURES).codes == 1
    attributes = {
        word: [f"word={word}", *(f for f, held in zip(SIMPLE_FEATURES, row, strict=True) if held)]
        for word, row in zip(words, holds, strict=True)
    }
    return [[attributes[word] for word in sentence] for sentence in X]


def import_crfsuite() -> Any:
    """The package of python-crfsuite."""
    try:
        import pycrfsuite
    except ImportError:
        sys.exit("The comparison needs python-crfsuite: pip install python-crfsuite")
    return pycrfsuite
