"""One unit of a batch: the scores of its tokens, and of the links and triangles between them."""

from typing import NamedTuple

import numpy as np

from ..base import Structure
from ..capabilities import Unsupported
from ..scores import Scores, with_ends


class LinkedTokens(NamedTuple):
    """The tokens of one unit, numbered from 0, and the scores of all labels and pairs of labels.

    Parameters
    ----------
    state : ndarray of shape (n_tokens, n_labels)
        State scores, with begin and end scores.
    previous, current : ndarray of shape (n_links,), int64
        The tokens that links lead from and into.
    row : ndarray of shape (n_links,), int64
        The row of the scores of single links that each link has, -1 for none.
    scores : Scores
        Of the batch of this unit.
    triangles : ndarray of shape (n_triangles, 3), int64
        Tokens that have scores together.
    table_of_triangle : ndarray of shape (n_triangles,), int64
    """

    state: np.ndarray
    previous: np.ndarray
    current: np.ndarray
    row: np.ndarray
    scores: Scores
    triangles: np.ndarray
    table_of_triangle: np.ndarray

    def transition(self, link: int) -> np.ndarray:
        """Return the transition scores of a link, (n_labels, n_labels), row = previous label."""
        row = self.row[link]
        if row < 0:
            return self.scores.transition
        _, indptr, previous, current, score = self.scores.token_transitions
        entries = slice(indptr[row], indptr[row + 1])
        transition = np.array(self.scores.transition, dtype=float)
        transition[previous[entries], current[entries]] = score[entries]
        return transition

    def triangle(self, triangle: int) -> np.ndarray:
        """Return the scores of a triangle, of shape (n_labels, n_labels, n_labels)."""
        n = self.state.shape[1]
        return self.scores.own.reshape(-1, n, n, n)[self.table_of_triangle[triangle]]

    def without_scores(self) -> "LinkedTokens":
        """Replace all scores but -inf by 0, and drop links if all pairs are possible."""
        edges = self.scores.token_transitions
        scores = self.scores._replace(
            transition=_impossible(self.scores.transition),
            token_transitions=edges._replace(score=_impossible(edges.score)),
        )
        none = self.triangles[:0], self.table_of_triangle[:0]  # their scores are finite
        state = _impossible(self.state)
        tokens = LinkedTokens(state, self.previous, self.current, self.row, scores, *none)
        if scores.transition.any() or scores.token_transitions.score.any():
            return tokens
        return tokens._replace(previous=self.previous[:0], current=self.current[:0])


def _impossible(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(scores), -np.inf, 0.0)


class LinkedUnits:
    """The units of a batch, to be taken one by one.

    Parameters
    ----------
    structure : Structure
        Without ``own_scores``.
    scores : Scores

    Raises
    ------
    Unsupported
        If the score of a labelling has parts that the scores do not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> from sklearn_crcrf.structures.programs.linked_tokens import LinkedUnits
    >>> units = LinkedUnits(Chain(np.array([0, 1, 3])), Scores.of(np.zeros((3, 2)), np.eye(2)))
    >>> tokens = units.take(1)
    >>> tokens.previous, tokens.current, tokens.transition(0).tolist()
    (array([0]), array([1]), [[1.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, structure: Structure, scores: Scores):
        if structure.own_scores:
            raise Unsupported(structure, "first-order scores", "an integer program")
        self._offsets, self._scores = structure.offsets, scores
        self._state = with_ends(scores, structure.ends)
        previous, current = structure.links()
        order = np.argsort(current, kind="stable")
        self._previous, self._current = previous[order], current[order]
        self._row = structure.link_rows(scores)[order]
        self._link_offsets = np.searchsorted(self._current, structure.offsets)
        self._triangles, self._table = structure.triangles, structure.table_of_triangle
        unit = structure.units_of(self._triangles[:, 0])
        self._first_triangle = np.searchsorted(unit, np.arange(structure.n_units + 1))

    def take(self, unit: int) -> LinkedTokens:
        """Return the tokens of one unit."""
        start, stop = self._offsets[unit : unit + 2]
        links = slice(*self._link_offsets[unit : unit + 2])
        triangles = slice(*self._first_triangle[unit : unit + 2])
        return LinkedTokens(
            self._state[start:stop],
            self._previous[links] - start,
            self._current[links] - start,
            self._row[links],
            self._scores,
            self._triangles[triangles] - start,
            self._table[triangles],
        )
