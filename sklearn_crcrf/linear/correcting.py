"""Corrections of weights by wrongly labelled units, for structures without a kernel for it."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .examples import Coefficients, Examples

__all__ = ["correct_one_by_one", "find_together"]


def correct_one_by_one(
    examples: "Examples",
    coefficients: "Coefficients",
    order: np.ndarray,
    rate: np.ndarray,
    cost: np.ndarray,
    found: np.ndarray,
    losses: np.ndarray,
) -> None:
    """Correct weights as :meth:`Examples.correct` does, for any structure.

        weights += rate * (features of the gold labelling - features of the labelling found)

    Parameters
    ----------
    examples, coefficients, order, rate, cost : as in :meth:`Examples.correct`
    found : ndarray of shape (n_tokens,), int32
        Set to the labellings with the best scores, costs included.
    losses : ndarray of shape (n_units,)
        Set to these scores minus the scores of the gold labellings.

    Raises
    ------
    ValueError
        If scores of a unit are not finite.
    """
    for u in order:
        unit, tokens = examples.unit(u), slice(*examples.offsets[u : u + 2])
        scores = unit.scores(coefficients, cost[u])
        (best,), found[tokens] = unit.structure.maximum(scores)
        losses[u] = best - unit.structure.score(scores, unit.y)[0][0]
        if rate[u] == 0:
            continue
        if not np.isfinite(losses[u]):
            losses[u] = np.nan
            examples.require_finite(losses)
        for part, new in zip(coefficients, unit.differences(found[tokens]), strict=True):
            np.add.at(part.reshape(-1), new.place, (rate[u] * new.value).astype(part.dtype))


def find_together(
    examples: "Examples", coefficients: "Coefficients", cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find best labellings as :meth:`Examples.find` does, for any structure."""
    found, losses = examples.y.copy(), np.zeros(examples.n_sequences)
    for piece in examples.pieces(np.arange(examples.n_sequences)):
        if len(piece) == 0:
            continue
        first, last = piece[0], piece[-1] + 1
        units, tokens = examples.run(first, last), slice(*examples.offsets[[first, last]])
        scores = units.scores(coefficients, cost)
        best, found[tokens] = units.structure.maximum(scores)
        losses[first:last] = best - units.structure.score(scores, units.y)[0]
    examples.require_finite(losses)
    return found, losses
