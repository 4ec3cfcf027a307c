"""Scores of given labels of graphs: of labellings, and of tokens given their neighbours."""

from collections.abc import Collection

import numpy as np
import scipy.sparse as sp

from ...data.ragged import joined_ranges
from ..inference.linked import Linked
from ..scores import AddTo, ScoreGradient, Scores

__all__ = ["LabellingScores", "NeighbourScores"]


class LabellingScores:
    """The scores of given labellings; see :meth:`Structure.score`.

    Attributes
    ----------
    value : ndarray of shape (n_units,)
    """

    def __init__(self, graph: Linked, scores: Scores, y: np.ndarray):
        self._graph, self._scores = graph, scores
        self._y = np.asarray(y, dtype=np.int64)
        tokens, first, last = np.arange(len(self._y)), graph.first_tokens(), graph.last_tokens()
        of_tokens = scores.state[tokens, self._y].astype(float)
        of_tokens[first] += scores.begin[self._y[first]]
        of_tokens[last] += scores.end[self._y[last]]
        of_links = np.asarray(scores.of_transitions(*self._of_links()), dtype=float)
        self.value = _sums(of_tokens, graph.offsets) + _sums(of_links, graph.link_offsets)

    def _of_links(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the row of each link is, if scores of single links exist, and its two labels."""
        previous, current = self._graph.links()
        return self._graph.rows_of_links(), self._y[previous], self._y[current]

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the scores, each times the weight of its unit, added to ``out``."""
        gradient, graph = ScoreGradient.of(out, self._scores), self._graph
        weight = np.asarray(weight, dtype=float)
        of_tokens = np.repeat(weight, np.diff(graph.offsets))
        gradient.state[np.arange(len(self._y)), self._y] += of_tokens
        for part, tokens in (
            (gradient.begin, graph.first_tokens()),
            (gradient.end, graph.last_tokens()),
        ):
            part += np.bincount(self._y[tokens], of_tokens[tokens], minlength=len(part))
        of_links = np.repeat(weight, np.diff(graph.link_offsets))
        gradient.add_transitions(self._scores, *self._of_links(), of_links)
        return gradient


class NeighbourScores:
    """What each label of a token adds to the score of a labelling, given its neighbours.

    See :meth:`Capabilities.conditional_scores`.

    Attributes
    ----------
    scores : ndarray of shape (n_tokens, n_labels)
    """

    def __init__(self, graph: Linked, scores: Scores, y: np.ndarray, neighbours: Collection[int]):
        self._graph, self._scores = graph, scores
        self._ends = [_End(graph, scores, y, step) for step in sorted(neighbours)]
        given = graph.with_ends(scores)
        for end in self._ends:
            given += end.sums(end.rows())
        self.scores = given.astype(scores.state.dtype, copy=False)

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the conditional scores, each times its weight, added to ``out``."""
        gradient, graph = ScoreGradient.of(out, self._scores), self._graph
        gradient.state[:] += weight
        gradient.begin[:] += weight[graph.first_tokens()].sum(axis=0, dtype=float)
        gradient.end[:] += weight[graph.last_tokens()].sum(axis=0, dtype=float)
        for end in self._ends:
            end.add_gradient(np.asarray(weight, dtype=float), gradient)
        return gradient


class _End:
    """The links as seen from one of their ends, whose label is free; the other label is given.

    Parameters
    ----------
    step : {-1, 1}
        Whether the previous token of a link is given, or the current one.
    """

    def __init__(self, graph: Linked, scores: Scores, y: np.ndarray, step: int):
        previous, current = graph.links()
        given, self._free = (previous, current) if step < 0 else (current, previous)
        self._label = np.asarray(y, dtype=np.int64)[given]
        self._scores, self._n_tokens = scores, graph.n_tokens
        self._transition = scores.transition if step < 0 else scores.transition.T
        self._step = step
        row, (_, indptr, *labels, _) = graph.rows(scores), scores.token_transitions
        of_given, of_free = labels[::-step]
        own = np.flatnonzero(row >= 0)
        lengths = indptr[row[own] + 1] - indptr[row[own]]
        entry, link = joined_ranges(indptr[row[own]], lengths), np.repeat(own, lengths)
        used = of_given[entry] == self._label[link]
        self._entry = entry[used]
        self._place = link[used], of_free[self._entry]

    def rows(self) -> np.ndarray:
        """The transition scores of each link, by its free label; (n_links, n_labels)."""
        rows = np.asarray(self._transition, dtype=float)[self._label]
        rows[self._place] = self._scores.token_transitions.score[self._entry]
        return rows

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """The sums over the links of each token, whose label is free; (n_tokens, n_labels)."""
        return _indicator(self._free, self._n_tokens) @ rows

    def add_gradient(self, weight: np.ndarray, gradient: ScoreGradient) -> None:
        """Add the derivatives by transition scores, given weights of the labels of tokens."""
        rows = weight[self._free]
        np.add.at(gradient.token_transitions, self._entry, rows[self._place])
        rows[self._place] = 0.0
        common = _indicator(self._label, len(self._transition)) @ rows
        gradient.transition[:] += common if self._step < 0 else common.T


def _indicator(value: np.ndarray, n_values: int) -> sp.csc_array:
    """The matrix of shape (n_values, n) whose column k is 1 in the row that ``value[k]`` names."""
    columns = np.arange(len(value) + 1)
    return sp.csc_array((np.ones(len(value)), value, columns), shape=(n_values, len(value)))


def _sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The sums of runs of values."""
    unit = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(unit, values, minlength=len(offsets) - 1).astype(float)
