"""Maxima and sums over all labellings of trees but a given one."""

import numpy as np

from .._kernels.chain.scores import BatchScores
from .._kernels.tree.messages import (
    N_TERMS,
    TreeRows,
    add_counts_of_others,
    best_other_labelling,
    sum_other_labellings,
)
from .messages import Messages
from .scores import AddTo, ScoreGradient, Scores, add_with_ends

__all__ = ["OthersThan", "best_excluding"]


class OthersThan:
    """Sums over all labellings but y; see :meth:`Capabilities.log_partition_excluding`.

    No sum includes y itself, so nothing cancels, however much y outweighs the other labellings.

    Parameters
    ----------
    messages : Messages
    scores : Scores
    y : ndarray of shape (n_tokens,)
        Label ids of the labelling to leave out.

    Attributes
    ----------
    value : ndarray of shape (n_units,)
        -inf where no other labelling is possible.
    """

    def __init__(self, messages: Messages, scores: Scores, y: np.ndarray):
        self._given, self._messages = scores, messages
        self._y = np.ascontiguousarray(y, dtype=np.int32)
        self._numbers = np.empty((len(messages.up), N_TERMS))
        self.value = np.empty(len(messages.log_z))
        sum_other_labellings(messages.arrays, self._y, self._numbers, self.value)

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the sum of all values times their weights, added to ``out``."""
        out, messages = ScoreGradient.of(out, self._given), self._messages
        weight, states = np.asarray(weight, dtype=float), np.empty_like(messages.up)
        add_counts_of_others(
            messages.arrays,
            self._y,
            self._numbers,
            self.value,
            weight,
            states,
            out.transition,
            out.token_transitions,
        )
        add_with_ends(out, states, messages.ends)
        return out


def best_excluding(
    offsets: np.ndarray, rows: TreeRows, scores: Scores, y: np.ndarray, best: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best labelling of each unit but y, and in which units there is one.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,), int64
    rows : TreeRows
        The order in which the recursion goes through the tokens.
    scores : Scores
    y : ndarray of shape (n_tokens,)
    best : ndarray of shape (n_tokens, n_labels)
        The best scores of each node and the nodes below it.

    Returns
    -------
    y : ndarray of shape (n_tokens,), int32
    is_possible : ndarray of shape (n_units,), bool
    """
    y = np.ascontiguousarray(y, dtype=np.int32)
    labels, is_possible = np.empty_like(y), np.empty(len(offsets) - 1, dtype=np.uint8)
    batch = BatchScores(offsets, scores)
    best_other_labelling(rows, batch, y, best, labels, is_possible)
    return labels, is_possible.astype(bool)
