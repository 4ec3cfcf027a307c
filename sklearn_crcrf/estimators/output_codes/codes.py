"""Codes: a row of bits for each label."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_array

# Of this number of random codes the best is taken.
N_TRIES = 20
# Labels of fewer tokens get bits at random: they hardly change how many tokens have a bit.
RARE = 0.005
# So do this fraction of all labels, without which some labels would never be told apart.
AT_RANDOM = 0.2


def random_code(frequencies: np.ndarray, n_columns: int, rng: np.random.RandomState) -> np.ndarray:
    """Random bits; of many codes, one whose nearest rows are farthest from each other.

    Parameters
    ----------
    frequencies : ndarray of shape (n_labels,)
        The number of tokens with each label.
    n_columns : int
    rng : RandomState

    Returns
    -------
    bool ndarray of shape (n_labels, n_columns)
    """
    shape = len(frequencies), n_columns
    return max((rng.random_sample(shape) < 0.5 for _ in range(N_TRIES)), key=_least_distance)


def balanced_code(
    frequencies: np.ndarray, n_columns: int, rng: np.random.RandomState
) -> np.ndarray:
    """Columns in which about half of the *tokens* have a 1.

    Few labels have most of the tokens. In random columns the bit of the most frequent label decides
    most tokens, so such columns repeat each other; columns that split the tokens say more.

    Parameters
    ----------
    frequencies, n_columns, rng : as in :func:`random_code`

    Returns
    -------
    bool ndarray of shape (n_labels, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.output_codes.codes import balanced_code
    >>> frequencies = np.array([50, 20, 20, 10])
    >>> code = balanced_code(frequencies, 6, np.random.RandomState(0))
    >>> code.shape, bool((np.abs(frequencies @ code - 50) <= 20).all())
    ((4, 6), True)
    """
    codes = (
        np.column_stack([_split(frequencies, rng) for _ in range(n_columns)])
        for _ in range(N_TRIES)
    )
    return max(codes, key=_least_distance)


def _split(frequencies: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return a random bit for each label; both bits have about equally many tokens."""
    n_labels, total = len(frequencies), frequencies.sum()
    bits, sizes = np.zeros(n_labels, dtype=bool), [0.0, 0.0]
    # Frequent labels first, as rare ones even out what is left; the order is perturbed.
    for label in np.argsort(-frequencies * rng.uniform(0.3, 1.0, n_labels), kind="stable"):
        is_rare = frequencies[label] <= RARE * total
        by_chance = is_rare or sizes[0] == sizes[1] or rng.random_sample() < AT_RANDOM
        bit = rng.randint(2) if by_chance else int(sizes[1] < sizes[0])
        bits[label] = bit
        sizes[bit] += frequencies[label]
    return bits


def one_vs_rest(frequencies: np.ndarray, n_columns: int, rng: np.random.RandomState) -> np.ndarray:
    """Return a column for each label; a single one for two labels. ``n_columns`` does not matter.

    Parameters
    ----------
    frequencies, n_columns, rng : as in :func:`random_code`

    Returns
    -------
    bool ndarray of shape (n_labels, n_labels), or (2, 1) for two labels
    """
    code = np.eye(len(frequencies), dtype=bool)
    return code[:, 1:] if len(code) == 2 else code


CODES: dict[str, Callable[[np.ndarray, int, np.random.RandomState], np.ndarray]] = {
    "balanced": balanced_code,
    "random": random_code,
    "one_vs_rest": one_vs_rest,
}


def given_code(code: Any, n_labels: int) -> np.ndarray:
    """Check a code that was given as an array.

    Parameters
    ----------
    code : array-like of shape (n_labels, n_columns), of 0 and 1
    n_labels : int

    Returns
    -------
    bool ndarray of shape (n_labels, n_columns)

    Raises
    ------
    ValueError
        If it has another number of rows, or another number than 0 and 1.
    """
    array = check_array(code, input_name="code")
    if len(array) != n_labels:
        raise ValueError(f"code has {len(array)} rows, but there are {n_labels} labels")
    if not np.isin(array, (0, 1)).all():
        row, column = np.argwhere(~np.isin(array, (0, 1)))[0]
        raise ValueError(f"code, row {row}, column {column}: {array[row, column]} is no bit")
    return array.astype(bool)


def check_rows_differ(code: np.ndarray, classes: np.ndarray) -> None:
    """Raise ValueError if two labels have the same code."""
    labels: dict[bytes, Any] = {}
    for row, label in zip(code, classes.tolist(), strict=True):
        other = labels.setdefault(row.tobytes(), label)
        if other is not label:
            raise ValueError(
                f"the labels {other!r} and {label!r} have the same code: it needs more or other "
                "columns"
            )


def error_bounds(code: np.ndarray, losses: np.ndarray, n_sequences: float) -> np.ndarray:
    """Bounds of the training error with the first 1, 2, ... columns of a code.

    Let d be the least number of bits in which two codes differ. Where the product of the columns
    prefers a wrong labelling, there are d columns in which the probabilities of this labelling and
    of the gold labelling sum to at most 1. So the columns lose at least ``d log 2`` on the gold
    labelling, and the fraction of sequences with a wrong label is at most ``sum_k loss_k /
    (n_sequences d log 2)``. For sequences of one token this is theorem 1 of [1]_. [2]_ choose the
    number of columns by such a bound.

    Parameters
    ----------
    code : bool ndarray of shape (n_labels, n_columns)
    losses : ndarray of shape (n_columns,)
        The log loss of each column on all sequences, without penalty.
    n_sequences : float

    Returns
    -------
    ndarray of shape (n_columns,)
        inf where two labels have the same code.

    References
    ----------
    .. [1] Allwein, Schapire, Singer, "Reducing Multiclass to Binary: A Unifying Approach for Margin
       Classifiers", JMLR 1 (2000).
    .. [2] Cohn, Smith, Osborne, "Scaling Conditional Random Fields Using Error-Correcting Codes",
       ACL 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.output_codes.codes import error_bounds
    >>> error_bounds(np.eye(3, dtype=bool), np.full(3, 0.1), 10).round(3)
    array([  inf, 0.029, 0.022])
    """
    differing = np.zeros((len(code), len(code)))
    np.fill_diagonal(differing, np.inf)
    distance = np.empty(len(losses))
    for k, column in enumerate(code.T):
        differing += column[:, None] != column
        distance[k] = differing.min()
    total = np.cumsum(losses) / (n_sequences * np.log(2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance > 0, total / distance, np.inf)


def _least_distance(code: np.ndarray) -> float:
    """Return the least number of bits in which two rows differ."""
    signs = 2.0 * code - 1.0
    agreement = signs @ signs.T
    np.fill_diagonal(agreement, -np.inf)
    return float(code.shape[1] - agreement.max(initial=-np.inf)) / 2
