"""The base of training criteria: a loss, its pullback, and what training must know of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure


class Criterion(BaseEstimator, ABC):
    """A training loss of labelled sequences, as a function of their scores.

    A subclass defines the loss in :meth:`__call__`, and overrides the attributes here whose
    defaults do not fit. The arguments of ``__init__`` are parameters that searches can set.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.criteria import Criterion, log_loss
    >>> class SequenceRisk(Criterion):
    ...     convex = False
    ...
    ...     def __call__(self, structure, scores, y):
    ...         loss, pull_loss = log_loss(structure, scores, y)
    ...         probability = np.exp(-loss)
    ...
    ...         def pullback(weight, out=None):
    ...             return pull_loss(weight * probability, out)
    ...
    ...         return 1 - probability, pullback
    >>> X, y = [["the", "dog", "walks"], ["dogs", "sleep"]], [["D", "N", "V"], ["N", "V"]]
    >>> CRF(SequenceRisk()).fit(X, y).predict([["the", "dogs", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    """

    requires: tuple[str, ...] = ()
    """The capabilities that a structure must have."""

    convex = True
    """Whether the loss is a convex function of the scores."""

    smooth = True
    """Whether the loss has no kinks or jumps."""

    solver = "lbfgs"
    """The solver that suits this criterion best."""

    decoding = "viterbi"
    """The decoding that suits this criterion best: "viterbi" or "marginal"."""

    takes_partial_labels = True
    """Whether some labels may not be known, or be one of several."""

    takes_soft_labels = False
    """Whether ``y`` may be ``SoftLabels``, the probabilities of labels."""

    @property
    def start(self) -> str:
        """Where training starts: "zeros", or "log_loss" for the optimum of the log loss."""
        return "zeros" if self.convex else "log_loss"

    @abstractmethod
    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        """Return the loss of each sequence, and its pullback.

        Parameters
        ----------
        structure : Structure
        scores : Scores
        y : ndarray of shape (n_tokens,) of label ids, or of shape (n_tokens, n_labels) of bool
            A bool array holds partial labels: it says which labels each token may have.

        Returns
        -------
        loss : ndarray of shape (n_sequences,)
        pullback : callable
            Takes a weight for each sequence, and what to add to; returns the score gradient of
            the weighted sum of the losses.
        """

    def value_and_gradient(
        self,
        structure: Structure,
        scores: Scores,
        y: np.ndarray,
        weight: np.ndarray,
        out: AddTo = None,
    ) -> tuple[np.ndarray, ScoreGradient]:
        """Return the loss of each sequence, and the score gradient of their weighted sum.

        Parameters
        ----------
        structure, scores, y : as in ``__call__``
        weight : ndarray of shape (n_sequences,)
            The weight of each sequence.
        out : ScoreGradient or ndarray of shape (n_tokens, n_labels), optional
            The score gradient to add to, or an array for the derivatives by the state scores.

        Returns
        -------
        loss : ndarray of shape (n_sequences,)
        gradient : ScoreGradient
        """
        loss, pullback = self.checked(structure, scores, y)
        return loss, pullback(weight, out)

    def checked(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        """Return the same as ``__call__``, with checks of what a criterion of the user returns.

        Raises
        ------
        ValueError
            If it is not a loss for each sequence and a pullback, or the pullback returns None.
        """
        result, n = self(structure, scores, y), structure.n_units
        if not (isinstance(result, tuple) and len(result) == 2 and callable(result[1])):
            raise ValueError(f"criterion must return the losses and a pullback, but {self} did not")
        loss, pullback = np.asarray(result[0]), result[1]
        if loss.dtype.kind not in "fiu" or loss.shape[:1] != (n,):
            raise ValueError(
                f"criterion must return a real number for each of {n} sequences, but {self} "
                f"returned an array of type {loss.dtype} and shape {loss.shape}"
            )

        def pull(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = pullback(weight, out)
            if gradient is None:
                raise ValueError(f"the pullback of {self} must return a ScoreGradient, not None")
            return gradient

        return loss, pull

    @property
    def has_curvature(self) -> bool:
        """Whether the criterion defines :meth:`curvature`."""
        return type(self).curvature is not Criterion.curvature

    def curvature(
        self, structure: Structure, scores: Scores, y: np.ndarray, direction: ScoreGradient
    ) -> Pullback:
        """Return second derivatives times a direction, as a pullback, for "newton-cg".

        Raises
        ------
        ValueError
            If the criterion does not define it.
        """
        raise ValueError(f"{self} does not define its second derivatives")

    def for_labels(self, classes: Any) -> "Criterion":
        """Return a copy that knows the labels, or this criterion if it need not know them."""
        return self

    @property
    def is_sum(self) -> bool:
        """Whether the loss of a corpus is the sum of the losses of its sequences."""
        return type(self).combine is Criterion.combine

    def combine(self, totals: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss of a corpus, and its derivatives, given sums over all sequences.

        A criterion overrides it if its loss is not a sum over sequences but, say, a ratio of sums.
        Then ``__call__`` returns a row of numbers for each sequence instead of its loss, and the
        pullback takes a row of weights for each sequence.

        Parameters
        ----------
        totals : ndarray of shape (n_numbers,)
            The weighted sum of the rows of all sequences.

        Returns
        -------
        loss : float
        derivatives : ndarray of shape (n_numbers,)
        """
        raise NotImplementedError(f"{self} is a sum over sequences")


class PlainCriterion(Criterion):
    """A function that returns losses and their pullback, as a criterion with all the defaults.

    Parameters
    ----------
    function : callable
        Takes structure, scores and y, and returns losses and a pullback, as
        :meth:`Criterion.__call__` does.

    Examples
    --------
    >>> from sklearn_crcrf.criteria import PlainCriterion, log_loss
    >>> def doubled(structure, scores, y):
    ...     loss, pullback = log_loss(structure, scores, y)
    ...     return 2.0 * loss, lambda weight, out=None: pullback(2.0 * weight, out)
    >>> PlainCriterion(doubled).start
    'zeros'
    """

    def __init__(self, function: Callable[..., tuple[np.ndarray, Pullback]]):
        self.function = function

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        return self.function(structure, scores, y)
