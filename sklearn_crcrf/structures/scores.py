"""The scores of a batch of sequences, and derivatives by these scores."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..utils.searching import places_in

_NOTHING = np.empty(0)


class TokenTransitions(NamedTuple):
    """Transition scores of single tokens, where they are above the common transition scores.

    Token ``t`` has the entries of row ``row[t]``, or no entries if ``row[t]`` is -1. In a structure
    whose tokens can have several links into them, ``row`` is of links instead; see
    :meth:`Structure.rows_of_links`.

    Parameters
    ----------
    row : ndarray of shape (n_tokens,), int64
    indptr : ndarray of shape (n_rows + 1,), int64
    previous, current : ndarray of shape (n_entries,), int32
        The labels before and at the token; the pairs of a row are different, and in the order
        of the current label, then of the previous one.
    score : ndarray of shape (n_entries,)
        Not below ``transition[previous, current]``.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.structures import TokenTransitions
    >>> gains = sp.csr_array([[0.0, 0.5, 0.0, 0.0]])  # from label 1 to label 0
    >>> edges = TokenTransitions.from_gains(np.array([-1, 0]), gains, np.eye(2))
    >>> edges.row, edges.previous, edges.current, edges.score
    (array([-1,  0]), array([1], dtype=int32), array([0], dtype=int32), array([0.5]))
    """

    row: np.ndarray
    indptr: np.ndarray
    previous: np.ndarray
    current: np.ndarray
    score: np.ndarray

    @classmethod
    def none(cls, n_tokens: int) -> "TokenTransitions":
        """Return no entries: no token has transition scores of its own."""
        ids = np.empty(0, dtype=np.int32)
        return cls(np.full(n_tokens, -1), np.zeros(1, dtype=np.int64), ids, ids, np.empty(0))

    @classmethod
    def from_gains(
        cls, row: np.ndarray, gains: sp.csr_array, transition: np.ndarray
    ) -> "TokenTransitions":
        """Make them of the gains of single tokens over the common transition scores.

        Parameters
        ----------
        row : ndarray of shape (n_tokens,)
        gains : CSR of shape (n_rows, n_labels ** 2), not negative
            Column ``j * n_labels + i`` is the transition from label i to label j.
        transition : ndarray of shape (n_labels, n_labels)

        Returns
        -------
        TokenTransitions
        """
        gains.sort_indices()
        current, previous = np.divmod(gains.indices, len(transition))
        return cls(
            np.ascontiguousarray(row, dtype=np.int64),
            gains.indptr.astype(np.int64),
            previous.astype(np.int32),
            current.astype(np.int32),
            transition[previous, current] + gains.data,
        )

    def find(
        self, token: np.ndarray, previous: np.ndarray, current: np.ndarray, n_labels: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find which of the given transitions into tokens have an entry, and these entries."""
        if len(self.score) == 0:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing

        def key(row, previous, current):
            return (row * n_labels + current) * n_labels + previous

        row_of_entry = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        keys = key(row_of_entry, self.previous, self.current)
        row = self.row[token]
        at = places_in(keys, key(row, previous, current))
        found = np.flatnonzero((row >= 0) & (at >= 0))
        return found, at[found]


