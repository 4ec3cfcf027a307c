"""How CSR matrices of a model are stored."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..utils.soundness import setting_state

__all__ = ["Rows", "Storable"]


class Rows(NamedTuple):
    """The arrays of a CSR matrix; to work on them costs less than on a matrix of SciPy."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Any) -> "Rows":
        """The arrays of a matrix, or rows as they are."""
        return cls(matrix.data, matrix.indices, matrix.indptr, matrix.shape)

    @classmethod
    def empty(cls, n_columns: int) -> "Rows":
        """No rows."""
        none = np.empty(0, dtype=np.int32)
        return cls(np.empty(0), none, np.zeros(1, dtype=np.int64), (0, n_columns))

    def csr(self) -> sp.csr_array:
        """The matrix, with indices of 32 bits if they can hold its shape and size."""
        indices, indptr = self.indices, self.indptr
        if max(*self.shape, len(self.data)) <= np.iinfo(np.int32).max:
            indices, indptr = (ids.astype(np.int32, copy=False) for ids in (indices, indptr))
        return sp.csr_array((self.data, indices, indptr), shape=self.shape)

    @property
    def lengths(self) -> np.ndarray:
        """The number of entries of each row."""
        return self.indptr[1:] - self.indptr[:-1]

    def repeat(self, values: np.ndarray) -> np.ndarray:
        """A value for each entry, given one for each row."""
        return values.repeat(self.lengths)

    def sums(self) -> np.ndarray:
        """The sum of each row."""
        filled = self.lengths.nonzero()[0]
        sums = np.zeros(self.shape[0])
        sums[filled] = np.add.reduceat(self.data, self.indptr[filled])
        return sums


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
    return Rows.of(value)


def _from_arrays(value: Any) -> Any:
    if not isinstance(value, Rows):
        return value
    return sp.csr_array((value.data, value.indices, value.indptr), shape=value.shape)
