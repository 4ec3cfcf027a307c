"""Scores that reach back several labels, over the likely labels of each token of one sequence."""

from functools import cached_property
from typing import Any

import numpy as np

from .._kernels._lattice import (
    LatticeRuns,
    best_lattice_paths,
    sum_lattice_backward,
    sum_lattice_forward,
)
from .._kernels._run_scores import score_lattice_runs
from .content import Content
from .sums import ChainScores, Edges, PathSum

__all__ = ["RunTables", "SequenceLattice"]

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
        """The lattice of the likely labels of one sequence of at least one token."""
        return SequenceLattice(scores, self.tables)


def _table(content: Content, name: str, n: int, n_labels: int) -> tuple:
    """The arrays of the scores of n + 1 labels in a row."""
    contexts = np.arange(n_labels**2)  # of three labels, all pairs are contexts
    if n > 2:
        contexts = content.array(f"{name}.contexts", "ql", None)
    starts = content.array(f"{name}.starts", "ql", len(contexts) + 1)
    last = content.indices(f"{name}.last", "i", None, 0, n_labels)
    if starts[0] != 0 or starts[-1] != len(last) or (np.diff(starts) < 0).any():
        raise ValueError(f"the array '{name}.starts' has values out of range")
    score = content.array(f"{name}.score", "d", len(last))
    return contexts, starts, last, score, content.array(f"{name}.unseen", "d", len(contexts))


class SequenceLattice:
    """The paths of the likely labels of one sequence; see ``Lattice`` of structures.

    Parameters
    ----------
    scores : ChainScores
    tables : list of tuple
        As of :class:`RunTables`.
    """

    def __init__(self, scores: ChainScores, tables: list[tuple]):
        n_tokens, self._n_labels = scores.state.shape
        token, self._label = _likely(PathSum(scores).marginals[1])
        self._token, self._sizes = token, np.bincount(token, minlength=n_tokens)
        order, position = len(tables) + 1, np.arange(n_tokens)
        sizes = [self._sizes]
        for n in range(1, order + 1):
            longer = np.append(0, sizes[-1][:-1] * self._sizes[1:])
            sizes.append(np.where(position < n, 0, longer))
        start = np.append(0, np.cumsum(np.concatenate(sizes)))
        self._start = np.stack([start[n * n_tokens :][: n_tokens + 1] for n in range(order + 1)])
        self._runs = LatticeRuns(np.array([0, n_tokens]), self._start)
        self._scores = np.zeros(start[-1])
        self._add_labels_and_pairs(scores)
        for n, table in enumerate(tables, 2):
            given = self._runs, self._label, self._n_labels, n, table
            score_lattice_runs(*given, self._scores)

    @cached_property
    def best(self) -> tuple[float, np.ndarray]:
        """The score and the labels of the best path; the score is NaN if one is NaN or inf."""
        value, chosen = np.empty(1), np.zeros(len(self._sizes), dtype=np.int32)
        work = np.empty(len(self._scores)), np.empty(len(self._scores), dtype=np.int32)
        best_lattice_paths(self._runs, self._scores, *work, value, chosen)
        return float(value[0]), self._label[self._start[0, :-1] + chosen]

    @cached_property
    def marginals(self) -> tuple[float, np.ndarray]:
        """The log-partition, and the marginals, (n_tokens, n_labels)."""
        log_z, gradient = np.empty(1), np.zeros(len(self._scores))
        sums = np.empty_like(gradient), np.empty_like(gradient), log_z
        sum_lattice_forward(self._runs, self._scores, *sums)
        sum_lattice_backward(self._runs, *sums, np.ones(1), gradient)
        marginals = np.zeros((len(self._sizes), self._n_labels))
        marginals[self._token, self._label] = gradient[: len(self._label)]
        return float(log_z[0]), marginals

    def _add_labels_and_pairs(self, scores: ChainScores) -> None:
        n, label, state = self._n_labels, self._label, self._scores[: len(self._label)]
        state[:] = scores.state[self._token, label]
        state[: self._sizes[0]] += scores.begin[label[: self._sizes[0]]]
        last = slice(len(label) - self._sizes[-1], None)
        state[last] += scores.end[label[last]]
        pairs = slice(self._start[1, 0], self._start[1, -1])
        token = np.repeat(np.arange(len(self._sizes)), np.diff(self._start[1]))
        number = np.arange(len(token)) - (self._start[1, :-1] - self._start[1, 0])[token]
        before, here = np.divmod(number, self._sizes[token])
        previous, current = (
            label[self._start[0, at] + k] for at, k in ((token - 1, before), (token, here))
        )
        self._scores[pairs] = scores.transition[previous, current]
        edges: Edges = scores.token_transitions
        if len(edges.score):
            of_entry = np.repeat(np.arange(len(self._sizes)), np.diff(edges.indptr))
            keys = (of_entry * n + edges.current) * n + edges.previous
            wanted = (token * n + current) * n + previous
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = np.flatnonzero(keys[at] == wanted)
            self._scores[pairs.start + found] = edges.score[at[found]]


def _likely(marginals: np.ndarray) -> tuple[Any, Any]:
    """The tokens and labels of the likely labels, at least one of each token."""
    least = np.full(len(marginals), THRESHOLD)
    if marginals.shape[1] > MOST:
        least = np.maximum(least, np.partition(marginals, -MOST, axis=1)[:, -MOST])
    best = marginals.max(axis=1)
    token, label = np.nonzero(~(marginals < np.minimum(least, best)[:, None]))
    return token, label.astype(np.int32)
