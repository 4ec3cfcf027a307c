"""Segment F-score, from smooth counts of missed segments and of false segments."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.ragged import joined_ranges
from ..labels.segments.schemes import check_option, read_labels
from ..labels.segments.segments import find_runs
from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ._smoothing import SMOOTHINGS, check_positive
from ._tokens import check_all_known
from .base import Criterion


def _complement(missed: float, false: float, n: float, square: float) -> tuple[float, np.ndarray]:
    """Return n (1 - F) and its derivatives by the three counts."""
    wrong, whole = square * missed + false, (1 + square) * n + false - missed
    if whole <= 0:
        return 0.0, np.zeros(3)
    share = wrong / whole
    derivatives = (square + share) * n, (1 - share) * n, wrong - (1 + square) * n * share
    return float(n * share), np.array(derivatives) / whole


def _odds(missed: float, false: float, n: float, square: float) -> tuple[float, np.ndarray]:
    """Return (1 - F) / F and its derivatives by the three counts."""
    wrong, found = square * missed + false, (1 + square) * (n - missed)
    if found <= 0:
        return (np.inf if n > 0 else 0.0), np.zeros(3)
    odds = wrong / found
    derivatives = square + (1 + square) * odds, 1.0, -(1 + square) * odds
    return float(odds), np.array(derivatives) / found


OBJECTIVES = {"complement": _complement, "odds": _odds}
"""Functions of the numbers of missed, false and gold segments, and of gamma squared."""


@dataclass(eq=False, repr=False)
class MCEF1(Criterion):
    r"""1 minus a smoothed F-score of segments: minimum classification error of segments [1]_.

    A segment s has the margin g(s), the score of the best labelling that contains s minus the score
    of the best labelling that does not. A labelling contains s if the tokens of s have its labels
    and the neighbouring tokens do not continue it. Smooth counts of the missed segments, over the
    gold segments s, and of the false segments, over the segments s' of the best other labellings
    that are not gold, are

    .. math::

       \mathrm{FN} = \sum_s l(-g(s)), \quad \mathrm{FP} = \sum_{s'} l(g(s')), \quad l(d) =
       \frac{1}{1 + \exp(-(\mathrm{slope}\, d + \mathrm{offset}))},

    and with :math:`\mathrm{TP} = \sum_s [1 - l(-g(s))]` the loss of a corpus with n gold segments
    is

    .. math::

       \mathrm{weight} \cdot n (1 - F), \qquad
       F = \frac{(1 + \gamma^2)\, \mathrm{TP}}{(1 + \gamma^2)\, \mathrm{TP} +
       \gamma^2\, \mathrm{FN} + \mathrm{FP}}.

    The factor n makes the loss comparable with the other losses. The weight makes it count against
    the prior: no segment costs more than that, while the log loss has no bound; ``"mce_f1"`` is
    ``MCEF1(weight=9.0)``. The paper minimises :math:`(1 - F) / F` instead, which explodes where TP
    vanishes; to contain a segment it requires only that the tokens have its labels, not that the
    segment ends there; and a false segment costs :math:`l(-g)` of the gold labels of its tokens.
    That is ``MCEF1(contains="labels", false="gold", objective="odds")``. The loss is not convex,
    has kinks, and jumps where two of the other labellings are equally good, so training starts
    from the optimum of the log loss.

    Parameters
    ----------
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How labels spell segments. Labels that break the scheme are read as by conlleval.
    gamma : float, default=1.0
        How much recall matters compared with precision, positive.
    slope : float, default=1.0
        Positive.
    offset : float, default=0.0
        Positive to ask for a margin.
    contains : {"segment", "labels"}, default="segment"
        When a labelling contains a segment: if it has its labels and the neighbouring tokens do not
        continue it, or if it has its labels, whatever the neighbouring ones are ([1]_, eq. 15).
    false : {"own", "gold"}, default="own"
        What a false segment s' costs: :math:`l(g)`, where labellings with its own labels are
        compared with those without; or :math:`l(-g)`, where labellings with the gold labels of its
        tokens are compared with those without ([1]_, section 4.2). Only the latter also raises
        the scores of gold labels outside of segments, so it can be trained from zero weights.
    objective : {"complement", "odds"}, default="complement"
        n (1 - F), or (1 - F) / F ([1]_, eq. 16), which has no factor n.
    weight : float, default=1.0
        What the objective is multiplied by, positive. To multiply it by 9 is to multiply ``sigma``
        by 3.

    References
    ----------
    .. [1] Suzuki, McDermott, Isozaki, "Training Conditional Random Fields with Multivariate
       Evaluation Measures", COLING/ACL 2006, pages 217-224, doi:10.3115/1220175.1220203.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import MCEF1
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> criterion = MCEF1().for_labels(["B-X", "I-X", "O"])
    >>> scores = Scores.of(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.zeros((3, 3)))
    >>> counts, _ = criterion(Chain(np.array([0, 2])), scores, np.array([0, 2]))
    >>> counts  # missed, false, and all gold segments
    array([[0.26894142, 0.26894142, 1.        ]])
    >>> criterion.combine(counts.sum(axis=0))[0]
    0.26894...
    """

    scheme: str = "IOB2"
    gamma: float = 1.0
    slope: float = 1.0
    offset: float = 0.0
    contains: str = "segment"
    false: str = "own"
    objective: str = "complement"
    weight: float = 1.0

    requires = ("best_excluding", "span_margin")
    convex = False
    smooth = False
    takes_partial_labels = False

    def for_labels(self, classes: Any) -> "MCEF1":
        """Return the criterion for given labels.

        Parameters
        ----------
        classes : array-like of shape (n_labels,)
            The labels, in the order of their ids.

        Returns
        -------
        MCEF1

        Raises
        ------
        ValueError
            If a label does not fit the scheme, or a parameter is out of range.
        """
        check_positive(gamma=self.gamma, slope=self.slope, weight=self.weight)
        check_option("contains", self.contains, ("segment", "labels"))
        check_option("false", self.false, ("own", "gold"))
        check_option("objective", self.objective, OBJECTIVES)
        bound, every = copy(self), np.arange(len(classes))
        bound._labels = read_labels(classes, self.scheme)
        continues = bound._labels.continues(every[:, None], every)
        bound._may_precede = ~continues if self.contains == "segment" else np.ones_like(continues)
        return bound

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        """Count missed, false and gold segments of each sequence, and return their pullback.

        Parameters
        ----------
        structure : Structure
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids.

        Returns
        -------
        counts : ndarray of shape (n_sequences, 3)
        pullback : callable
            Takes weights of shape (n_sequences, 3).

        Raises
        ------
        ValueError
            If labels are partial, or :meth:`for_labels` was not called.
        """
        if not hasattr(self, "_labels"):
            raise ValueError("MCEF1 does not know the labels: call for_labels first")
        check_all_known("MCEF1", y)
        _, other = structure.best_excluding(scores, y)
        start, stop, labels, is_false = self._gold_and_false(structure.offsets, y, other)
        is_wanted = ~is_false
        if self.false == "gold":
            labels, is_wanted = y[joined_ranges(start, stop - start)], np.ones_like(is_false)
        n_labels = stop - start
        first, last = labels[np.cumsum(n_labels) - n_labels], labels[np.cumsum(n_labels) - 1]
        # Gold labels of the tokens of a false segment need not be whole segments.
        is_open = (is_false & is_wanted)[:, None]
        may_follow, may_precede = self._may_precede[last] | is_open, self._may_precede.T[first]
        margin, pull_margin = structure.span_margin(
            scores, start, stop, labels, may_follow, may_precede | is_open
        )
        sign = np.where(is_wanted, -1.0, 1.0)
        error, derivative = SMOOTHINGS["sigmoid"](sign * margin, self.slope, self.offset)
        sequence = structure.units_of(start)
        counts = np.stack(
            [
                np.bincount(sequence, share, minlength=structure.n_units)
                for share in (error * ~is_false, error * is_false, ~is_false)
            ],
            axis=1,
        )

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_spans = weight[sequence, is_false.astype(int)]
            return pull_margin(of_spans * sign * derivative, out)

        return counts, pullback

    def combine(self, totals: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss of a corpus, and its derivatives.

        Parameters
        ----------
        totals : ndarray of shape (3,)
            Numbers of missed, false and gold segments.

        Returns
        -------
        loss : float
            0 where there are no segments.
        derivatives : ndarray of shape (3,)
        """
        missed, false, n = totals
        loss, derivatives = OBJECTIVES[self.objective](missed, false, n, self.gamma**2)
        return self.weight * loss, self.weight * derivatives

    def _gold_and_false(
        self, offsets: np.ndarray, y: np.ndarray, other: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the gold segments, and the segments of other paths that are not gold, as spans.

        Returns
        -------
        start, stop : ndarray of shape (n_spans,)
        labels : ndarray
            The label ids of the tokens of all spans, one span after the other.
        is_false : ndarray of shape (n_spans,)
        """
        start, stop = find_runs(self._labels, y, offsets)
        other_start, other_stop = find_runs(self._labels, other, offsets)
        gold_stop, kind = np.zeros(len(y), dtype=np.int64), self._labels.kind
        gold_stop[start] = stop
        is_false = gold_stop[other_start] != other_stop
        is_false |= kind[y[other_start]] != kind[other[other_start]]
        other_start, other_stop = other_start[is_false], other_stop[is_false]
        return (
            np.append(start, other_start),
            np.append(stop, other_stop),
            np.append(
                y[joined_ranges(start, stop - start)],
                other[joined_ranges(other_start, other_stop - other_start)],
            ),
            np.repeat([False, True], [len(start), len(other_start)]),
        )
