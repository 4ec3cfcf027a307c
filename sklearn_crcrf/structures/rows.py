"""Tokens without links, each labelled on its own: a logistic regression over rows."""

from typing import Any

import numpy as np

from .base import Structure
from .scores import AddTo, Pullback, ScoreGradient, Scores

# Sums of exponentials of scores below this are numbers of single precision.
LARGE = 60.0


class Rows(Structure):
    """Units of one token each, which are not linked.

    The log-loss of its units is that of multinomial logistic regression,

        log sum_l exp(state[t, l]) - state[t, y_t].

    Only state scores count; transition scores may be of any shape.

    Parameters
    ----------
    n_rows : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Rows, Scores
    >>> log_z, marginals = Rows(1).marginals(Scores.of(np.log([[3.0, 1.0]]), np.empty((0, 0))))
    >>> np.exp(log_z).round(6), marginals
    (array([4.]), array([[0.75, 0.25]]))
    """

    def __init__(self, n_rows: int):
        super().__init__(np.arange(n_rows + 1))

    def take(self, units: slice | np.ndarray) -> "Rows":
        if isinstance(units, slice):
            return Rows(len(range(*units.indices(self.n_units))))
        return Rows(len(units))

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        every = np.arange(len(y))

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = ScoreGradient.of(out, scores)
            gradient.state[every, y] += weight.astype(gradient.state.dtype)
            return gradient

        return scores.state[every, y].astype(float), pullback

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        probability = np.empty_like(scores.state)
        log_z = softmax(scores.state, probability)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = ScoreGradient.of(out, scores)
            gradient.state[:] += weight[:, None].astype(probability.dtype) * probability
            return gradient

        return log_z, pullback

    def log_partition_and_gradient(
        self, scores: Scores, weight: np.ndarray, out: AddTo = None
    ) -> tuple[np.ndarray, ScoreGradient]:
        if not isinstance(out, np.ndarray):
            return super().log_partition_and_gradient(scores, weight, out)
        return softmax(scores.state, out, weight), ScoreGradient.zeros(scores, out)

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        y = scores.state.argmax(axis=1)
        return scores.state[np.arange(len(y)), y].astype(float), y.astype(np.int32)


def softmax(state: np.ndarray, out: np.ndarray, weight: np.ndarray | float = 1.0) -> np.ndarray:
    """Write the probabilities of the labels of each row, times its weight, to ``out``.

    Parameters
    ----------
    state, out : ndarray of shape (n_rows, n_labels)
        May be the same array.
    weight : ndarray of shape (n_rows,) or float

    Returns
    -------
    float64 ndarray of shape (n_rows,)
        Logarithms of the sums of exponentials; -inf where all scores are.
    """
    top: Any = np.zeros(1, dtype=state.dtype)
    # To look for the largest score of each row takes longer than all exponentials.
    if state.size and not (state.min() > -LARGE and state.max() < LARGE):
        top = state.max(axis=1)
        top[np.isneginf(top)] = 0
        state = np.subtract(state, top[:, None], out=out)
    np.exp(state, out=out)
    total = np.einsum("ij->i", out)
    out *= (weight / np.where(total == 0, 1, total)).astype(out.dtype)[:, None]
    with np.errstate(divide="ignore"):
        return top + np.log(total, dtype=float)
