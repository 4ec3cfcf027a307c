"""A semi-Markov chain as a chain whose labels are positions in segments."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ...data.ragged import joined_ranges
from ..scores import AddTo, ScoreGradient, Scores, TokenTransitions
from .structure import SegmentStructure


class PositionStates:
    """The labels of the chain: type of a segment, position in it, and whether it ends there.

    Positions after the longest length with a score of its own are one position. A labelling that
    spells a segmentation is the path of one segmentation only, and has its scores.

    Parameters
    ----------
    structure : SegmentStructure

    Attributes
    ----------
    label : ndarray of shape (n_states,)
        The label that each state has.
    kind, position : ndarray of shape (n_states,)
        Type and position, from 0 on; -1 between segments.
    ends : bool ndarray of shape (n_states,)
        Whether the segment ends there.
    previous, current : ndarray of shape (n_pairs,)
        All pairs of states that can follow each other.
    """

    def __init__(self, structure: SegmentStructure):
        roles, m = structure.roles, structure.max_length + 1
        rows = [(label, -1, -1, True) for label in roles.outside().tolist()]
        for k in range(len(roles.types)):
            for d in range(m):
                more, end = (roles.first, roles.single) if d == 0 else (roles.inside, roles.last)
                rows += [(more[k], k, d, False), (end[k], k, d, True)]
        table = np.array([row for row in rows if row[0] >= 0], dtype=np.int64).reshape(-1, 4)
        self.label, self.kind, self.position = table[:, :3].T
        self.ends = table[:, 3] > 0
        self.begins = self.position <= 0
        same = (self.kind[:, None] == self.kind) & (self.kind >= 0)
        goes_on = self.position == np.minimum(self.position + 1, m - 1)[:, None]
        continues = same & ~self.ends[:, None] & (self.position > 0) & goes_on
        self.previous, self.current = np.nonzero(continues | np.outer(self.ends, self.begins))
        n_labels = len(roles.kind)
        self._of = np.full((n_labels, m + 1, 2), -1)
        every = np.arange(len(self.label))
        self._of[self.label] = every[:, None, None]  # where none fits, the last with the label
        self._of[self.label, self.position + 1, self.ends.astype(int)] = every

    def paths(self, structure: SegmentStructure, y: np.ndarray) -> np.ndarray:
        """Return the states of labellings; impossible ones where they spell no segmentation."""
        cut = structure.cuts(y)
        first = np.maximum.accumulate(np.where(cut[:-1], np.arange(len(y)), 0))
        position = np.minimum(np.arange(len(y)) - first, structure.max_length)
        position[structure.roles.kind[y] < 0] = -1
        return self._of[y, position + 1, cut[1:].astype(int)]


class Positions:
    """The scores of that chain, and the derivatives by the given scores.

    Parameters
    ----------
    structure : SegmentStructure
    states : PositionStates
    scores : Scores

    Attributes
    ----------
    scores : Scores
        In double precision.
    """

    def __init__(self, structure: SegmentStructure, states: PositionStates, scores: Scores):
        self.states, self._structure, self._given = states, structure, scores
        self.scores = self._moved(scores, scores.own, -np.inf)

    def labels(self, paths: np.ndarray) -> np.ndarray:
        """Return the labels of states."""
        return self.states.label[paths].astype(np.int32)

    def along(self, direction: ScoreGradient) -> ScoreGradient:
        """Return the direction in which the scores of states move."""
        edges = self._given.token_transitions._replace(score=direction.token_transitions)
        state, transition, begin, end = (np.asarray(part, dtype=float) for part in direction[:4])
        given = Scores(state, transition, begin, end, edges)
        moved = self._moved(given, direction.own, 0.0)
        return ScoreGradient(*moved[:4], moved.token_transitions.score)

    def pulled(self, pullback: Callable) -> Callable:
        """Return the pullback to the given scores, of a pullback to the scores of states."""

        return lambda weight, out=None: self._pull(pullback(weight), out)

    def of_labels(self, values: np.ndarray) -> np.ndarray:
        """Return sums over the states of each label, of (n_tokens, n_states) values."""
        sums = np.zeros((len(values), len(self._given.begin)))
        np.add.at(sums.T, self.states.label, values.T)
        return sums

    def _moved(self, given: Scores, own: np.ndarray, never: float) -> Scores:
        states, n = self.states, len(self.states.label)
        by_length, by_span = self._structure.layout.split(own)
        state = np.take(np.asarray(given.state, dtype=float), states.label, axis=1)
        inner = self._inner
        state[:, inner] += by_length[states.kind[inner], states.position[inner]]
        tokens, columns, span, kind = self._of_spans
        np.add.at(state, (tokens, columns), by_span[span, kind])
        transition = np.full((n, n), never)
        at = states.previous, states.current
        transition[at] = given.transition[states.label[at[0]], states.label[at[1]]]
        begin = np.where(states.begins, given.begin[states.label], never)
        end = np.where(states.ends, given.end[states.label], never)
        entry, edges = self._edges
        score = given.token_transitions.score[entry]
        return Scores(state, transition, begin, end, edges._replace(score=score))

    def _pull(self, moved: ScoreGradient, out: AddTo) -> ScoreGradient:
        gradient, states = ScoreGradient.of(out, self._given), self.states
        gradient.state[:] += self.of_labels(moved.state)
        at = states.previous, states.current
        labels = states.label[at[0]], states.label[at[1]]
        np.add.at(gradient.transition, labels, moved.transition[at])
        np.add.at(gradient.begin, states.label, moved.begin)
        np.add.at(gradient.end, states.label, moved.end)
        entry, _ = self._edges
        np.add.at(gradient.token_transitions, entry, moved.token_transitions)
        if gradient.own.size:
            by_length, by_span = self._structure.layout.split(gradient.own)
            inner = self._inner
            sums = moved.state[:, inner].sum(axis=0)
            np.add.at(by_length, (states.kind[inner], states.position[inner]), sums)
            tokens, columns, span, kind = self._of_spans
            np.add.at(by_span, (span, kind), moved.state[tokens, columns])
        return gradient

    @cached_property
    def _inner(self) -> np.ndarray:
        """The states in which a segment ends."""
        return np.flatnonzero(self.states.ends & (self.states.kind >= 0))

    @cached_property
    def _of_spans(self) -> tuple[np.ndarray, ...]:
        """Token, state, span and type of all scores of spans that can be used."""
        states, spans = self.states, self._structure.spans
        table = np.full((len(self._structure.roles.types), self._structure.max_length + 1), -1)
        inner = self._inner
        table[states.kind[inner], states.position[inner]] = inner
        columns = table.T[spans.length - 1]
        span, kind = np.nonzero(columns >= 0)
        return spans.last_tokens()[span], columns[span, kind], span, kind

    @cached_property
    def _edges(self) -> tuple[np.ndarray, TokenTransitions]:
        """The given entry of each token transition of states, which have no scores yet."""
        states, n_labels, given = self.states, len(self._given.begin), self._given.token_transitions
        of_pairs = states.label[states.previous] * n_labels + states.label[states.current]
        by_pair = np.argsort(of_pairs, kind="stable")
        n_pairs = np.bincount(of_pairs, minlength=n_labels**2)
        starts = np.cumsum(n_pairs) - n_pairs
        pair = given.previous.astype(np.int64) * n_labels + given.current
        counts = n_pairs[pair]
        entry = np.repeat(np.arange(len(pair)), counts)
        chosen = by_pair[joined_ranges(starts[pair], counts)]
        previous, current = states.previous[chosen], states.current[chosen]
        row = np.repeat(np.arange(len(given.indptr) - 1), np.diff(given.indptr))[entry]
        order = np.lexsort((previous, current, row))
        entry, previous, current = entry[order], previous[order], current[order]
        indptr = np.append(0, np.cumsum(np.bincount(row, minlength=len(given.indptr) - 1)))
        ids = previous.astype(np.int32), current.astype(np.int32)
        edges = TokenTransitions(given.row, indptr.astype(np.int64), *ids, np.empty(len(entry)))
        return entry, edges
