"""Besag's pseudo-likelihood."""

import numpy as np

from ..structures import Pullback, Scores, Structure
from ._tokens import check_all_known, token_log_loss
from .base import Criterion


class PseudoLikelihood(Criterion):
    r"""Negative log-likelihood of each label, given the gold labels of its neighbours [1]_.

    .. math::

       -\sum_t \log p(y_t \mid y_{t-1}, y_{t+1}, x)

    It is convex and needs no sum over paths. It trusts transitions more than the log loss does,
    because it is given the neighbouring labels, which are not known in prediction. For sequences of
    one token it is the log loss. Labels must not be partial. For the product of the marginals,
    which has been called by the same name, see :class:`MarginalLikelihood`.

    References
    ----------
    .. [1] Besag, "Statistical Analysis of Non-Lattice Data", The Statistician 24 (3), 1975.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import pseudo_likelihood
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.zeros((2, 2)), np.log([[3.0, 1.0], [1.0, 1.0]]))
    >>> loss, _ = pseudo_likelihood(Chain(np.array([0, 2])), scores, np.array([0, 0]))
    >>> np.exp(-loss)
    array([0.5625])
    """

    requires = ("conditional_scores",)
    takes_partial_labels = False

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        check_all_known("pseudo_likelihood", y)
        conditional, pull_scores = structure.conditional_scores(scores, y)
        return token_log_loss(structure, conditional, pull_scores, y)


pseudo_likelihood = PseudoLikelihood()
