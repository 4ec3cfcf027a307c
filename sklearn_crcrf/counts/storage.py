"""How CSR matrices of a model are stored."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..utils.soundness import setting_state

__all__ = ["Storable"]


class Rows(NamedTuple):
    """The arrays of a CSR matrix."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]


class Storable:
    """Stores CSR matrices as their arrays.

    File formats that load only trusted types know arrays, but not always sparse matrices.

    Examples
    --------
    >>> class Weights(Storable):
    ...     pass
    >>> weights = Weights()
    >>> weights.coef = sp.csr_array([[0.0, 2.0]])
    >>> weights.__getstate__()["coef"].data
    array([2.])
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: _to_arrays(value) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with setting_state(type(self).__name__):
            vars(self).update({name: _from_arrays(value) for name, value in state.items()})


def _to_arrays(value: Any) -> Any:
    if not isinstance(value, sp.csr_array):
        return value
    return Rows(value.data, value.indices, value.indptr, value.shape)


def _from_arrays(value: Any) -> Any:
    if not isinstance(value, Rows):
        return value
    return sp.csr_array((value.data, value.indices, value.indptr), shape=value.shape)
