"""Residuals of the training data: gold minus expected counts of labels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._kernels.threads import my_threads
from ...criteria import log_loss
from ...linear.corpus import Corpus
from ...structures import Scores


class Residuals(NamedTuple):
    """The weighted sum of the log losses of all sequences, and gold and expected counts.

    Parameters
    ----------
    loss : float
    gold, expected : ndarray of shape (n_tokens, n_labels)
        Indicators of the gold labels, and marginals, both times the weights of the sequences.
        Their difference is the residual.
    gold_pairs, expected_pairs : ndarray of shape (n_labels, n_labels)
        Gold and expected counts of pairs of labels, summed over all tokens.
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
        Sequences that have tokens and positive weights.
    forbidden : tuple of (transition, begin, end)
        Added to these scores: -inf where labels are impossible, else 0.
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
        """Compare the gold labels with the distribution under some scores.

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
            log_z, all_paths = structure.log_partition_and_gradient(
                scores, weight, expected[tokens]
            )
            score, pull_gold = structure.gold_score(scores, chunk.y)
            gold_paths = pull_gold(weight, gold[tokens])
            return weight @ (log_z - score), gold_paths.transition, all_paths.transition

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
    """Logarithms of label frequencies, with ``smoothing`` added to each count."""
    zeros = np.zeros((len(data.token_weight), data.n_labels)), np.zeros((data.n_labels,) * 2)
    counts = data.residuals(*zeros).gold.sum(axis=0) + smoothing
    return np.log(counts / counts.sum())
