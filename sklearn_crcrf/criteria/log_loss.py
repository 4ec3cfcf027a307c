"""The negative log-likelihood."""

import numpy as np

from ..structures import AddTo, Chain, Foreseen, PartCounts, Parts, Pullback

__all__ = ["log_loss"]


def log_loss(
    structure: Chain, parts: Parts, y: np.ndarray, foreseen: Foreseen | None = None
) -> tuple[np.ndarray, Pullback]:
    """Negative log-likelihood of the gold paths, log Z - score(y) (Lafferty et al. 2001).

    Parameters
    ----------
    structure : Chain
    parts : Parts
    y : ndarray of shape (n_tokens,) of label ids, or of shape (n_tokens, n_labels) of bool
        The second are partial labels: the likelihood is that of all paths they allow.
    foreseen : tuple of (weight, out), optional
        What the pullback will be called with: it is faster then.

    Returns
    -------
    loss : ndarray of shape (n_sequences,)
    pullback : callable

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.structures import Chain, Parts
    >>> parts = Parts.of(np.zeros((2, 2)), np.log([[3.0, 1.0], [1.0, 1.0]]))
    >>> loss, _ = log_loss(Chain(np.array([0, 2])), parts, np.array([0, 0]))
    >>> np.exp(-loss)
    array([0.5])
    """
    log_z, pull_z = structure.log_partition(parts, foreseen)
    gold, pull_gold = structure.gold_score(parts, y)

    def pullback(weight: np.ndarray, out: AddTo = None) -> PartCounts:
        return pull_gold(-weight, pull_z(weight, out))

    return log_z - gold, pullback


def _curvature(structure: Chain, parts: Parts, y: np.ndarray, direction: PartCounts) -> Pullback:
    """The product of the second derivatives with a direction: a difference of covariances."""
    _, pull_z = structure.covariance(parts, direction)
    if y.ndim == 1:
        return pull_z
    _, pull_gold = structure.covariance(parts.allow(y), direction)

    def pullback(weight: np.ndarray, out: AddTo = None) -> PartCounts:
        return pull_gold(-weight, pull_z(weight, out))

    return pullback


log_loss.curvature = _curvature
log_loss.foresees = True