class Scores(NamedTuple):
    """All scores of a batch of sequences.

    Parameters
    ----------
    state : ndarray of shape (n_tokens, n_labels)
    transition : ndarray of shape (n_labels, n_labels), row = previous label
    begin, end : ndarray of shape (n_labels,)
        Added at the first and at the last token of each sequence.
    token_transitions : TokenTransitions
        Replace the common scores in ``transition`` at the tokens that have entries.
    own : ndarray of shape (n_own,)
        Scores of parts that only one structure has, in the order that it defines; empty for none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Scores
    >>> scores = Scores.of(np.zeros((3, 2)), np.eye(2))
    >>> scores.begin, scores.times(2).transition.tolist()
    (array([0., 0.]), [[2.0, 0.0], [0.0, 2.0]])
    """

    state: np.ndarray
    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    token_transitions: TokenTransitions
    own: np.ndarray = _NOTHING

    @classmethod
    def of(
        cls,
        state: np.ndarray,
        transition: np.ndarray,
        begin: np.ndarray | None = None,
        end: np.ndarray | None = None,
    ) -> "Scores":
        """Return scores without token transitions; begin and end are zero unless given.

        Sums are computed in the type of the state scores, float32 or float64; state scores of
        another type become float64, and so do all other scores, which are few.
        """
        kind = state.dtype if state.dtype == np.float32 else np.float64
        state = np.ascontiguousarray(state, dtype=kind)
        begin, end = (np.zeros(len(transition)) if part is None else part for part in (begin, end))
        transition, begin, end = (
            np.ascontiguousarray(part, dtype=float) for part in (transition, begin, end)
        )
        return cls(state, transition, begin, end, TokenTransitions.none(len(state)))

    def of_transitions(
        self, token: np.ndarray, previous: np.ndarray, current: np.ndarray
    ) -> np.ndarray:
        """Return scores of single transitions, each into a given token; all of shape (n,)."""
        values = self.transition[previous, current]
        found, entries = self.token_transitions.find(token, previous, current, len(self.transition))
        values[found] = self.token_transitions.score[entries]
        return values

    def shared(self) -> Iterator[tuple[str, np.ndarray]]:
        """Return the scores that tokens share, by name."""
        yield from zip(("transition", "begin", "end"), self[1:4], strict=True)
        yield "transition", self.token_transitions.score

    def are_below(self, limit: float, start: int, stop: int) -> np.ndarray:
        """Return which of the tokens ``start`` to ``stop`` have only state scores below a limit."""
        return np.all(self.state[start:stop] < limit, axis=1)

    def largest(self) -> float:
        """Return the largest of all scores, at least 0."""
        parts = (*self[:4], self.token_transitions.score, self.own)
        return max(float(part.max(initial=0.0)) for part in parts)

    def with_state(self, state: np.ndarray) -> "Scores":
        """Return the same scores but for the state scores."""
        return self._replace(state=state)

    def allow(self, labels: np.ndarray) -> "Scores":
        """Return the same scores, but -inf for the labels of a token that are not allowed.

        Parameters
        ----------
        labels : ndarray of shape (n_tokens, n_labels), bool
        """
        return self._replace(state=np.where(labels, self.state, -np.inf).astype(self.state.dtype))

    def costs(self, y: np.ndarray) -> np.ndarray:
        """Return the cost of each label of each token: 1 where it is wrong.

        Parameters
        ----------
        y : ndarray of shape (n_tokens,) of label ids, or of shape (n_tokens, n_labels) of bool
            The right labels.

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
            To be added to the state scores, in their type.
        """
        right = y if y.ndim == 2 else y[:, None] == np.arange(self.state.shape[1])
        return np.logical_not(right).astype(self.state.dtype)

    def times(self, factor: float) -> "Scores":
        """Return all scores times a positive number, of the same type."""
        factor = float(factor)
        edges = self.token_transitions._replace(score=factor * self.token_transitions.score)
        state, transition, begin, end = (factor * part for part in self[:4])
        return Scores(state, transition, begin, end, edges, factor * self.own)

    def reversed(self) -> "Scores":
        """Read the scores of the batch backwards: its last sequence first, from end to begin."""
        row, indptr, previous, current, score = self.token_transitions
        backwards = np.full_like(row, -1)
        backwards[1:] = row[:0:-1]
        row_of_entry = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((current, previous, row_of_entry))
        edges = TokenTransitions(backwards, indptr, current[order], previous[order], score[order])
        state = np.ascontiguousarray(self.state[::-1])
        transition = np.ascontiguousarray(self.transition.T)
        return Scores(state, transition, self.end, self.begin, edges, self.own)

    def tokens(self, which: np.ndarray | slice) -> "Scores":
        """Return the scores of some of the tokens, in double precision."""
        edges = self.token_transitions._replace(row=self.token_transitions.row[which])
        transition, begin, end = (np.ascontiguousarray(part, dtype=float) for part in self[1:4])
        state = np.asarray(self.state[which], dtype=float)
        return Scores(state, transition, begin, end, edges, self.own)


