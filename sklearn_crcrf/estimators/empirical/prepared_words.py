"""Sequences of words as they are, whose scores the kernel of taggers computes."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...base.batches import Batch
from ...data.graphs import GraphArray
from ...data.ragged import SequenceArray
from ...serving import Tagger
from ...structures import Scores, TokenTransitions
from .serving import tagger_of_words

__all__ = ["PreparedWords"]


class PreparedWords(NamedTuple):
    """Sequences of words, and the tagger of the model that predicts them.

    Parameters
    ----------
    tagger : Tagger
    sequences : list of list of str
    """

    tagger: Tagger
    sequences: list[list[str]]

    @classmethod
    def of(cls, estimator: Any, X: SequenceArray) -> "PreparedWords | None":
        """The words of X; None if X has others than strings, or the model has no tagger.

        Parameters
        ----------
        estimator : EmpiricalCRF
            Fitted, and a copy: another thread may go on training the original.
        X : SequenceArray
        """
        if X.kind != "words" or isinstance(X, GraphArray):
            return None
        words = X.data.tolist()
        if not {*map(type, words)} <= {str}:
            return None  # the general way says what is wrong
        tagger = tagger_of_words(estimator)
        if tagger is None:
            return None
        return cls(tagger, [words[start:stop] for start, stop in pairwise(X.offsets.tolist())])

    def scores(self, batch: Batch) -> Scores:
        """The scores of a batch, to the last bit as in the general way."""
        own = self.sequences[batch.first : batch.first + batch.structure.n_units]
        state, transition, begin, end, edges = self.tagger.scores_of_many(own)
        return Scores(state, transition, begin, end, TokenTransitions(*edges))

    def labels(self, start: int, stop: int) -> np.ndarray:
        """The numbers of the labels of all tokens of some sequences."""
        return self.tagger.label_ids(self.sequences[start:stop])
