"""Scores of tokens, to which boosting adds trees, and residuals: gold minus expected counts."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor

from ..._kernels.threads import my_threads
from ...criteria import log_loss
from ...data.ragged import joined_ranges
from ...linear.corpus import Chunk, Corpus
from ...structures import Scores
from ...training import interruptible
from .pairs import PairScores, influential

# Returns a tree that is not fitted, given the total weight of what it is to be fitted to.
NewTree = Callable[[float], DecisionTreeRegressor]
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
    gold_links, expected_links : ndarray of shape (n_tokens, n_pairs)
        The same at the link into each token, of the pairs that have trees; zero without a link.
    """

    loss: float
    gold: np.ndarray
    expected: np.ndarray
    gold_pairs: np.ndarray
    expected_pairs: np.ndarray
    gold_links: np.ndarray
    expected_links: np.ndarray


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

    def residuals(
        self, state: np.ndarray, transition: np.ndarray, pair_scores: PairScores
    ) -> Residuals:
        """Compare the gold labels with the distribution under some scores.

        Parameters
        ----------
        state : ndarray of shape (n_tokens, n_labels)
        transition : ndarray of shape (n_labels, n_labels)
        pair_scores : PairScores
        """
        gold, expected = np.empty_like(state), np.empty_like(state)
        gold_links, expected_links = (np.empty_like(pair_scores.values) for _ in range(2))

        def compare(chunk: Chunk) -> tuple[float, np.ndarray, np.ndarray]:
            tokens = slice(chunk.start, chunk.stop)
            scores = self._scores(chunk, state, transition, pair_scores)
            weight, structure = chunk.weight, chunk.structure
            log_z, all_paths = structure.log_partition_and_gradient(
                scores, weight, expected[tokens]
            )
            score, pull_gold = structure.gold_score(scores, chunk.y)
            gold_paths = pull_gold(weight, gold[tokens])
            of_chunk = pair_scores.of_tokens(chunk.start, chunk.stop)
            gold_pairs, gold_links[tokens] = of_chunk.counts(gold_paths, structure)
            all_pairs, expected_links[tokens] = of_chunk.counts(all_paths, structure)
            return weight @ (log_z - score), gold_pairs, all_pairs

        with my_threads(self._n_threads) as threads:
            compared = threads.map(compare, self._chunks)
        loss, *pairs = (sum(part) for part in zip(*compared, strict=True))
        pairs += [gold_links, expected_links]
        return Residuals(float(loss), gold, expected, *pairs)

    def mean_loss(
        self, state: np.ndarray, transition: np.ndarray, pair_scores: PairScores
    ) -> float:
        """Return the weighted mean of the losses of all sequences."""
        total = 0.0
        for chunk in self._chunks:
            scores = self._scores(chunk, state, transition, pair_scores)
            total += chunk.weight @ log_loss(chunk.structure, scores, chunk.y)[0]
        return float(total) / self.corpus.weight.sum()

    def _scores(
        self, chunk: Chunk, state: np.ndarray, transition: np.ndarray, pair_scores: PairScores
    ) -> Scores:
        forbidden, *ends = self._forbidden
        scores = Scores.of(state[chunk.start : chunk.stop], transition + forbidden, *ends)
        return pair_scores.of_tokens(chunk.start, chunk.stop).add_to(scores, chunk.structure)


