"""Sums over all paths of one sequence, and the marginals of its labels, at any order."""

from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .._kernels.chain import lock_step, viterbi
from .._kernels.chain.scores import BatchCounts, BatchPotentials, BatchScores
from .._kernels.lattice import sums as lattices
from .._kernels.lattice.runs import (
    LatticeRuns,
    best_lattice_paths,
    score_labels_and_pairs,
    score_lattice_runs,
    starts_of_runs,
)
from .._kernels.tree.messages import TreeRows, UpwardMessages, add_tree_counts, upward_messages
from .content import Content

# Scores up to here have rounding errors below 0.01, and the logarithms of probabilities too.
MOST_CERTAIN = 1e13


def too_large(score: float) -> str:
    """Return an error message: why labels with such a score have no probabilities."""
    return (
        f"scores of up to {score:.3g} are too large for probabilities, since rounding leaves "
        "nothing of their differences; scale the attributes, or use smaller weights"
    )


class Edges(NamedTuple):
    """Transition scores of single tokens, as in ``TokenTransitions`` of structures."""

    row: np.ndarray
    indptr: np.ndarray
    previous: np.ndarray
    current: np.ndarray
    score: np.ndarray

    @classmethod
    def none(cls, n_tokens: int) -> "Edges":
        """No entries."""
        ids = np.empty(0, dtype=np.int32)
        return cls(np.full(n_tokens, -1), np.zeros(1, dtype=np.int64), ids, ids, np.empty(0))


class ChainScores(NamedTuple):
    """All scores of a sequence, of shapes and types as in ``Scores`` of structures."""

    state: np.ndarray
    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    token_transitions: Edges


class PathSum:
    """The paths of one sequence of at least one token.

    The numbers are the bits that an estimator computes: it calls the same kernels.

    Parameters
    ----------
    scores : ChainScores
    """

    def __init__(self, scores: ChainScores):
        self._scores = scores
        n_tokens = len(scores.state)
        self._offsets, self._order = np.array([0, n_tokens]), np.zeros(1, dtype=np.int64)
        self._batch = BatchScores(self._offsets, scores)

    @cached_property
    def best(self) -> tuple[float, np.ndarray]:
        """The score and the labels of the best path; the score is NaN if one is NaN or inf."""
        state = self._scores.state
        value, y = np.empty(1), np.empty(len(state), dtype=np.int32)
        viterbi.viterbi(self._batch, self._order, state, None, y, value)
        return float(value[0]), y

    @cached_property
    def marginals(self) -> tuple[float, np.ndarray]:
        """The log-partition, and the marginals, (n_tokens, n_labels)."""
        state = self._scores.state
        n_tokens, n_labels = state.shape
        potentials = BatchPotentials(self._batch)
        alpha = lock_step.empty_rows(n_tokens, n_labels, state.dtype)
        n_rows = max(n_tokens, lock_step.BLOCK_SIZE) + lock_step.SPARE_ROWS
        work = np.empty((n_rows, n_labels), dtype=state.dtype), alpha, np.empty((n_tokens, 2))
        log_z, marginals = np.empty(1), np.empty_like(state)
        counts = SimpleNamespace(
            transition=np.empty((0, 0)),  # transitions are not counted
            begin=np.zeros(n_labels),
            end=np.zeros(n_labels),
            token_transitions=np.zeros(len(self._scores.token_transitions.score)),
        )
        result = log_z, np.ones(1), False, marginals, BatchCounts(counts)
        lock_step.sum_backward(potentials, self._order, state, *work, *result)
        if np.isnan(log_z[0]):
            return self._marginals_by_logarithms()
        return float(log_z[0]), marginals

    def _marginals_by_logarithms(self) -> tuple[float, np.ndarray]:
        """Return the same where probabilities could underflow."""
        given = self._scores
        scores = given._replace(state=given.state.astype(float))
        state = scores.state
        state[0] += scores.begin
        state[-1] += scores.end
        potential, top = _potential_of(scores.transition)
        transposed = np.ascontiguousarray(scores.transition.T)
        token, before = np.arange(len(state) + 1), np.arange(-1, len(state) - 1)
        n_children = (token[1:] < len(state)).astype(np.int64)
        rows = TreeRows(
            token, self._offsets, token[:-1], np.zeros_like(before), before, token[1:], n_children
        )
        up, log_z, marginals = np.empty_like(state), np.empty(1), np.empty_like(state)
        batch, increment = BatchScores(self._offsets, scores), np.empty(len(state))
        messages = UpwardMessages(batch, rows, before, state, potential, top, up, increment, log_z)
        upward_messages(messages, transposed, _potential_of(transposed)[0])
        counts = np.zeros_like(potential), np.zeros(len(scores.token_transitions.score))
        add_tree_counts(messages, np.ones(1), marginals, *counts)
        return float(log_z[0]), marginals.astype(given.state.dtype)


def _potential_of(transition: np.ndarray) -> tuple[np.ndarray, float]:
    """exp(transition - top), and top, the maximum of the finite transition scores."""
    top = transition.max()
    top = top if np.isfinite(top) else 0.0
    return np.exp(transition - top), top


# As of HigherOrderChain: the probability that a label needs, given scores of pairs, and the largest
# number of labels of a token.
THRESHOLD, MOST = 3e-5, 8
# The tables of labels in a row, of three labels and of four.
NAMES = ("trigrams", "fourgrams")


