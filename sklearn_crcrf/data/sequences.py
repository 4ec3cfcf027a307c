"""The common form of all accepted inputs."""

from collections.abc import Callable, Iterator, Mapping, Set
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from .csr import sound_csr
from .frames import frame_sequences
from .layout import Layout, Lists, Ragged, Rows, Sequences, unpadded
from .numbers import check_finite
from .ragged import SequenceArray, join_sequences, n_tokens, without_arrow


def _check_table(X: Any) -> Any:
    """Return a DataFrame as it is; arrays and matrices as scikit-learn checks them."""
    return X if hasattr(X, "iloc") else check_array(X, accept_sparse="csr", dtype=None)


def as_sequences(
    X: Any, y: Any = None, name: str = "y", check_table: Callable[[Any], Any] = _check_table
) -> Sequences:
    """Convert any input that estimators take to SequenceArrays.

    Parameters
    ----------
    X : list of sequences, SequenceArray, 2-D array or CSR, or DataFrame
        The sequences of a list hold token strings or feature dicts, or are 2-D arrays or CSR.
        The rows of a 2-D array, of a list of lists of numbers, or of a DataFrame are sequences of
        length one. A DataFrame with an index of two levels, (sequence, position), has the
        sequences that the index names. Its columns become an array if all are numeric, else a
        SymbolTable. An array of shape (n_sequences, length, n_attributes) holds sequences that
        are padded at the end by rows of NaN.
    y : list of label lists, SequenceArray or 1-D array, optional
        Labels, in the same layout as X: for a table one per row. Or an
        array of shape (n_sequences, length), padded by NaN, None, "", -1 or -100.
    name : str, default="y"
        Name of y in error messages.
    check_table : callable, optional
        Checks a DataFrame, or an array or matrix whose rows are samples, and returns it. By
        default scikit-learn's ``check_array``, and no check for a DataFrame.

    Returns
    -------
    Sequences
        ``X`` and ``y`` as SequenceArray, and ``mirror``, which restores the layout of the input.
        If X is a GraphArray, it keeps its edges.

    Raises
    ------
    ValueError
        If X is of none of these kinds or holds numbers that are not finite, if the arrays of a
        sparse matrix contradict each other, or if X and y differ in length; the message names
        the sequence.

    Examples
    --------
    >>> X, y, mirror = as_sequences([["a", "b"], ["c"]], [[0, 1], [1]])
    >>> X.lengths, y.data
    (array([2, 1]), array([0, 1, 1], dtype=object))
    >>> mirror(y.data)
    array([list([0, 1]), list([1])], dtype=object)
    """
    sequences, mirror = _read(X, check_table)
    data = sequences.data
    is_array = isinstance(data, np.ndarray) or sp.issparse(data)
    if is_array and (data.ndim > 2 or data.dtype.kind in "cmMV"):
        raise ValueError(
            "X must hold strings, feature dicts or rows of real numbers, "
            f"but its data is of shape {data.shape} and type {data.dtype}"
        )
    return Sequences(sequences, None if y is None else mirror.labels(y, name), mirror)


def is_table(X: Any) -> bool:
    """Say whether a sample of X is a row, rather than a sequence.

    Parameters
    ----------
    X : any input of :func:`as_sequences`
        For a list the first element decides: a number or a list of numbers makes it a table.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If X is a list of tokens, whose samples are neither.

    Examples
    --------
    >>> is_table([[0.5, 1.5], [2.5, 3.5]]), is_table([["a", "b"]])
    (True, False)
    """
    if isinstance(X, SequenceArray) or (isinstance(X, np.ndarray) and X.ndim == 3):
        return False
    if hasattr(X, "iloc"):
        return X.ndim == 2 or X.index.nlevels > 1
    if not (isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.ndim == 1)):
        return True
    first = next((s for s in X if n_tokens(s) != 0), None)
    if isinstance(first, (str, bytes, Mapping)) and not sp.issparse(first):
        what = f"X must be a list of sequences, but is a list of {type(first).__name__}; "
        if any(isinstance(s, str) and len(s.split()) > 1 for s in X):
            raise ValueError(f"{what}split your sentences: [sentence.split() for sentence in X]")
        raise ValueError(f"{what}to pass a single sequence, put it into a list: [X]")
    if isinstance(first, (list, tuple)) or (isinstance(first, np.ndarray) and first.ndim == 1):
        first = first[0]
    return isinstance(first, (Number, np.bool_))


def sound_table(X: Any) -> Any:
    """Return a table; a sparse one is checked and gets sound rows."""
    return sound_csr(X, "X", "X, row {}".format) if sp.issparse(X) else X


def _read(X: Any, check_table: Callable[[Any], Any]) -> tuple[SequenceArray, Layout]:
    """Return all tokens, and the layout of X."""
    has_no_samples = isinstance(X, (str, bytes, Mapping, Set, Iterator)) and not sp.issparse(X)
    if X is None or has_no_samples:
        raise ValueError(
            "X must be a list of sequences, a SequenceArray, an array, a sparse matrix or a "
            f"DataFrame, but is {'None' if X is None else f'a {type(X).__name__}'}"
        )
    if hasattr(X, "ngroups"):
        raise ValueError(
            f"X is a {type(X).__name__}: pass X.agg(list) of one column, or read the table by "
            "sklearn_crcrf.datasets.read_frame"
        )
    X = without_arrow(X)
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc"):
        library = type(X).__module__.partition(".")[0]
        raise ValueError(
            f"X is a {library} {type(X).__name__}, which has no index that names the sequences; "
            "sklearn_crcrf.datasets.read_frame reads it, by the columns that name them"
        )
    if is_table(X):
        if hasattr(X, "iloc"):
            return frame_sequences(check_table(X))
        table = _checked(X, check_table)
        offsets = np.arange(table.shape[0] + 1)
        return SequenceArray._of(table, offsets), Rows(offsets)
    mirror: type[Layout] = Lists
    if isinstance(X, SequenceArray):
        sequences, mirror = X.checked("X"), Ragged
    elif isinstance(X, np.ndarray) and X.ndim == 3:
        sequences = unpadded(X)
    else:
        sequences = join_sequences(X, "X")
    check_finite(sequences)
    return sequences, mirror(sequences.offsets, index=X.index if hasattr(X, "iloc") else None)


def _checked(X: Any, check: Callable[[Any], Any]) -> Any:
    """Make sparse rows sound, then let ``check`` check the table."""
    try:
        return check(sound_table(X))
    except ValueError as error:
        is_list = isinstance(X, (list, tuple))
        if is_list and len({n_tokens(row) for row in X}) > 1:
            raise ValueError(
                "X is a list of lists of numbers, hence a table, but its rows differ in length; "
                "write symbols as strings, and a sequence of rows of numbers as a 2-D array of "
                "shape (n_tokens, n_attributes)"
            ) from None
        if is_list and "inhomogeneous" in str(error):
            raise ValueError(
                f"X is not a table: its rows must hold numbers or strings ({error})"
            ) from None
        raise