def gold_counts(data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of labels, and of pairs of labels (row = previous).

    What is not known about a label is uniform among the labellings that are allowed.
    """
    n, n_tokens = data.n_labels, len(data.token_weight)
    nothing = PairScores.zeros(n_tokens, np.empty((0, 2), dtype=np.int32))
    residuals = data.residuals(np.zeros((n_tokens, n)), np.zeros((n, n)), nothing)
    return residuals.gold.sum(axis=0), residuals.gold_pairs


class Booster:
    """Scores of the training data, and their residuals.

    Parameters
    ----------
    data : TrainingData
    transition : ndarray of shape (n_labels, n_labels)
    state : ndarray of shape (n_tokens, n_labels)
        Initial state scores; changed in place.
    pair_scores : PairScores
        Initial scores of the pairs that have trees; changed in place.
    rate : float
        Learning rate: factor of each step.
    penalty : float
        Added to the curvature in each leaf, and to the counts of each pair of labels.

    Attributes
    ----------
    residuals : Residuals
        Residuals under the current scores.
    transition : ndarray of shape (n_labels, n_labels)
    """

    def __init__(
        self,
        data: TrainingData,
        transition: np.ndarray,
        state: np.ndarray,
        pair_scores: PairScores,
        *,
        rate: float,
        penalty: float,
    ):
        self._data, self.transition, self._state = data, transition, state
        self._pair_scores, self._rate, self._penalty = pair_scores, rate, penalty
        self._linked = np.zeros(len(state), dtype=bool)
        self._linked[data.corpus.structure.links()[1]] = True
        self.residuals: Residuals = data.residuals(state, transition, pair_scores)

    def add(self, new_tree: NewTree, tokens: np.ndarray | slice) -> DecisionTreeRegressor:
        """Add a tree, fitted to the residuals of the labels of tokens, to the state scores.

        The transition scores move towards values for which the expected count of every pair of
        labels equals its gold count, as in iterative scaling.

        Parameters
        ----------
        new_tree : callable
            Returns a tree that is not fitted, given the total weight of what it is fitted to.
        tokens : index array, or slice
            The tokens that the tree is fitted to.

        Returns
        -------
        DecisionTreeRegressor
        """
        residuals, n_labels = self.residuals, self._data.n_labels
        of_labels = residuals.gold, residuals.expected
        tree = self._fitted(new_tree, tokens, of_labels, n_labels)
        ratio = (residuals.gold_pairs + self._penalty) / (residuals.expected_pairs + self._penalty)
        self._step(tree, self._state, self._rate * np.log(ratio))
        return tree

    def add_pairs(
        self, new_tree: NewTree, tokens: np.ndarray | slice, trimmed: float
    ) -> DecisionTreeRegressor | None:
        """Add a tree, fitted to the residuals of the pairs at tokens, to the scores of pairs.

        The residual of a pair is whether its two labels are gold, minus the probability of both
        (Dietterich et al. 2004).

        Parameters
        ----------
        new_tree, tokens
            As in :meth:`add`.
        trimmed : float in [0, 1)
            The least influential tokens that have this fraction of the influence of all have no
            say in the splits.

        Returns
        -------
        DecisionTreeRegressor or None
            None if no pair of labels can have a tree.
        """
        linked = np.arange(len(self._linked))[tokens]
        linked = linked[self._linked[linked]]
        if len(linked) == 0 or len(self._pair_scores.pairs) == 0:
            return None
        of_pairs = self.residuals.gold_links, self.residuals.expected_links
        tree = self._fitted(new_tree, linked, of_pairs, self._data.n_labels**2, trimmed)
        self._step(tree, self._pair_scores.values, np.zeros(1))
        return tree

    def _fitted(
        self,
        new_tree: NewTree,
        tokens: np.ndarray | slice,
        counts: tuple[np.ndarray, np.ndarray],
        n_scores: int,
        trimmed: float = 0.0,
    ) -> DecisionTreeRegressor:
        """Fit a tree to gold minus expected counts, and set its leaves by a Newton step."""
        data = self._data
        rows, w = data.corpus.X[tokens], data.token_weight[tokens]
        gold, expected = (of_all[tokens] for of_all in counts)
        target, curvature = (gold - expected) / w[:, None], expected * (1.0 - expected / w[:, None])
        examples = rows, target, w
        if trimmed:
            kept = influential(curvature, w, trimmed)
            examples = rows[kept], target[kept], w[kept]
        tree = _fit(new_tree(examples[2].sum()), *examples)
        by_leaf = _leaves(tree, rows)
        # To add one number to all scores has no effect, so one of n scores is redundant
        # (Friedman 2001).
        share = self._rate * (n_scores - 1) / n_scores
        gradient = by_leaf @ (gold - expected)
        tree.tree_.value[:, :, 0] = share * gradient / (by_leaf @ curvature + self._penalty)
        return tree

    def _step(self, tree: DecisionTreeRegressor, scores: np.ndarray, change: np.ndarray) -> None:
        """Add what a tree predicts to scores, in place, and a change to the transition scores.

        The step is halved until it does not raise the loss: it can, as it ignores that
        neighbouring labels depend on each other.
        """
        before, added = self.residuals.loss, tree_scores(tree, self._data.corpus.X)
        self._change(scores, added, change)
        for _ in range(HALVINGS):
            if self.residuals.loss <= before:
                break
            for part in (tree.tree_.value, change, added):
                part *= 0.5
            self._change(scores, -added, -change)

    def _change(self, scores: np.ndarray, added: np.ndarray, change: np.ndarray) -> None:
        scores += added
        self.transition = self.transition + change
        self.residuals = self._data.residuals(self._state, self.transition, self._pair_scores)


def _fit(
    tree: DecisionTreeRegressor, rows: np.ndarray | sp.csr_array, target: np.ndarray, w: np.ndarray
) -> DecisionTreeRegressor:
    """Fit a tree; trees take sparse rows by columns."""
    columns: Any = rows.tocsc() if isinstance(rows, sp.csr_array) else rows
    interruptible(tree.fit, columns, target, sample_weight=w)
    return tree


def tree_scores(tree: DecisionTreeRegressor, X: np.ndarray | sp.csr_array) -> np.ndarray:
    """Return the scores that a tree adds, (n_tokens, n_outputs)."""
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
