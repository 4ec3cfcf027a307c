"""How large objects are, for Dask, which moves and spills data by its size."""

import sys
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.classifier import BaseSequenceClassifier
from ..linear.parts import ModelShape, OwnCorpus, Part, Survey
from .packages import require_dask

OWN = (Part, OwnCorpus, Survey, ModelShape, BaseSequenceClassifier)
"""Classes that Dask would take for small objects, or for a few numbers of a tuple."""


@cache
def register_sizes() -> None:
    """Tell Dask, in this process, how large objects of this package are."""
    for kind in OWN:
        require_dask("dask.sizeof").sizeof.register(kind, size_of)


def size_of(value: Any, seen: set[int] | None = None) -> int:
    """Return the number of bytes of an object and of all that it refers to.

    Parameters
    ----------
    value : object
    seen : set of int, optional
        The ids of objects that do not count, since they were counted before; gets more.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.dask.sizes import size_of
    >>> 8000 < size_of({"weights": np.zeros(1000)}) < 9000
    True
    """
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, type):
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        names = value.ravel().tolist() if value.dtype == object else []
        return value.nbytes + sum(map(sys.getsizeof, names))
    if sp.issparse(value):
        return sum(array.nbytes for array in (value.data, value.indices, value.indptr))
    inner: Any = ()
    if isinstance(value, dict):
        inner = [*value, *value.values()]
    elif isinstance(value, (list, tuple, set)):
        inner = value
    elif hasattr(value, "__dict__") and not any(
        "__sizeof__" in vars(base) for base in type(value).__mro__[:-1]
    ):
        inner = vars(value).values()
    return sys.getsizeof(value) + sum(size_of(it, seen) for it in inner)
