"""The loss of a conditional Markov model, normalised token by token."""

import numpy as np

from ..structures import Pullback, Scores, Structure
from ._tokens import check_all_known, token_log_loss
from .base import Criterion


class LocalLogLoss(Criterion):
    r"""Negative log-likelihood of each label, given the gold label before it [1]_.

    .. math::

       -\sum_t \log p(y_t \mid y_{t-1}), \qquad p(j \mid i) = \frac{\exp s_t(i, j)}{\sum_{j'}
       \exp s_t(i, j')},

    where :math:`s_t(i, j)` is the score of label j of token t plus the score of the transition from
    i to j. At the first and the last token it includes the scores of begin and end. Labels must not
    be partial.

    References
    ----------
    .. [1] McCallum, Freitag, Pereira, "Maximum Entropy Markov Models for Information Extraction
       and Segmentation", ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import local_log_loss
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.zeros((2, 2)), np.log([[3.0, 1.0], [1.0, 1.0]]))
    >>> loss, _ = local_log_loss(Chain(np.array([0, 2])), scores, np.array([0, 0]))
    >>> np.exp(-loss)
    array([0.375])
    """

    requires = ("conditional_scores",)
    takes_partial_labels = False

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        check_all_known("local_log_loss", y)
        conditional, pull_scores = structure.conditional_scores(scores, y, (-1,))
        return token_log_loss(structure, conditional, pull_scores, y)


local_log_loss = LocalLogLoss()
