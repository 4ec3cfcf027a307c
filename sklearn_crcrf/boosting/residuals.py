"""How far a chain is from its training data."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..criteria import log_loss
from ..linear import Corpus
from ..structures import Scores
from ..utils.threads import my_threads

__all__ = ["Residuals", "TrainingData", "log_frequencies"]


class Residuals(NamedTuple):
    """The sum of the log losses of all sequences, times their weights, and what lowers it.

    Parameters
    ----------
    loss : float
    gold, expected : ndarray of shape (n_tokens, n_labels)
        How often labels occur, and how often they are expected to: indicators of the gold labels
        and marginals, times the weights of the sequences. Their difference is the residual.
    gold_pairs, expected_pairs : ndarray of shape (n_labels, n_labels)
        The same of pairs of labels, over all tokens.
    """

    loss: float
    gold: np.ndarray
    expected: np.ndarray
    gold_pairs: np.ndarray
    expected_pairs: np.ndarray


class TrainingData:
    """Labelled sequences.

    Parameters
    ----------
    corpus : Corpus
        Of sequences with tokens and weights.
    forbidden : tuple of (transition, begin, end)
        What is added to these scores: 0, or -inf for what is impossible.
    n_threads : int

    Attributes
    ----------
    corpus : Corpus
    n_labels : int
    token_weight : ndarray of shape (n_tokens,)
        The weight of the sequence of each token.
    """

    def __init__(self, corpus: Corpus, forbidden: Sequence[np.ndarray], n_threads: int):
        self.corpus, self._forbidden, self._n_threads = corpus, forbidden, n_threads
        self.n_labels = len(forbidden[0])
        blocks = corpus.chunks(self.n_labels)
        self._chunks = [chunk for block in blocks for chunk in block]
        self.token_weight = np.repeat(corpus.weight, np.diff(corpus.offsets))

    def residuals(self, state: np.ndarray, transition: np.ndarray) -> Residuals:
        """Compare the gold labels with what is expected under some scores.

        Parameters
        ----------
        state : ndarray of shape (n_tokens, n_labels)
        transition : ndarray of shape (n_labels, n_labels)
        """
        gold, expected = np.empty_like(state), np.empty_like(state)

        def compare(chunk) -> tuple[float, np.ndarray, np.ndarray]:
            tokens = slice(chunk.start, chunk.stop)
            scores = self._scores(state[tokens], transition)
            weight, structure = chunk.weight, chunk.structure
            log_z, of_all = structure.log_partition_and_gradient(scores, weight, expected[tokens])
            score, pull_gold = structure.gold_score(scores, chunk.y)
            of_gold = pull_gold(weight, gold[tokens])
            return weight @ (log_z - score), of_gold.transition, of_all.transition

        with my_threads(self._n_threads) as threads:
            compared = threads.map(compare, self._chunks)
        loss, *pairs = (sum(part) for part in zip(*compared, strict=True))
        return Residuals(float(loss), gold, expected, *pairs)

    def mean_loss(self, state: np.ndarray, transition: np.ndarray) -> float:
        """The weighted mean of the losses of all sequences."""
        total = 0.0
        for chunk in self._chunks:
            scores = self._scores(state[chunk.start : chunk.stop], transition)
            total += chunk.weight @ log_loss(chunk.structure, scores, chunk.y)[0]
        return float(total) / self.corpus.weight.sum()

    def _scores(self, state: np.ndarray, transition: np.ndarray) -> Scores:
        forbidden, *ends = self._forbidden
        return Scores.of(state, transition + forbidden, *ends)


def log_frequencies(data: TrainingData, smoothing: float) -> np.ndarray:
    """Logarithms of how often labels occur, with something added to the count of each."""
    zeros = np.zeros((len(data.token_weight), data.n_labels)), np.zeros((data.n_labels,) * 2)
    counts = data.residuals(*zeros).gold.sum(axis=0) + smoothing
    return np.log(counts / counts.sum())
