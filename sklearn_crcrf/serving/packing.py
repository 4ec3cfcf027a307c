"""Sparse rows in little memory: where rows begin, and types as small as their values allow.

Row r begins at ``base[r >> shift] + offset[r]``, where offsets have two bytes.
"""

import numpy as np

from .._kernels.text.tokens import rows_are_sound
from .content import Content

# The rows of a block are 2 ** shift rows.
LARGEST_SHIFT = 6
LARGEST_OFFSET = 2**16 - 1


def pack_rows(
    name: str, indptr: np.ndarray, columns: np.ndarray, data: np.ndarray
) -> dict[str, np.ndarray]:
    """The arrays of sparse rows, given as in a CSR matrix.

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
    >>> from sklearn_crcrf.serving.packing import pack_rows
    >>> arrays = pack_rows("w", np.array([0, 2, 2, 3]), np.array([1, 4, 0]), np.ones(3))
    >>> arrays["w.base"].tolist(), arrays["w.offset"].tolist()
    ([0], [0, 2, 2, 3])
    """
    for shift in range(LARGEST_SHIFT, -1, -1):
        base = indptr[:: 2**shift].astype(np.int64)
        offset = indptr - np.repeat(base, 2**shift)[: len(indptr)]
        if offset.max() <= LARGEST_OFFSET:
            break
    parts = (
        ("base", base),
        ("offset", offset.astype(np.uint16)),
        ("columns", columns),
        ("data", data),
    )
    return {f"{name}.{part}": array for part, array in parts}


def packed_rows(content: Content, name: str, dtypes: str) -> dict:
    """The arrays of sparse rows, and their shift; columns are of one of these types.

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
