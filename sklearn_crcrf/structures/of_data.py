"""The structure of the samples of X."""

from functools import singledispatch
from typing import Any

import numpy as np

from ..data.graphs import GraphArray
from ..data.ragged import SequenceArray
from .base import Structure
from .chain.chain import Chain
from .tree.forest import Forest


@singledispatch
def structure_of(X: Any) -> Structure:
    """Return the structure of the samples of X, which depends on its type.

    For another type of samples, ``structure_of.register`` adds a function.

    Parameters
    ----------
    X : SequenceArray
        Its samples are chains; the samples of a GraphArray are forests.

    Returns
    -------
    Structure

    Raises
    ------
    TypeError
        If no structure is registered for the type.
    ValueError
        If a sample of a GraphArray is no forest; the message names it.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> from sklearn_crcrf.structures import structure_of
    >>> structure_of(SequenceArray.from_sequences([["a", "b"], ["c"]])).offsets
    array([0, 2, 3])
    """
    raise TypeError(f"no structure is registered for the type {type(X).__name__}")


@structure_of.register
def _(X: SequenceArray) -> Structure:
    return Chain(X.offsets)


@structure_of.register
def _(X: GraphArray) -> Structure:
    try:
        parents = X.parents
    except ValueError as error:
        raise ValueError(
            f"{error}; this estimator needs forests, in which a token has one parent at most, but "
            "GraphCRF takes graphs with cycles"
        ) from None
    first = np.repeat(X.offsets[:-1], X.lengths)
    return Forest(X.offsets, np.where(parents < 0, -1, parents + first))


def single_tokens(n_tokens: int) -> Structure:
    """Return the structure of tokens without links, each a unit of its own.

    Parameters
    ----------
    n_tokens : int

    Returns
    -------
    Structure

    Examples
    --------
    >>> from sklearn_crcrf.structures import single_tokens
    >>> single_tokens(3).n_units
    3
    """
    return Chain(np.arange(n_tokens + 1))
