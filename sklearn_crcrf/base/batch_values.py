"""Log-partitions and marginals of a batch, and clear errors where scores have none."""

import numpy as np

from ..structures import Scores, Structure

__all__ = [
    "check_shared_scores",
    "log_partition",
    "raise_if_impossible",
    "raise_if_not_finite",
    "token_marginals",
]


def token_marginals(structure: Structure, scores: Scores, first: int) -> np.ndarray:
    """Marginal probabilities of the labels of all tokens of a batch."""
    log_z, marginals = structure.marginals(scores)
    raise_if_not_finite(log_z, structure, scores, first)
    raise_if_impossible(log_z, first)
    return marginals


def log_partition(structure: Structure, scores: Scores, first: int) -> np.ndarray:
    """Log-partition of each sequence of a batch, -inf where no path is possible."""
    log_z, _ = structure.marginals(scores)
    raise_if_not_finite(log_z, structure, scores, first)
    return log_z


def raise_if_not_finite(
    value: np.ndarray, structure: Structure, scores: Scores, first: int
) -> None:
    """Raise ValueError if a score of a sequence, or the sum of its scores, is NaN or inf.

    Parameters
    ----------
    value : ndarray of shape (n_sequences,)
        Scores of the best paths, or log-partitions: NaN or inf if such a score occurs.
    structure, scores : the structure and scores of a batch
    first : int
        The number of the first sequence of the batch.
    """
    wrong = np.flatnonzero(~(value < np.inf))
    if len(wrong) == 0:
        return
    start, stop = structure.offsets[wrong[0] : wrong[0] + 2]
    tokens = np.flatnonzero(~scores.is_finite(start, stop))
    where = f", position {tokens[0]}" if len(tokens) else ""
    raise ValueError(
        f"X, sequence {first + wrong[0]}{where}: the scores of labels are not finite, since the "
        "values of attributes or the weights of the model are too large; scale the attributes"
    )


def raise_if_impossible(value: np.ndarray, first: int) -> None:
    """Raise ValueError if a value is -inf; ``first`` is the number of the first sequence."""
    impossible = np.flatnonzero(np.isneginf(value))
    if len(impossible):
        raise ValueError(f"no path of sequence {first + impossible[0]} is possible")


def check_shared_scores(scores: Scores) -> None:
    """Raise ValueError if scores that all tokens of a batch share are NaN or inf."""
    for name, values in scores.shared():
        if not values.max(initial=-np.inf) < np.inf:
            raise ValueError(f"the {name} scores are not finite: weights are too large")
