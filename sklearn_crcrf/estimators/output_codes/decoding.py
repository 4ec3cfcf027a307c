"""How far the bits of tokens are from the codes of labels."""

from collections.abc import Callable

import numpy as np

from ..._kernels.tree import binary_labels
from ...structures import Scores, Structure
from .columns import BitOrder, bit_probabilities, linked_bits

FindBits = Callable[[BitOrder, np.ndarray, np.ndarray], np.ndarray]


def most_probable_bits(
    order: BitOrder, log_odds: np.ndarray, transitions: np.ndarray
) -> np.ndarray:
    """Return the bits of the best labelling of each column.

    Parameters
    ----------
    order : BitOrder
    log_odds : ndarray of shape (n_tokens, n_columns)
    transitions : ndarray of shape (4, n_columns)

    Returns
    -------
    ndarray of shape (n_tokens, n_columns), of 0 and 1
    """
    bits = np.array(log_odds, dtype=float, order="C")
    binary_labels.best_bits(*order, np.ascontiguousarray(transitions, dtype=float), bits)
    return bits


DECODINGS: dict[str, FindBits | None] = {
    "product": None,
    "marginal": bit_probabilities,
    "hamming": most_probable_bits,
}
"""What finds the bits whose nearest code is taken; None for the product of all columns."""


def nearest_code_scores(
    find_bits: FindBits,
    structure: Structure,
    log_odds: np.ndarray,
    transitions: np.ndarray,
    code: np.ndarray,
) -> Scores:
    """Scores whose best labels have the codes nearest to bits: minus the distance, in L1.

    Parameters
    ----------
    find_bits : callable
        Takes order, log-odds and transitions.
    structure : Structure
    log_odds : ndarray of shape (n_tokens, n_columns)
    transitions : ndarray of shape (4, n_columns)
    code : bool ndarray of shape (n_labels, n_columns)

    Returns
    -------
    Scores
    """
    bits = find_bits(BitOrder.of(structure), log_odds, transitions).astype(float)
    rows = code.T.astype(float)
    distance = rows.sum(axis=0) + bits @ (1.0 - 2.0 * rows)
    n_labels = len(code)
    return Scores.of(-distance, np.zeros((n_labels, n_labels)))


def product_weights(
    column_coef: np.ndarray, transitions: np.ndarray, code: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the chain that is the product of all columns.

    A column gives a label with bit 1 half of its log-odds, and a label with bit 0 minus that half.

    Parameters
    ----------
    column_coef : ndarray of shape (n_attributes, n_columns)
    transitions : ndarray of shape (4, n_columns)
    code : bool ndarray of shape (n_labels, n_columns)

    Returns
    -------
    coef : ndarray of shape (n_attributes, n_labels)
    transitions : ndarray of shape (n_labels, n_labels)
    """
    dtype = column_coef.dtype
    coef = column_coef @ (code.T.astype(dtype) - dtype.type(0.5))
    scores = sum((a * t) @ b.T for t, (a, b) in zip(transitions, linked_bits(code), strict=True))
    return coef, np.asarray(scores)
