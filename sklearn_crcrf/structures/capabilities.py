"""Methods that only some structures have, and the error that other structures raise."""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from ..labels.soft import SoftLabels
from .scores import Pullback, ScoreGradient, Scores


class Unsupported(ValueError):
    """A structure does not have a capability that was asked for.

    Parameters
    ----------
    structure : Capabilities
    capability : str
    asker : str, optional
        What needs the capability.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import HigherOrderChain, Unsupported
    >>> try:
    ...     HigherOrderChain(np.array([0, 1]), [None]).require(["pieces"], "Piecewise()")
    ... except Unsupported as error:
    ...     print(error)
    Piecewise() needs pieces, which HigherOrderChain does not have
    """

    def __init__(self, structure: "Capabilities", capability: str, asker: str | None = None):
        name = structure.title
        super().__init__(
            f"{name} does not have {capability}"
            if asker is None
            else f"{asker} needs {capability}, which {name} does not have"
        )


class Capabilities:
    """Methods that only some structures have; each capability has the name of its method.

    The methods here raise :class:`Unsupported`; a structure overrides the methods it supports.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import HigherOrderChain
    >>> chain = HigherOrderChain(np.array([0, 1]), [None])
    >>> chain.can("entropy"), chain.can("pieces")
    (True, False)
    """

    @property
    def title(self) -> str:
        """The name of the structure in messages."""
        return type(self).__name__

    def can(self, capability: str) -> bool:
        """Return whether the structure has this capability, or it is a method of all structures."""
        method = getattr(type(self), capability, None)
        return method is not None and method is not getattr(Capabilities, capability, None)

    def require(self, capabilities: Iterable[str], asker: str) -> None:
        """Raise Unsupported for the first missing capability; ``asker`` names what needs it."""
        for capability in capabilities:
            if not self.can(capability):
                raise Unsupported(self, capability, asker)

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best labelling of each unit among those that differ from a given one.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids of the given labellings.

        Returns
        -------
        value : ndarray of shape (n_units,)
            The score of that labelling, -inf where no other labelling is possible.
        y : ndarray of shape (n_tokens,), int32
            That labelling, or the given one where no other labelling is possible.
        """
        raise Unsupported(self, "best_excluding")

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """Return log-partitions over all labellings but the given one of each unit.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids of the given labellings.

        Returns
        -------
        value : ndarray of shape (n_units,)
            -inf where no other labelling is possible.
        pullback : callable
        """
        raise Unsupported(self, "log_partition_excluding")

    def pair_marginals(self, scores: Scores) -> np.ndarray:
        """Return the probability of each pair of labels of neighbours.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        ndarray of shape (n_links, n_labels, n_labels)
            The label of the first token in the rows.
        """
        raise Unsupported(self, "pair_marginals")

    def expected_score(self, scores: Scores, y: SoftLabels) -> tuple[np.ndarray, Pullback]:
        """Return the expected scores of labellings, of which the probabilities are given.

        Parameters
        ----------
        scores : Scores
        y : SoftLabels

        Returns
        -------
        value : ndarray of shape (n_units,)
            -inf where a labelling of positive probability is impossible.
        pullback : callable
            Its score gradient is the expected number of uses of each score.
        """
        raise Unsupported(self, "expected_score")

    def conditional_scores(
        self, scores: Scores, y: np.ndarray, neighbours: Collection[int] = (-1, 1)
    ) -> tuple[np.ndarray, Pullback]:
        """Return scores of labels of each token, given the labels of tokens linked to it.

        The score of a label is what it adds to the score of a labelling: its state score, begin
        and end scores, and the transition scores from and into the neighbours that are given.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            Label ids of the neighbours.
        neighbours : collection of {-1, 1}
            Which neighbours are given: -1 for the tokens that have a link into this token, 1 for
            the tokens that this token has a link into.

        Returns
        -------
        scores : ndarray of shape (n_tokens, n_labels), of the type of the state scores
        pullback : callable
            Takes a weight for each label of each token, of the type of the state scores.
        """
        raise Unsupported(self, "conditional_scores")

    def unit_lattice(
        self, scores: Any, unit: int, also: np.ndarray | None = None
    ) -> tuple[Any, Any]:
        """Return one unit of a structure with ``own_scores``, as a lattice.

        Parameters
        ----------
        scores : Scores or LatticeScores
        unit : int
        also : ndarray of shape (n_tokens of the unit,), optional
            Label ids that are candidates too, if they have scores.

        Returns
        -------
        lattice : Lattice
        scores : LatticeScores
        """
        raise Unsupported(self, "unit_lattice")

    def locally_normalised(self, scores: Scores) -> Scores:
        r"""Return the conditional Markov model that normalises these scores token by token.

        Its labellings have the probabilities

        .. math::

           \prod_t p(y_t \mid y_{t-1}), \qquad p(j \mid i) = \frac{\exp s_t(i, j)}{\sum_{j'}
           \exp s_t(i, j')},

        where :math:`s_t(i, j)` is the score of label j of token t, with its begin and end scores,
        plus the score of the transition from i to j. The sum depends on a token and the label
        before it, so its logarithm can be subtracted from the state score of the label before.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        Scores
            In double precision; begin and end are zero. A label that no label can follow is
            impossible, except at the end of a sequence. If every label can be followed by one,
            all log-partitions are 0.
        """
        raise Unsupported(self, "locally_normalised")

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Any:
        """Return the links of the units, and optionally their tokens, as units of their own.

        The scores of a token, with its begin and end scores, are shared equally by the pieces
        that contain it, so that the scores of the pieces of a labelling add up to its score. A
        token without links is one piece.

        Parameters
        ----------
        scores : Scores
        with_tokens : bool
            Whether each token is a piece too.

        Returns
        -------
        Pieces
            With a structure, scores, and a pullback that makes the score gradient of the units
            from the score gradient of the pieces.
        """
        raise Unsupported(self, "pieces")

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        """Return the probabilities of the labels of tokens, as functions of the scores.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        value : float64 ndarray of shape (n_tokens, n_labels)
            Zero where no labelling is possible.
        pullback : callable
            Takes a weight for each label of each token, instead of each unit.
        """
        raise Unsupported(self, "token_marginals")

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        """Return means of a function <v, f(y)> of the labelling y; its pullback is a covariance.

        f(y) counts how often y uses each score. The covariance of <v, f(y)> and f(y) is the
        derivative of the mean by the scores. It is also the derivative of the expected f(y) in
        the direction v (Kakade, Teh & Roweis 2002).

        Parameters
        ----------
        scores : Scores
        direction : ScoreGradient
            v, with finite values.

        Returns
        -------
        mean : ndarray of shape (n_units,)
            NaN where no labelling is possible, 0 for a unit without tokens.
        pullback : callable
            Adds nothing for units without a possible labelling.
        """
        raise Unsupported(self, "covariance")

    def entropy(self, scores: Scores) -> np.ndarray:
        """Return the entropy of the distribution of the labellings of each unit.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        ndarray of shape (n_units,)
            In nats; NaN where no labelling is possible, 0 for a unit without tokens.
        """
        raise Unsupported(self, "entropy")

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the k best labellings of each unit, best first.

        Parameters
        ----------
        scores : Scores
        k : int

        Returns
        -------
        list of (values, labellings)
            Arrays of shape (n,) and (n, n_tokens of the unit), with ``n < k`` where fewer
            labellings are possible.
        """
        raise Unsupported(self, "k_best")

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        """Draw labellings of all units from their distributions.

        Parameters
        ----------
        scores : Scores
        n_samples : int
        rng : Generator or RandomState

        Returns
        -------
        y : ndarray of shape (n_samples, n_tokens), int32

        Raises
        ------
        ValueError
            If no labelling of a unit is possible.
        """
        raise Unsupported(self, "sample")

    def span_log_probability(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return log-probabilities that runs of tokens have given labels.

        Parameters
        ----------
        scores : Scores
        start, stop : array-like of shape (n_spans,)
            Each span has the tokens from start to stop - 1, at least one, of a single sequence.
        labels : array-like of shape (n,)
            Label ids of the tokens of the first span, then of the second, and so on.
        following, preceding : bool array of shape (n_labels,) or (n_spans, n_labels), optional
            Which labels may follow and precede each span, where a token comes after or before
            it. By default all labels.

        Returns
        -------
        ndarray of shape (n_spans,)
            -inf for an impossible span, NaN where no labelling of the sequence is possible.

        Raises
        ------
        ValueError
            If a span is empty or exceeds its sequence, or a label id is out of range.
        """
        raise Unsupported(self, "span_log_probability")

    def segment_costs(self, scores: Scores, y: np.ndarray, cost: float) -> Any:
        """Return the chain of segments in which all segments that are not gold have a cost.

        Parameters
        ----------
        scores : Scores
        y : ndarray of shape (n_tokens,)
            The gold labels.
        cost : float
            What is added to the score of a segment of another type, or with other tokens.

        Returns
        -------
        SegmentCosts
            The structure and its scores, and the way back to the given scores.
        """
        raise Unsupported(self, "segment_costs")

    def span_margin(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Pullback]:
        """Return the best score with the labels of a span minus the best score without them.

        Parameters
        ----------
        scores : Scores
        start, stop, labels, following, preceding : as in :meth:`span_log_probability`
            A labelling has the labels of a span only between neighbours that are allowed.

        Returns
        -------
        value : ndarray of shape (n_spans,)
            -inf where no possible labelling has the labels, inf where all possible labellings
            have them, NaN where no labelling is possible.
        pullback : callable
            Takes a weight for each span; a best labelling that does not exist adds nothing.

        Raises
        ------
        ValueError
            If a span is empty or exceeds its sequence, or a label id is out of range.
        """
        raise Unsupported(self, "span_margin")
