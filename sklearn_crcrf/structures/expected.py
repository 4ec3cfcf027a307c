"""Expected scores of labellings whose probabilities are given."""

import numpy as np

from ..data.ragged import joined_ranges
from ..labels.soft import SoftLabels
from .base import Structure
from .scores import AddTo, Pullback, ScoreGradient, Scores

# Differences of sums of probabilities below this are rounding errors.
ROUNDING = 1e-12


def expected_score(
    structure: Structure, scores: Scores, y: SoftLabels
) -> tuple[np.ndarray, Pullback]:
    r"""Return expected scores; see :meth:`Capabilities.expected_score`.

    Given probabilities p of labels and of pairs, and the scores s of tokens, a of transitions, b of
    first and e of last tokens,

    .. math::

       E[s(y)] = \sum_{t, j} p_t(j)\, s_{tj} + \sum_{t, i, j} p_t(i, j)\, a_{tij} +
       \sum_{t\ \mathrm{first}, j} p_t(j)\, b_j + \sum_{t\ \mathrm{last}, j} p_t(j)\, e_j.

    It is linear in the scores, so its derivatives are the probabilities.
    """
    p = y.tokens.toarray()
    links = _Links(structure, scores, y, p)
    unit = structure.units_of(np.arange(structure.n_tokens))
    value = _expectation(p, scores.state)
    for tokens, of_end in zip(structure.ends, (scores.begin, scores.end), strict=True):
        value[tokens] += _expectation(p[tokens], of_end)
    value[links.current] += links.values()

    def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        gradient = ScoreGradient.of(out, scores)
        expected = p * np.asarray(weight)[unit, None]
        gradient.state[:] += expected
        for tokens, of_end in zip(structure.ends, (gradient.begin, gradient.end), strict=True):
            of_end[:] += expected[tokens].sum(axis=0)
        links.add(np.asarray(weight)[unit[links.current]], gradient)
        return gradient

    return np.bincount(unit, value, structure.n_units), pullback


def _expectation(p: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return expected scores of rows; what is impossible does not matter if it has no probability.

    p and scores have the shape (n_rows, n_labels), and scores may have the shape (n_labels,).
    """
    return np.where(p > 0, p * np.where(p > 0, scores, 0.0), 0.0).sum(axis=1)


def own_entries(structure: Structure, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Return which links have transition scores of their own, and the places of these scores.

    Both arrays have the shape (n,); a link with several scores occurs several times.
    """
    row, indptr = structure.link_rows(scores), scores.token_transitions.indptr
    links = np.flatnonzero(row >= 0)
    starts = indptr[row[links]]
    sizes = indptr[row[links] + 1] - starts
    return np.repeat(links, sizes), joined_ranges(starts, sizes)


class _Links:
    """The probabilities of the labels of both ends of each link, and their transition scores.

    Parameters
    ----------
    structure : Structure
        With one link into a token at most.
    scores : Scores
    y : SoftLabels
    p : ndarray of shape (n_tokens, n_labels)
        The probabilities of the labels of tokens, dense.
    """

    def __init__(self, structure: Structure, scores: Scores, y: SoftLabels, p: np.ndarray):
        previous, self.current = structure.links()
        self._transition = scores.transition
        self._pairs = y.pairs
        if y.pairs is None:
            self._before, self._after = p[previous], p[self.current]
        # The entries of single links, which replace the common transition scores.
        link, self._entry = own_entries(structure, scores)
        entries = scores.token_transitions
        i, j = entries.previous[self._entry], entries.current[self._entry]
        self._link, self._pair = link, (i, j)
        self._score, self._p = entries.score[self._entry], self._probability(link, i, j)

    def _probability(self, link: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the probability of one pair of labels at each of some links."""
        if len(link) == 0:
            return np.empty(0)
        if self._pairs is None:
            return self._before[link, i] * self._after[link, j]
        pair = i.astype(np.int64) * len(self._transition) + j
        return np.asarray(self._pairs[self.current[link], pair])

    def _common(self, table: np.ndarray) -> np.ndarray:
        """Return the expectations of a table of pairs of labels, at each link."""
        if self._pairs is None:
            return np.einsum("tj,tj->t", self._before @ table, self._after)
        return (self._pairs @ table.ravel())[self.current]

    def values(self) -> np.ndarray:
        """Return the expected transition score of each link."""
        forbidden, entries = np.isneginf(self._transition), np.isneginf(self._score)
        common = np.where(forbidden, 0.0, self._transition)
        own = np.where(entries, 0.0, self._score)
        n_links = len(self.current)
        value = self._common(common)
        value += np.bincount(self._link, self._p * (own - common[self._pair]), n_links)
        if forbidden.any() or entries.any():
            change = self._p * (entries.astype(float) - forbidden[self._pair])
            impossible = self._common(forbidden.astype(float))
            impossible += np.bincount(self._link, change, n_links)
            value[impossible > ROUNDING] = -np.inf
        return value

    def add(self, weight: np.ndarray, gradient: ScoreGradient) -> None:
        """Add the expected number of uses of all transition scores; ``weight`` is of links."""
        if self._pairs is None:
            gradient.transition[:] += self._before.T @ (weight[:, None] * self._after)
        else:
            of_tokens = np.zeros(self._pairs.shape[0])
            of_tokens[self.current] = weight
            expected = self._pairs.T @ of_tokens
            gradient.transition[:] += expected.reshape(self._transition.shape)
        of_entries = weight[self._link] * self._p
        np.subtract.at(gradient.transition, self._pair, of_entries)
        np.add.at(gradient.token_transitions, self._entry, of_entries)