class ScoreGradient(NamedTuple):
    """Derivatives by all scores, which is what a pullback returns.

    The derivatives of the score of a path are how often the path uses each score. The derivatives
    of a log-partition are how often paths use each score in expectation.

    Parameters
    ----------
    state : ndarray of shape (n_tokens, n_labels)
    transition : ndarray of shape (n_labels, n_labels)
        Without the transitions that have an entry in ``token_transitions``.
    begin, end : ndarray of shape (n_labels,)
    token_transitions : ndarray of shape (n_entries,)
    own : ndarray of shape (n_own,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> chain, scores = Chain(np.array([0, 3])), Scores.of(np.zeros((3, 2)), np.eye(2))
    >>> _, pullback = chain.score(scores, np.array([0, 1, 1]))
    >>> pullback(np.ones(1)).transition
    array([[0., 1.],
           [0., 1.]])
    """

    state: np.ndarray
    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    token_transitions: np.ndarray
    own: np.ndarray = _NOTHING

    @classmethod
    def zeros(cls, scores: Scores, state: np.ndarray | None = None) -> "ScoreGradient":
        """Return zeros, ``state`` of the type of the state scores, or the given array."""
        parts = *scores[1:4], scores.token_transitions.score, scores.own
        others = [np.zeros(part.shape) for part in parts]
        return cls(np.zeros_like(scores.state) if state is None else state, *others)

    @classmethod
    def of(cls, out: "AddTo", scores: Scores) -> "ScoreGradient":
        """Return the score gradient to add to: the given one, or zeros."""
        if isinstance(out, ScoreGradient):
            return out
        if out is not None:
            out.fill(0.0)
        return cls.zeros(scores, out)

    def add_transitions(
        self,
        scores: Scores,
        token: np.ndarray,
        previous: np.ndarray,
        current: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        """Add the weights of single transitions, as in :meth:`Scores.of_transitions`."""
        found, entries = scores.token_transitions.find(
            token, previous, current, len(scores.transition)
        )
        np.add.at(self.token_transitions, entries, weight[found])
        common = np.delete(weight, found)
        np.add.at(self.transition, (np.delete(previous, found), np.delete(current, found)), common)

    def __sub__(self, other: "ScoreGradient") -> "ScoreGradient":
        return ScoreGradient(*(a - b for a, b in zip(self, other, strict=True)))


AddTo = ScoreGradient | np.ndarray | None
"""What a pullback adds to: a score gradient, or None to begin at zero.

An array also means to begin at zero: it is overwritten with the derivatives by the state scores,
and has their type.
"""

Pullback = Callable[..., ScoreGradient]
"""A function of an array of weights, one for each unit, and of an ``AddTo``.

It returns the score gradient of the weighted sum of the values of all units.
"""


Ends = tuple[np.ndarray, np.ndarray]
"""The tokens that have begin scores, and the tokens that have end scores."""


def ends(offsets: np.ndarray) -> Ends:
    """Return the first and the last token of each sequence that has any."""
    filled = offsets[1:] > offsets[:-1]
    if filled.all():
        return offsets[:-1], offsets[1:] - 1
    return offsets[:-1][filled], offsets[1:][filled] - 1


def with_ends(scores: Scores | ScoreGradient, ends: Ends) -> np.ndarray:
    """``state`` with ``begin`` and ``end`` added at their tokens; a new array."""
    state = np.array(scores.state, dtype=float)
    for tokens, of_ends in zip(ends, (scores.begin, scores.end), strict=True):
        if of_ends.any():
            state[tokens] += of_ends
    return state


def add_with_ends(gradient: ScoreGradient, state: np.ndarray, ends: Ends) -> None:
    """Add the derivatives by what :func:`with_ends` returns to a score gradient."""
    first, last = ends
    gradient.state[:] += state
    gradient.begin[:] += state[first].sum(axis=0, dtype=float)
    gradient.end[:] += state[last].sum(axis=0, dtype=float)
