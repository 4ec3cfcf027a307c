"""The base of all structures: the methods that every structure has."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from ..labels.soft import SoftLabels
from .candidates import Candidates
from .capabilities import Capabilities
from .scores import AddTo, Ends, Pullback, ScoreGradient, Scores


class Structure(Capabilities, ABC):
    """A batch of graphs to label, with sums and maxima over all their labellings.

    The graphs are called units; the units of a chain are sequences. The tokens of a unit follow
    each other, and a token may be linked to other tokens: a link has a transition score, a token
    with no link into it a begin score, and a token with no link out of it an end score.

    A subclass implements the abstract methods here, and the methods of
    :class:`~sklearn_crcrf.structures.capabilities.Capabilities` that it supports.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,), int64
        Unit ``u`` has the tokens from ``offsets[u]`` to ``offsets[u + 1] - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, HigherOrderChain
    >>> chain = Chain(np.array([0, 2, 5]))
    >>> chain.n_units, chain.n_tokens, chain.take(slice(1, 2)).offsets
    (2, 5, array([0, 3]))
    >>> chain.can("span_margin"), HigherOrderChain(chain.offsets, [None]).can("span_margin")
    (True, False)
    """

    own_scores = False
    """Whether the score of a labelling has parts that :class:`Scores` does not hold."""

    is_directed = True
    """Whether a link has a direction, so that its two ends may have different distributions."""

    triangles = np.empty((0, 3), dtype=np.int64)
    """Three tokens in each row that have scores together; most structures have none."""

    table_of_triangle = np.empty(0, dtype=np.int64)
    """Which of the tables in ``Scores.own`` each triangle has."""

    always_sequential = False
    """Whether all structures of this class are sequential, whatever their tokens."""

    def __init__(self, offsets: np.ndarray):
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)

    @property
    def n_units(self) -> int:
        """The number of graphs."""
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        """The number of tokens of all graphs."""
        return int(self.offsets[-1])

    def units_of(self, tokens: np.ndarray) -> np.ndarray:
        """Return the units that tokens belong to."""
        return np.searchsorted(self.offsets, tokens, side="right") - 1

    @abstractmethod
    def take(self, units: slice | np.ndarray) -> "Structure":
        """Return the structure of some of the units, in the order given.

        Parameters
        ----------
        units : slice of step 1, or ndarray of int

        Returns
        -------
        Structure
        """

    @abstractmethod
    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens that transitions lead from and into.

        Returns
        -------
        previous, current : ndarray of shape (n_links,), int64
        """

    @property
    def n_rows(self) -> int:
        """The length of ``Scores.token_transitions.row``."""
        return self.n_tokens

    def rows_of_links(self) -> np.ndarray:
        """Return where in ``Scores.token_transitions.row`` the entry of each link is.

        Returns
        -------
        ndarray of shape (n_links,), int64
            By default the tokens that links lead into, as each has one such link at most.
        """
        return self.links()[1]

    def link_rows(self, scores: Scores) -> np.ndarray:
        """Return the row of the token transitions that each link has, -1 for none.

        Parameters
        ----------
        scores : Scores
            If no link has scores of its own, the number of its rows may be wrong.

        Returns
        -------
        ndarray of shape (n_links,), int64
        """
        rows = self.rows_of_links()
        if len(scores.token_transitions.score) == 0:
            return np.full(len(rows), -1)
        return scores.token_transitions.row[rows]

    @abstractmethod
    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """Return scores of given labellings.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids.

        Returns
        -------
        value : float64 ndarray of shape (n_units,)
        pullback : callable
            Its score gradient counts how often a labelling uses each score.
        """

    @abstractmethod
    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        """Return log-partitions: logarithms of the sums of exp(score) over all labellings.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        value : float64 ndarray of shape (n_units,)
            -inf where no labelling is possible, 0 for a unit without tokens, NaN where a state
            score is NaN or inf.
        pullback : callable
            Its score gradient is the expected number of uses of each score.
        """

    @abstractmethod
    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """Return the best labelling of each unit.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        value : float64 ndarray of shape (n_units,)
            The score of that labelling; -inf where no labelling is possible, 0 for a unit without
            tokens, NaN where a state score is NaN or inf.
        y : ndarray of shape (n_tokens,), int32
        """

    def log_partition_and_gradient(
        self, scores: Scores, weight: np.ndarray, out: AddTo = None
    ) -> tuple[np.ndarray, ScoreGradient]:
        """Return the log-partitions, and their score gradient for given weights.

        A structure overrides this method if it can compute both at once in less time.

        Parameters
        ----------
        scores : Scores
        weight : ndarray of shape (n_units,)
        out : ScoreGradient or ndarray of shape (n_tokens, n_labels), optional

        Returns
        -------
        value : float64 ndarray of shape (n_units,)
        gradient : ScoreGradient
        """
        value, pullback = self.log_partition(scores)
        return value, pullback(weight, out)

    def gold_score(self, scores: Scores, y: np.ndarray | SoftLabels) -> tuple[np.ndarray, Pullback]:
        """Return scores of gold labellings, or of all labellings that partial labels allow.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,) of label ids, or of shape (n_tokens, n_labels) of bool, \
or SoftLabels

        Returns
        -------
        value : float64 ndarray of shape (n_units,)
            For partial labels, the log-partition of the labellings that they allow; for soft
            labels, the expected score.
        pullback : callable
        """
        if isinstance(y, SoftLabels):
            return self.expected_score(scores, y)
        if y.ndim == 1:
            return self.score(scores, y)
        return self.log_partition(scores.allow(y))

    def marginals(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """Return log-partitions, and the probability of each label of each token.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        log_z : float64 ndarray of shape (n_units,)
            -inf where no labelling is possible, 0 for a unit without tokens.
        marginals : ndarray of shape (n_tokens, n_labels), of the type of the state scores
        """
        log_z, gradient = self.log_partition_and_gradient(scores, np.ones(self.n_units))
        return log_z, gradient.state

    def likely_labels(
        self, scores: Scores, threshold: float, gold: np.ndarray | None = None
    ) -> tuple[np.ndarray, Candidates]:
        """Return the labels of each token that have at least some probability.

        Parameters
        ----------
        scores : Scores
        threshold : float in (0, 1)
        gold : ndarray of shape (n_tokens,), optional
            Label ids that are always among them; -1 for none.

        Returns
        -------
        log_z : float64 ndarray of shape (n_units,)
            As :meth:`marginals` returns it, possibly over the likely labels alone.
        candidates : Candidates
            At least one label for each token.
        """
        log_z, marginals = self.marginals(scores)
        return log_z, Candidates.above(marginals, threshold, gold)

    def for_k_best(self) -> "Structure":
        """Return the structure of whose labellings :meth:`k_best` finds the best.

        It is another one if this one leaves out labels that :meth:`k_best` needs: its log-partition
        gives the probabilities of these labellings.
        """
        return self

    def takes_triangles(self, n_labels: int) -> bool:
        """Return whether three tokens that are linked to each other can have scores together."""
        return False

    def is_sequential(self) -> bool:
        """Return whether links are from each token to the next of its unit, and no others.

        There must be no ``own_scores`` either.
        """
        if self.always_sequential or self.own_scores:
            return self.always_sequential
        begins = np.zeros(self.n_tokens + 1, dtype=bool)
        begins[self.offsets] = True
        expected = np.flatnonzero(~begins[:-1])
        previous, current = self.links()
        return np.array_equal(current, expected) and np.array_equal(previous, expected - 1)

    @cached_property
    def ends(self) -> Ends:
        """The tokens that have begin scores, and the tokens that have end scores."""
        previous, current = self.links()
        every = np.arange(self.n_tokens)
        return np.delete(every, current), np.delete(every, previous)

    def first_tokens(self) -> np.ndarray:
        """Return the tokens with no link into them, which have begin scores."""
        return self.ends[0]

    def last_tokens(self) -> np.ndarray:
        """Return the tokens with no link out of them, which have end scores."""
        return self.ends[1]
