"""Scores of tokens, to which boosting adds trees, and residuals: gold minus expected counts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor

from ..._kernels.threads import my_threads
from ...criteria import log_loss
from ...data.ragged import joined_ranges
from ...linear.corpus import Corpus
from ...structures import Scores
from ...training import interruptible

# Maximum number of halvings of a step that raises the loss.
HALVINGS = 10


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
        """Return the weighted mean of the losses of all sequences."""
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
    n = data.n_labels
    residuals = data.residuals(np.zeros((len(data.token_weight), n)), np.zeros((n, n)))
    counts = residuals.gold.sum(axis=0) + smoothing
    return np.log(counts / counts.sum())


class Booster:
    """Scores of the training data, and their residuals.

    Parameters
    ----------
    data : TrainingData
    state : ndarray of shape (n_tokens, n_labels)
        Initial state scores; changed in place.
    transition : ndarray of shape (n_labels, n_labels)

    Attributes
    ----------
    residuals : Residuals
        Residuals under the current scores.
    transition : ndarray of shape (n_labels, n_labels)
    """

    def __init__(self, data: TrainingData, state: np.ndarray, transition: np.ndarray):
        self._data, self.transition, self._state = data, transition, state
        self.residuals: Residuals = data.residuals(state, transition)

    def add(
        self,
        tree: DecisionTreeRegressor,
        tokens: np.ndarray | slice,
        *,
        rate: float,
        penalty: float,
    ) -> None:
        """Fit a tree to the residuals of tokens, and set its leaves by a step of Newton's method.

        The transition scores move towards values for which the expected count of every pair of
        labels equals its gold count, as in iterative scaling. The step is halved until it does not
        raise the loss: it can, as it ignores that neighbouring labels depend on each other.

        Parameters
        ----------
        tree : DecisionTreeRegressor
            Not fitted yet.
        tokens : index array, or slice
            The tokens that the tree is fitted to.
        rate : float
            Learning rate: factor of the step.
        penalty : float
            Added to the curvature in each leaf, and to the counts of each pair of labels.
        """
        X, residuals = self._data.corpus.X, self.residuals
        rows, w = X[tokens], self._data.token_weight[tokens]
        gold, expected = residuals.gold[tokens], residuals.expected[tokens]
        target = (gold - expected) / w[:, None]
        columns = rows.tocsc() if sp.issparse(rows) else rows
        interruptible(tree.fit, columns, target, sample_weight=w)
        by_leaf = _leaves(tree, rows)
        gradient = by_leaf @ (gold - expected)
        curvature = by_leaf @ (expected * (1.0 - expected / w[:, None]))
        # To add one number to all scores has no effect, so one of n labels is redundant
        # (Friedman 2001).
        n_labels = gold.shape[1]
        share = rate * (n_labels - 1) / n_labels
        tree.tree_.value[:, :, 0] = share * gradient / (curvature + penalty)
        ratio = (residuals.gold_pairs + penalty) / (residuals.expected_pairs + penalty)
        change, added = rate * np.log(ratio), tree_scores(tree, X)
        self._change(added, change)
        for _ in range(HALVINGS):
            if self.residuals.loss <= residuals.loss:
                break
            for part in (tree.tree_.value, change, added):
                part *= 0.5
            self._change(-added, -change)

    def _change(self, added: np.ndarray, change: np.ndarray) -> None:
        self._state += added
        self.transition = self.transition + change
        self.residuals = self._data.residuals(self._state, self.transition)


def tree_scores(tree: DecisionTreeRegressor, X: np.ndarray | sp.csr_array) -> np.ndarray:
    """Return the state scores that a tree adds, (n_tokens, n_labels)."""
    return tree.predict(X, check_input=False).reshape(X.shape[0], tree.n_outputs_)


def _leaves(tree: DecisionTreeRegressor, X: np.ndarray | sp.csr_array) -> sp.csr_array:
    """Indicators of the leaf of each token, (n_nodes, n_tokens)."""
    leaf = tree.apply(X, check_input=False)
    shape = tree.tree_.node_count, len(leaf)
    return sp.csr_array((np.ones(len(leaf)), (leaf, np.arange(len(leaf)))), shape=shape)


def some_tokens(offsets: np.ndarray, part: float, rng: np.random.RandomState) -> np.ndarray | slice:
    """Return the tokens of a random fraction ``part`` of the sequences."""
    if part == 1.0:
        return slice(None)
    n_sequences = len(offsets) - 1
    n_chosen = max(1, round(part * n_sequences))
    chosen = np.sort(rng.choice(n_sequences, n_chosen, replace=False))
    return joined_ranges(offsets[chosen], np.diff(offsets)[chosen])
