"""What a tagger consists of: settings, and arrays that may be parts of a mapped file."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._kernels.text.strings import FrozenStrings, frozen_arrays
from .._kernels.text.tokens import rows_are_sound
from ..utils.unpacking import Budget

PARTS = "blob", "starts", "slots", "key"


class Content(NamedTuple):
    """The settings and arrays of a tagger, which may come from a file: they are checked on use.

    Parameters
    ----------
    settings : mapping from str to what JSON has
    arrays : mapping from str to ndarray
    budget : Budget
        The memory that arrays which are made of these may take.
    written : str, optional
        By which version of this package.
    """

    settings: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    budget: Budget = Budget(None)
    written: Any = None

    def setting(self, name: str, kind: Any) -> Any:
        """Return a setting of the given type."""
        value = self.settings.get(name)
        if not isinstance(value, kind):
            raise ValueError(f"the setting {name!r} is missing, or not valid")
        return value

    def array(self, name: str, dtypes: str, *shape: int | None) -> np.ndarray:
        """Read an array of one of these types, such as ``"fd"``; None for any length."""
        value = self.arrays.get(name)
        if value is None or value.dtype.char not in dtypes or not value.dtype.isnative:
            raise ValueError(f"the array {name!r} is missing, or its type is not valid")
        fits = value.ndim == len(shape) and all(
            wanted in (None, size) for size, wanted in zip(value.shape, shape, strict=True)
        )
        if not fits:
            raise ValueError(f"the array {name!r} must not have the shape {value.shape}")
        return np.ascontiguousarray(value)

    def indices(
        self, name: str, dtypes: str, *shape: int | None, stop: int, least: int = 0
    ) -> np.ndarray:
        """Return an array of integers from ``least`` to before ``stop``."""
        value = self.array(name, dtypes, *shape)
        if value.size and not least <= value.min() <= value.max() < stop:
            raise ValueError(f"the array {name!r} has values out of range")
        return value

    def pointers(
        self, name: str, n_rows: int | None, n_entries: int, dtypes: str = "ql"
    ) -> np.ndarray:
        """Return where each row begins among the entries, and the end of the last row."""
        value = self.array(name, dtypes, None if n_rows is None else n_rows + 1)
        is_sound = len(value) and value[0] == 0 and value[-1] == n_entries
        if not is_sound or (np.diff(value) < 0).any():
            raise ValueError(f"the array {name!r} has values out of range")
        return value

    def csr(self, name: str, n_columns: int) -> tuple[np.ndarray, ...]:
        """Return the indptr, columns and data of a sparse matrix."""
        columns = self.indices(f"{name}.columns", "i", None, stop=n_columns)
        data = self.array(f"{name}.data", "fd", len(columns))
        return self.pointers(f"{name}.indptr", None, len(columns)), columns, data

    def strings(self, name: str) -> tuple[FrozenStrings, int]:
        """Return a table of strings, and their number."""
        starts = self.array(f"{name}.starts", "ql", None)
        blob = self.array(f"{name}.blob", "B", None)
        slots = self.array(f"{name}.slots", "i", None, 2)
        key = self.array(f"{name}.key", "QL", 3)
        if len(starts) == 0:
            raise ValueError(f"the array '{name}.starts' must not be empty")
        return FrozenStrings(blob, starts, slots, key), len(starts) - 1


def string_arrays(name: str, strings: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the arrays of a table in which ``strings[i]`` is number i."""
    return table_arrays(name, frozen_arrays(list(strings)))


def table_arrays(name: str, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Name the arrays of a table of strings."""
    return dict(zip((f"{name}.{part}" for part in PARTS), arrays, strict=True))


# The rows of a block are 2 ** shift rows.
LARGEST_SHIFT = 6
LARGEST_OFFSET = 2**16 - 1


def pack_rows(
    name: str, indptr: np.ndarray, columns: np.ndarray, data: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the arrays of sparse rows, given as in a CSR matrix.

    Parameters
    ----------
    name : str
        The arrays are named ``name.base``, ``name.offset``, ``name.columns`` and ``name.data``.
    indptr, columns, data : ndarray

    Returns
    -------
    dict from str to ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.serving.content import pack_rows
    >>> arrays = pack_rows("w", np.array([0, 2, 2, 3]), np.array([1, 4, 0]), np.ones(3))
    >>> arrays["w.base"].tolist(), arrays["w.offset"].tolist()
    ([0], [0, 2, 2, 3])
    """
    for shift in range(LARGEST_SHIFT, -1, -1):
        base = indptr[:: 2**shift].astype(np.int64)
        offset = indptr - np.repeat(base, 2**shift)[: len(indptr)]
        if offset.max() <= LARGEST_OFFSET:
            break
    parts: dict[str, Any] = {"base": base, "offset": offset.astype(np.uint16)}
    parts |= {"columns": columns, "data": data}
    return {f"{name}.{part}": array for part, array in parts.items()}


def packed_rows(content: Content, name: str, dtypes: str) -> dict:
    """Return the arrays of sparse rows, and their shift; columns are of one of these types.

    Raises
    ------
    ValueError
        If these are not the arrays of sparse rows.
    """
    base = content.array(f"{name}.base", "ql", None)
    offset = content.array(f"{name}.offset", "H", None)
    columns = content.array(f"{name}.columns", dtypes, None)
    data = content.array(f"{name}.data", "fd", len(columns))
    shift = next(
        (s for s in range(LARGEST_SHIFT + 1) if len(base) == (len(offset) - 1 >> s) + 1), None
    )
    if shift is None or not rows_are_sound(base, offset, shift, len(columns)):
        raise ValueError(f"the arrays '{name}.base' and '{name}.offset' have values out of range")
    parts = {"base": base, "offset": offset, "shift": shift, "columns": columns, "data": data}
    return {f"{name}.{part}": value for part, value in parts.items()}
