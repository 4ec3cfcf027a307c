"""Sums over all paths of one sequence, and the marginals of its labels."""

from functools import cached_property
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from .._kernels.chain import lock_step, viterbi
from .._kernels.chain.scores import BatchCounts, BatchPotentials, BatchScores
from .._kernels.tree.messages import TreeRows, UpwardMessages, add_tree_counts, upward_messages

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
