"""Labels of sequences of words, by the kernel of taggers."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

from .prepared_words import PreparedWords
from .smoothed import SmoothedModel

__all__ = ["labels_of_words"]

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
    if estimator._trigrams is not None and not _are_few(X):
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
