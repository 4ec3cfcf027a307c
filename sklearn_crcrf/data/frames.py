"""DataFrames as sequences: columns hold symbols or numbers, the index names the sequences."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from .layout import Rows
from .positions import rows_in_order
from .ragged import SequenceArray
from .symbols import SymbolTable
from .vocabulary import Vocabulary


def frame_sequences(X: Any) -> tuple[SequenceArray, Rows]:
    """The tokens of a DataFrame, and the rows that they come from.

    Parameters
    ----------
    X : DataFrame with n_tokens rows, or Series of symbols
        With an index of several levels, the last level is the position of a row in its sequence,
        and the other levels name the sequence; its rows need not be next to each other. With a
        simple index every row is a sequence of length one.

    Returns
    -------
    sequences : SequenceArray
        In the order of first occurrence.
    mirror : Rows

    Raises
    ------
    ValueError
        If there are no rows, the index has missing values, a (sequence, position) is there twice,
        or positions are text other than numbers.
    """
    X = as_frame(X)
    data = frame_columns(X)
    if X.index.nlevels == 1:
        offsets = np.arange(len(X) + 1)
        return SequenceArray(data, offsets), Rows(offsets, index=X.index)
    order, lengths = _read_index(X.index)
    sequences = SequenceArray.from_lengths(data[order], lengths)
    return sequences, Rows(sequences.offsets, order, index=X.index)


def as_frame(X: Any) -> Any:
    """The DataFrame itself; a Series becomes a DataFrame with one column."""
    return X.to_frame("token" if X.name is None else X.name) if X.ndim == 1 else X


def frame_columns(X: Any) -> Any:
    """The columns of a DataFrame: an array or CSR if all are numeric, else a SymbolTable.

    Parameters
    ----------
    X : DataFrame of shape (n_tokens, n_columns)

    Returns
    -------
    ndarray, CSR or SymbolTable of shape (n_tokens, n_columns)
        CSR if all columns are sparse. Symbols are the values as strings; a missing value has
        code -1.

    Raises
    ------
    ValueError
        If there are no rows or columns, or a numeric table has missing values.
    """
    if X.shape[1] == 0:
        raise ValueError("X has no columns")
    if len(X) == 0 or all(dtype.kind in "biufc" for dtype in X.dtypes):
        return check_array(X, accept_sparse="csr")
    columns = [column_symbols(X.iloc[:, j]) for j in range(X.shape[1])]
    codes, categories = zip(*columns, strict=True)
    names = [str(name) for name in X.columns]
    return SymbolTable(np.column_stack(codes), categories, names, numeric_columns(X))


def numeric_columns(X: Any) -> list[str]:
    """Names of the columns of a DataFrame that hold numbers; bool columns hold symbols."""
    kinds = zip(X.columns, X.dtypes, strict=True)
    return [str(name) for name, dtype in kinds if dtype.kind in "iuf"]


def column_symbols(column: Any) -> tuple[np.ndarray, list[str]]:
    """The codes of the values of a column of a DataFrame, -1 if missing, and its symbols.

    Symbols are the values as strings, in the order of their first occurrence.

    Raises
    ------
    ValueError
        If a value cannot be a symbol, such as a list; the message names the column.

    Examples
    --------
    >>> import pandas as pd
    >>> codes, symbols = column_symbols(pd.Series(["D", None, "N", "D"]))
    >>> codes, symbols
    (array([ 0, -1,  1,  0], dtype=int32), ['D', 'N'])
    """
    try:
        codes, values = column.factorize()
    except (TypeError, NotImplementedError) as error:
        raise ValueError(
            f"X, column {column.name!r}: {error}; values must be text or numbers"
        ) from None
    vocabulary = Vocabulary()
    # Different values, such as 1 and "1", may be the same string.
    ids = vocabulary.add([str(value) for value in values])
    return np.append(ids, np.int32(-1))[codes], vocabulary.symbols


def _read_index(index: Any) -> tuple[np.ndarray, np.ndarray]:
    """The order of the rows that puts sequences together, and the lengths of the sequences."""
    sequence, _ = index.droplevel(-1).factorize()
    position, values = index.get_level_values(-1).factorize()
    is_missing = np.any([np.asarray(codes) < 0 for codes in index.codes], axis=0)
    if is_missing.any():
        raise ValueError(f"the index of X has a missing value in row {np.argmax(is_missing)}")
    order = rows_in_order(sequence, position, np.asarray(values), "the index of X")
    return order, np.bincount(sequence)
