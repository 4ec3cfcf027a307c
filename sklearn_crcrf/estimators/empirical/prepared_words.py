"""Sequences of words as they are, whose scores the kernel of taggers computes."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

from ...base.batches import Batch
from ...data.graphs import GraphArray
from ...data.ragged import SequenceArray
from ...serving import Tagger
from ...structures import Scores, TokenTransitions
from .serving import tagger_of_words
from .smoothed import SmoothedModel

__all__ = [
    "PreparedWords",
    "labels_of_words",
]


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


# Chains of higher order: of more sequences than this, the general way, which takes all at once
# through each kernel, is faster. Both find the same labels.
FEW = 16


def labels_of_words(estimator: Any, X: Any) -> Any:
    """The labels of sequences of words; None if the kernel of taggers does not apply.

    Parameters
    ----------
    estimator : EmpiricalCRF
        Fitted, and a copy: another thread may go on training the original.
    X : as in :meth:`EmpiricalCRF.fit`

    Returns
    -------
    labels in the layout of X, or None
    """
    if estimator._run_rates and not _are_few(X):
        return None
    model = estimator.model_
    if not isinstance(model, SmoothedModel) or not model.has_predicted:
        return None
    if not model.may_have_tagger or estimator.encoder_.names != ("token",):
        return None
    sequences = estimator._check_X(X)
    words = PreparedWords.of(estimator, sequences.X)
    if words is None:
        return None
    try:
        ids = _label_ids(words, effective_n_jobs(estimator.n_jobs))
    except ValueError:
        return None  # the general way says what is wrong
    return sequences.mirror(estimator.classes_[ids])


def _are_few(X: Any) -> bool:
    """Whether X has few sequences; False for what has no length, which the general way refuses."""
    return hasattr(X, "__len__") and not sp.issparse(X) and len(X) <= FEW


def _label_ids(words: PreparedWords, n_threads: int) -> np.ndarray:
    """The numbers of the labels of all tokens, on several threads."""
    n_sequences = len(words.sequences)
    if n_threads == 1 or n_sequences < 2:
        return words.labels(0, n_sequences)
    size = -(-n_sequences // n_threads)
    starts = range(0, n_sequences, size)
    parallel = Parallel(n_jobs=n_threads, prefer="threads")
    return np.concatenate(parallel(delayed(words.labels)(k, k + size) for k in starts))
