"""Labels of sequences of words, by the kernel of taggers."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

from ..data.graphs import GraphArray
from ..data.ragged import object_array
from ..serving import Tagger
from .serving import tagger_of_words

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
    tagger = tagger_of_words(estimator)
    if tagger is None:
        return None
    sequences = estimator._check_X(X)
    data, offsets = sequences.X.data, sequences.X.offsets.tolist()
    if data.ndim != 1 or data.dtype.kind not in "OU" or isinstance(sequences.X, GraphArray):
        return None
    tokens = data.tolist()
    words = [tokens[start:stop] for start, stop in pairwise(offsets)]
    try:
        found = _labels(tagger, words, effective_n_jobs(estimator.n_jobs))
    except (TypeError, ValueError):
        return None  # the general way says what is wrong in X
    labels, classes = [label for path in found for label in path], estimator.classes_
    is_plain = classes.dtype != object
    return sequences.mirror(np.array(labels, classes.dtype) if is_plain else object_array(labels))


def _are_few(X: Any) -> bool:
    """Whether X has few sequences; False for what has no length, which the general way refuses."""
    return hasattr(X, "__len__") and not sp.issparse(X) and len(X) <= FEW


def _labels(tagger: Tagger, words: list[list[str]], n_threads: int) -> list[list]:
    """The labels of all sequences, on several threads."""
    if n_threads == 1 or len(words) < 2:
        return tagger.many(words)
    size = -(-len(words) // n_threads)
    parts = [words[start : start + size] for start in range(0, len(words), size)]
    found = Parallel(n_jobs=n_threads, prefer="threads")(
        delayed(tagger.many)(part) for part in parts
    )
    return [labels for part in found for labels in part]
