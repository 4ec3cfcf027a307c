"""The true labels of the sequences to calibrate with, and what of them may be missed."""

from typing import Any, NamedTuple, Self

import numpy as np

from ...base.weights import places_of
from ...data.layout import Sequences
from ...data.ragged import SequenceArray, joined_ranges
from ...labels.partial import encode_partial_labels
from ...labels.segments.schemes import scheme_or_bare
from ...labels.segments.segments import find_segments
from ..empirical.out_of_fold import groups_of_sequences

OUTSIDE = "O"


class Units(NamedTuple):
    """What may be missed.

    Parameters
    ----------
    score : ndarray of shape (n_units,)
        How probable a model finds the truth.
    sample : int ndarray of shape (n_units,)
        The sequence, or group, that each unit belongs to.
    """

    score: np.ndarray
    sample: np.ndarray

    def n_samples(self) -> int:
        """Return the number of sequences, or groups, that have one."""
        return len(np.unique(self.sample))


class Truth(NamedTuple):
    """True labels, of which some may not be known.

    Parameters
    ----------
    y : SequenceArray
    sample : int ndarray of shape (n_sequences,)
        The number of each sequence, or of its group.
    classes : ndarray of shape (n_labels,)
        All labels of y, which a model need not know.
    ids : int ndarray of shape (n_tokens,)
        The label of each token, -1 if it is not known.
    """

    y: SequenceArray
    sample: np.ndarray
    classes: np.ndarray
    ids: np.ndarray

    @classmethod
    def of(cls, sequences: Sequences, groups: Any) -> Self:
        """Return the truth of sequences, whose groups are None or as in ``conformalize``."""
        sample = np.arange(len(sequences.X))
        if groups is not None:
            sample = np.unique(groups_of_sequences(groups, sequences), return_inverse=True)[1]
        classes, ids, _ = encode_partial_labels(sequences.y)
        return cls(sequences.y, sample, classes, ids)

    def n_samples(self) -> int:
        """Return the number of sequences, or groups."""
        return len(np.unique(self.sample))

    def tokens(self, sequences: np.ndarray) -> np.ndarray:
        """Return the numbers of the tokens of some sequences."""
        return joined_ranges(self.y.offsets[sequences], self.y.lengths[sequences])

    def columns(self, sequences: np.ndarray, classes: np.ndarray) -> SequenceArray:
        """Return the columns of the labels of some sequences, -1 where there is none."""
        own = self.y.with_data(self.ids)[sequences]
        return own.with_data(np.append(places_of(self.classes, classes), -1)[own.data])

    def labellings(self, score: np.ndarray) -> Units:
        """Return the sequences that are not empty and whose labels are all known."""
        is_used = self.y.lengths > 0
        is_used[self._sequence()[self.ids < 0]] = False
        return Units(score[is_used], self.sample[is_used])

    def labels(self, score: np.ndarray) -> Units:
        """Return the tokens whose label is known."""
        is_known = self.ids >= 0
        return Units(score[is_known], self.sample[self._sequence()[is_known]])

    def tokens_of_names(self, score: np.ndarray) -> Units:
        """Return the tokens whose label is known and not "O"."""
        is_name = np.append(are_of_names(self.classes), False)[self.ids]
        return Units(score[is_name], self.sample[self._sequence()[is_name]])

    def names(self, score: np.ndarray) -> Units:
        """Return the names, each as probable as the least probable one of its tokens."""
        known = np.append(self.classes.astype(object), OUTSIDE)[self.ids]
        scheme = scheme_or_bare("auto", self.classes.tolist())
        spans = find_segments(self.y.with_data(known), scheme, "conlleval", "y")
        origin = self.y.offsets[spans.sequence]
        bounds = np.ravel([origin + spans.start, origin + spans.end], "F")
        least = np.minimum.reduceat(np.append(score, 1.0), bounds)[::2]
        return Units(least, self.sample[spans.sequence])

    def _sequence(self) -> np.ndarray:
        """Return the sequence of each token."""
        return np.repeat(np.arange(len(self.y)), self.y.lengths)


def are_of_names(classes: np.ndarray) -> np.ndarray:
    """Say which labels are not "O"."""
    return np.array([label != OUTSIDE for label in classes.tolist()], dtype=bool)