class RunTables:
    """The scores of three labels in a row, and of four; content from a file is checked.

    Parameters
    ----------
    content : Content
    n_labels : int

    Attributes
    ----------
    tables : list of tuple
        For each number of labels in a row the fields of a ``RunTable`` after the first one.
    """

    def __init__(self, content: Content, n_labels: int):
        self.n_labels = n_labels
        names = [name for name in NAMES if f"{name}.last" in content.arrays]
        if names != list(NAMES[: len(names)]):
            raise ValueError("there are scores of four labels in a row, but none of three")
        self.tables = [_table(content, name, n, n_labels) for n, name in enumerate(names, 2)]

    def lattice(self, scores: ChainScores) -> "SequenceLattice":
        """Return the lattice of the likely labels of one sequence of at least one token."""
        return SequenceLattice(scores, self.tables, *_likely(scores))


def _table(content: Content, name: str, n: int, n_labels: int) -> tuple:
    """Return the arrays of the scores of n + 1 labels in a row."""
    contexts = np.arange(n_labels**2)  # of three labels, all pairs are contexts
    if n > 2:
        contexts = content.array(f"{name}.contexts", "ql", None)
    last = content.indices(f"{name}.last", "i", None, stop=n_labels)
    starts = content.pointers(f"{name}.starts", len(contexts), len(last))
    score = content.array(f"{name}.score", "d", len(last))
    return contexts, starts, last, score, content.array(f"{name}.unseen", "d", len(contexts))


class SequenceLattice:
    """The paths of the likely labels of one sequence; see ``Lattice`` of structures.

    Parameters
    ----------
    scores : ChainScores
    tables : list of tuple
        As of :class:`RunTables`.
    token, label : int ndarray of shape (n_candidates,)
        The labels of each token, at least one.
    """

    def __init__(self, scores: ChainScores, tables: list[tuple], token: Any, label: Any):
        n_tokens, self._n_labels = scores.state.shape
        self._token, self._label = token, label
        offsets, first = np.array([0, n_tokens]), np.searchsorted(token, np.arange(n_tokens + 1))
        start = starts_of_runs(offsets, first, len(tables) + 1)
        self._first, self._runs = first, LatticeRuns(offsets, start)
        self._scores = np.zeros(start[-1, -1])
        batch = BatchScores(offsets, scores)
        score_labels_and_pairs(self._runs, label, batch, scores.state, self._scores)
        for n, table in enumerate(tables, 2):
            score_lattice_runs(self._runs, label, self._n_labels, n, table, self._scores)

    @cached_property
    def best(self) -> tuple[float, np.ndarray]:
        """The score and the labels of the best path; the score is NaN if one is NaN or inf."""
        value, chosen = np.empty(1), np.zeros(len(self._first) - 1, dtype=np.int32)
        work = np.empty(len(self._scores)), np.empty(len(self._scores), dtype=np.int32)
        best_lattice_paths(self._runs, self._scores, *work, value, chosen)
        return float(value[0]), self._label[self._first[:-1] + chosen]

    @cached_property
    def probabilities(self) -> tuple[float, np.ndarray]:
        """The log-partition, and the probabilities of the labels, (n_candidates,)."""
        log_z, gradient = np.empty(1), np.zeros(len(self._scores))
        sums = np.empty_like(gradient), np.empty_like(gradient), log_z
        lattices.sum_lattice_forward(self._runs, self._scores, *sums)
        lattices.sum_lattice_backward(self._runs, *sums, np.ones(1), gradient)
        return float(log_z[0]), gradient[: len(self._label)]

    @cached_property
    def marginals(self) -> tuple[float, np.ndarray]:
        """The log-partition, and the marginals, (n_tokens, n_labels)."""
        log_z, probabilities = self.probabilities
        marginals = np.zeros((len(self._first) - 1, self._n_labels))
        marginals[self._token, self._label] = probabilities
        return log_z, marginals


def _likely(scores: ChainScores) -> tuple[Any, Any]:
    """Return the tokens and labels of the likely labels, at least one of each token.

    As ``chain_candidates`` of structures: probabilities are of the paths of the labels with the
    best state scores; if no such path is possible, of all paths.
    """
    token, label = _best_states(scores.state)
    log_z, probability = SequenceLattice(scores, [], token, label).probabilities
    least = np.full(len(scores.state), THRESHOLD)
    if np.isneginf(log_z):
        marginals = PathSum(scores).marginals[1]
        token, label = np.indices(marginals.shape, dtype=np.int32).reshape(2, -1)
        probability = marginals.ravel()
        least = _at_most(marginals, least)
    start = np.flatnonzero(np.diff(token, prepend=-1))
    least = np.minimum(least, np.maximum.reduceat(probability, start))
    likely = ~(probability < least[token])
    return token[likely], label[likely]


def _best_states(state: np.ndarray) -> tuple[Any, Any]:
    """Return the tokens and labels of the best state scores of each token."""
    least = _at_most(state, state.max(axis=1) - state.dtype.type(-np.log(THRESHOLD)))
    token, label = np.nonzero(~(state < least[:, None]))
    return token, label.astype(np.int32)


def _at_most(values: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Raise the limits of tokens so that no more than MOST values of each reach them."""
    if values.shape[1] <= MOST:
        return least
    return np.maximum(least, np.partition(values, -MOST, axis=1)[:, -MOST])
