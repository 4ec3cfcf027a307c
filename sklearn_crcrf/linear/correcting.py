"""Best labellings of units, and corrections of weights by the units that are labelled wrongly."""

import numpy as np

from .._kernels.tree import learning as kernels
from .examples import Coefficients, Examples

__all__ = ["correct", "find", "step_by_margin"]


def find(
    examples: Examples, coefficients: Coefficients, cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """The best paths with a cost of wrong labels, and their scores minus the gold scores."""
    if not examples.has_kernels:
        return _find_together(examples, coefficients, cost)
    every, nothing = np.arange(examples.n_sequences), np.zeros(examples.n_sequences)
    return correct(examples, coefficients, every, nothing, np.full(len(every), float(cost)))


def correct(
    examples: Examples,
    coefficients: Coefficients,
    order: np.ndarray,
    rate: np.ndarray,
    cost: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Correct weights, in place, by the sequences that they label wrongly.

    The weights of the features of the gold path go up by the rate, and the weights of the
    features of the path found go down by it.

    Parameters
    ----------
    examples : Examples
    coefficients : Coefficients
    order : ndarray of int
        Sequences in the order in which they are learned from.
    rate, cost : ndarray of shape (n_sequences,)
        For each sequence the size of its correction, and the cost that is added to the score
        of every wrong label.

    Returns
    -------
    found : ndarray of shape (n_tokens,), int32
        The path of each sequence with the best score, costs included, when its turn came.
    losses : ndarray of shape (n_sequences,)
        How much higher that score is than the score of the gold path.

    Raises
    ------
    ValueError
        If scores of a sequence are not finite.
    """
    found, losses = examples.y.copy(), np.zeros(examples.n_sequences)
    if not examples.has_kernels:
        _correct_one_by_one(examples, coefficients, order, rate, cost, found, losses)
        return found, losses
    search, (y, *attributes) = examples.search(coefficients), examples.arguments
    for piece in examples.pieces(order):
        kernels.correct(
            search, piece, y, rate, cost, *attributes, coefficients.state, found, losses
        )
        examples.require_finite(losses)
    return found, losses


def step_by_margin(
    examples: Examples,
    coefficients: Coefficients,
    order: np.ndarray,
    power: float,
    sizes: tuple[np.ndarray, ...],
    variances: Coefficients | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Change weights, in place, by steps whose size depends on the margin.

    Parameters
    ----------
    examples : Examples
    coefficients : Coefficients
    order : ndarray of int
        Sequences in the order in which they are learned from.
    power : float
        The margin is the number of wrong labels to this power.
    sizes : three ndarrays of shape (n_sequences,)
        bound, slack and spread, as ``_kernels/tree/margin_steps.pxi`` defines them.
    variances : Coefficients of dtype float64, or None
        Of all weights; they change in place. None stands for ones that stay.

    Returns
    -------
    found : ndarray of shape (n_tokens,), int32
        The best path of each sequence when its turn came.
    taken : ndarray of shape (n_sequences,)
        The size of the step of each sequence.

    Raises
    ------
    ValueError
        If links make loops, or scores of a sequence are not finite.
    """
    if not examples.has_kernels:
        raise ValueError("y: steps that depend on the margin need units without loops")
    found = examples.y.copy()
    losses, taken = np.zeros(examples.n_sequences), np.zeros(examples.n_sequences)
    search, (y, *attributes) = examples.search(coefficients), examples.arguments
    most = tuple(
        2 * int(np.diff(matrix.indptr[examples.offsets]).max(initial=0))
        for matrix in (examples.state, examples.pairs)
    )
    steps = kernels.MarginSteps(power, sizes, variances, [part.size for part in coefficients], most)
    for piece in examples.pieces(order):
        kernels.step_by_margin(
            search, steps, piece, y, *attributes, coefficients.state, found, losses, taken
        )
        examples.require_finite(losses)
    return found, taken


def _correct_one_by_one(
    examples: Examples,
    coefficients: Coefficients,
    order: np.ndarray,
    rate: np.ndarray,
    cost: np.ndarray,
    found: np.ndarray,
    losses: np.ndarray,
) -> None:
    """Correct weights as :func:`correct` does, for any structure.

        weights += rate * (features of the gold labelling - features of the labelling found)

    Parameters
    ----------
    examples, coefficients, order, rate, cost : as in :func:`correct`
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


def _find_together(
    examples: Examples, coefficients: Coefficients, cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find best labellings as :func:`find` does, for any structure."""
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
