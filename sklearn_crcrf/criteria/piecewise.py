"""Pieces of sequences, trained as if they were sequences of their own."""

from dataclasses import dataclass

import numpy as np

from ..labels.segments.schemes import check_option
from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ..utils.real_numbers import real_numbers
from .base import Criterion
from .log_loss import log_loss

WITH_TOKENS = {"edges": False, "edges+tokens": True}


@dataclass(eq=False, repr=False)
class Piecewise(Criterion):
    r"""Log losses of the pieces of a sequence, each normalised by itself [1]_.

    .. math::

       \sum_p \left[\log \sum_{y'_p} \exp s_p(y'_p) - s_p(y_p)\right]

    over the pieces p, which are pairs of neighbouring tokens, or single tokens. The score of a
    token is shared equally by the pieces that contain it, so the scores of all pieces add up to the
    score of the path, and the loss is never below the log loss. For a sequence of two tokens, with
    their edge as the only piece, it is the log loss. It is convex. With partial labels, the
    likelihood of a piece is the sum over all of its labellings that the labels allow.

    Parameters
    ----------
    pieces : {"edges", "edges+tokens"}, default="edges"
        Whether each token is a piece too. If so, its scores are shared by one more piece, and a
        larger sigma is needed.

    References
    ----------
    .. [1] Sutton, McCallum, "Piecewise Training of Undirected Models", UAI 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import Piecewise
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.zeros((3, 2)), np.log([[3.0, 1.0], [1.0, 1.0]]))
    >>> loss, _ = Piecewise()(Chain(np.array([0, 3])), scores, np.array([0, 0, 0]))
    >>> np.exp(-loss)
    array([0.25])
    """

    pieces: str = "edges"

    requires = ("pieces",)

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        check_option("pieces", self.pieces, WITH_TOKENS)
        pieces = structure.pieces(scores, WITH_TOKENS[self.pieces])
        losses, pull_losses = log_loss(pieces.structure, pieces.scores, y[pieces.tokens])

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_pieces = pull_losses(
                real_numbers(weight, "weight must hold a number for each unit")[pieces.sequence]
            )
            return pieces.pullback(of_pieces, out)

        return np.bincount(pieces.sequence, losses, minlength=structure.n_units), pullback
