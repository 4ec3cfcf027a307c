"""How probable given labels are."""

from typing import NamedTuple

import numpy as np

from ..data.ragged import SequenceArray
from ..labels.partial import label_columns
from ..labels.segments.schemes import are_segments, scheme_of
from ..labels.segments.segments import Segments, SpelledSegments, spell_segments
from ..structures import Scores, Structure
from .batch_values import (
    log_partition,
    marginals,
    segments_by_sequence,
    span_log_probabilities,
)

UNKNOWN = -1
"""Stands for a label that is not given."""


class GivenLogProba(NamedTuple):
    """The log-probabilities of given labels of a batch.

    Parameters
    ----------
    tokens : ndarray of shape (n_tokens,)
        NaN for an unknown label.
    segments : list of lists of (start, end, type, log-probability)
        For each sequence; empty lists if there are none to speak of.
    sequences : ndarray of shape (n_sequences,)
        Of all known labels together.
    """

    tokens: np.ndarray
    segments: list[list[tuple]]
    sequences: np.ndarray


class GivenLabels:
    """Given labels of tokens, some of which may be unknown.

    Parameters
    ----------
    y : SequenceArray of one-dimensional data
        None marks an unknown label.
    classes : ndarray of shape (n_labels,)
        All labels of y, in order.
    """

    def __init__(self, y: SequenceArray, classes: np.ndarray):
        self.labels, self.classes = y, classes
        self.ids = label_columns(y, classes)
        labels = classes.tolist()
        self._scheme = scheme_of(labels) if are_segments(labels) else None

    def have_segments(self, structure: Structure) -> bool:
        """Say whether the labels spell segments that have probabilities in this structure."""
        return self._scheme is not None and structure.can("span_log_probability")

    def log_proba(
        self,
        structure: Structure,
        scores: Scores,
        first: int,
        tokens: np.ndarray,
        classes: np.ndarray,
    ) -> GivenLogProba:
        """Return how probable the labels of a batch are.

        Parameters
        ----------
        structure, scores : the structure and scores of the batch
        first : int
            The number of its first sequence, for error messages.
        tokens : int ndarray
            Which of all tokens those of the batch are.
        classes : ndarray
            The labels of the columns of the scores, in order. Other labels are impossible.
        """
        y, columns = self.ids[tokens], self._columns(classes)
        log_z, probability = marginals(structure, scores, first)
        chosen = probability[np.arange(len(y)), np.maximum(columns[y], 0)]
        with np.errstate(divide="ignore"):
            of_tokens = np.log(np.where(columns[y] < 0, 0.0, chosen))
        of_tokens[y == UNKNOWN] = np.nan
        of_sequences = _given_score(structure, scores, first, y, columns)
        of_segments: list[list[tuple]] = [[] for _ in range(structure.n_units)]
        if self.have_segments(structure):
            of_segments = self._segments(structure, scores, y, columns)
        return GivenLogProba(of_tokens, of_segments, _normalised(of_sequences, log_z))

    def sequence_log_proba(
        self,
        structure: Structure,
        scores: Scores,
        first: int,
        tokens: np.ndarray,
        classes: np.ndarray,
    ) -> np.ndarray:
        """Return the log-probability of the labels of each sequence, as :meth:`log_proba`."""
        score = _given_score(structure, scores, first, self.ids[tokens], self._columns(classes))
        return _normalised(score, structure.log_partition(scores)[0])

    def _columns(self, classes: np.ndarray) -> np.ndarray:
        """Return the column of each label; -1 for labels without one, and in the end."""
        columns = np.full(len(self.classes) + 1, -1)
        columns[np.flatnonzero(np.isin(self.classes, classes))] = np.arange(len(classes))
        return columns

    def _segments(
        self, structure: Structure, scores: Scores, y: np.ndarray, columns: np.ndarray
    ) -> list[list[tuple]]:
        assert self._scheme is not None
        classes = [*self.classes.tolist(), "O"]  # unknown labels are of no segment
        y = np.where(y == UNKNOWN, len(self.classes), y)
        segments, labels, before, after = spell_segments(
            y, structure.offsets, classes, self._scheme
        )
        column = labels.with_data(columns[labels.data])
        is_possible = np.array([(ids >= 0).all() for ids in column], dtype=bool)
        spelled = SpelledSegments(
            Segments(*(values[is_possible] for values in segments)),
            column[is_possible],
            *(allowed[is_possible][:, columns >= 0] for allowed in (before, after)),
        )
        value = np.full(len(is_possible), -np.inf)
        value[is_possible] = span_log_probabilities(structure, scores, spelled)
        value[np.isnan(value)] = -np.inf
        return segments_by_sequence(segments, value, structure.n_units)


def _given_score(
    structure: Structure, scores: Scores, first: int, y: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the score of the given labels of each sequence; log of a sum if some are unknown."""
    column, is_given = columns[y], y != UNKNOWN
    value, _ = structure.score(scores, np.maximum(column, 0))
    unit = structure.units_of(np.arange(structure.n_tokens))
    partly = np.zeros(structure.n_units, dtype=bool)
    partly[unit[~is_given]] = True
    if partly.any():
        allowed = ~is_given[:, None] | (column[:, None] == np.arange(scores.state.shape[1]))
        value[partly] = log_partition(structure, scores.allow(allowed), first)[partly]
    value[unit[is_given & (column < 0)]] = -np.inf
    return value


def _normalised(score: np.ndarray, log_z: np.ndarray) -> np.ndarray:
    """Return log-probabilities, -inf where no path is possible."""
    return np.minimum(score - np.where(np.isneginf(log_z), 0.0, log_z), 0.0)
