"""Scores of the best prefixes and suffixes of paths, for each label of each token."""

import numpy as np

from ..._kernels.chain import viterbi
from ..._kernels.chain.scores import BatchScores
from ...data.ragged import longest_first
from ..ends import ends, with_ends
from ..scores import Scores

__all__ = ["Maxima"]


class Maxima:
    """The best prefixes up to each label of each token, and the best suffixes from it on.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    scores : Scores

    Attributes
    ----------
    state : ndarray of shape (n_tokens, n_labels)
        State scores of the labels, with begin and end scores.
    until, since : ndarray of shape (n_tokens, n_labels)
        Scores of the best prefix that ends with a label, and of the best suffix that begins with
        it, both including the state score of the label.
    """

    def __init__(self, offsets: np.ndarray, scores: Scores):
        self.state = with_ends(scores, ends(offsets))
        self.until = _best_prefixes(offsets, scores)
        backwards = offsets[-1] - offsets[::-1]
        self.since = np.ascontiguousarray(_best_prefixes(backwards, scores.reversed())[::-1])


def _best_prefixes(offsets: np.ndarray, scores: Scores) -> np.ndarray:
    prefixes = np.empty(scores.state.shape)
    path, value = np.empty(len(prefixes), dtype=np.int32), np.empty(len(offsets) - 1)
    batch, order = BatchScores(offsets, scores), longest_first(offsets)
    viterbi.viterbi(batch, order, scores.state, prefixes, path, value)
    return prefixes
