"""What constraints forbid, and whether training data is possible under them."""

import numpy as np

from ..data.ragged import locate
from ..labels.constraints import Constraints
from ..structures import Scores
from . import Corpus

__all__ = ["check_possible", "forbidden_scores"]


def forbidden_scores(
    constraints: Constraints | None, n_labels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrays to add to transition, begin and end scores: -inf where forbidden, else 0."""
    if constraints is None:
        return np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    return constraints.scores()


def check_possible(corpus: Corpus, constraints: Constraints | None) -> None:
    """Check that the labels of every sequence are possible.

    Raises
    ------
    ValueError
        If the labels of a sequence are not possible; the message says where.
    """
    if constraints is None:
        return
    wrong = constraints.violations(corpus.y, *corpus.structure.links())
    if len(wrong):
        sequence, position = locate(corpus.offsets, int(wrong[0]))
        raise ValueError(
            f"y, sequence {sequence}, position {position}: the constraints do not allow the label "
            "here"
        )
    if corpus.allowed is not None:
        scores = Scores.of(np.zeros(corpus.allowed.shape), *constraints.scores())
        value, _ = corpus.structure.maximum(scores.allow(corpus.allowed))
        if np.isneginf(value).any():
            raise ValueError(
                f"y, sequence {np.argmin(value)}: the constraints allow no labelling that agrees "
                "with the labels that are known"
            )
