"""A warning of tokens about which nothing is known."""

import numpy as np

from ..utils.warning import warn_caller
from .ragged import SequenceArray
from .symbols import SymbolTable

__all__ = ["warn_of_empty_tokens"]


def warn_of_empty_tokens(X: SequenceArray) -> None:
    """Warn if most tokens have no symbol in any column, as where a list has replaced the words.

    Parameters
    ----------
    X : SequenceArray
        Only columns of symbols are looked at.

    Examples
    --------
    >>> import warnings
    >>> table = SymbolTable([[-1], [0], [-1]], [["B"]], ["city"])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_empty_tokens(SequenceArray(table, [0, 3]))
    >>> str(caught[0].message).partition(",")[0]
    "2 of 3 tokens have no symbol in any column of X (['city'])"
    """
    if not isinstance(X.data, SymbolTable):
        return
    is_empty = np.ones(len(X.data), dtype=bool)
    for codes in X.data.codes.T:
        is_empty &= codes < 0
        if not is_empty.any():
            return
    n_empty = int(is_empty.sum())
    if 2 * n_empty > len(is_empty):
        warn_caller(
            f"{n_empty} of {len(is_empty)} tokens have no symbol in any column of X "
            f"({[*X.data.names]}), so nothing but other labels tells their labels apart. Gazetteer "
            "and WordClusters return only their own columns: keep the words beside them with "
            "make_union(TokenFeatures(), ...)",
        )
