"""DataFrames as sequences: columns hold symbols or numbers, the index names the sequences."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .layout import Rows
from .ragged import SequenceArray
from .symbols import SymbolTable, table_of
from .vocabulary import Vocabulary


def frame_sequences(X: Any) -> tuple[SequenceArray, Rows]:
    """Return the tokens of a DataFrame, and the rows that they come from.

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
    """Return the DataFrame itself; a Series becomes a DataFrame with one column."""
    return X.to_frame("token" if X.name is None else X.name) if X.ndim == 1 else X


def frame_columns(X: Any) -> Any:
    """Return the columns of a DataFrame: an array or CSR if all are numeric, else a SymbolTable.

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
    return frame_symbols(X)


def frame_symbols(X: Any) -> SymbolTable:
    """Turn all columns of a DataFrame into symbols; columns of numbers but bools are marked."""
    columns = [column_symbols(X.iloc[:, j]) for j in range(X.shape[1])]
    kinds = zip(X.columns, X.dtypes, strict=True)
    numbers = [str(name) for name, dtype in kinds if dtype.kind in "iuf"]
    return table_of(columns, len(X), [*map(str, X.columns)], numbers)


def column_symbols(column: Any) -> tuple[np.ndarray, list[str]]:
    """Return the codes of the values of a column of a DataFrame, -1 if missing, and its symbols.

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
    """Find the order of the rows that puts sequences together, and the lengths of the sequences."""
    sequence, _ = index.droplevel(-1).factorize()
    position, values = index.get_level_values(-1).factorize()
    is_missing = np.any([np.asarray(codes) < 0 for codes in index.codes], axis=0)
    if is_missing.any():
        raise ValueError(f"the index of X has a missing value in row {np.argmax(is_missing)}")
    order = rows_in_order(sequence, position, np.asarray(values), "the index of X")
    return order, np.bincount(sequence)


def rows_in_order(
    sequence: np.ndarray, position: np.ndarray, values: Iterable[Any], name: str
) -> np.ndarray:
    """Return the order of the rows that puts sequences together, with tokens in order.

    Parameters
    ----------
    sequence : ndarray of int of shape (n_rows,)
        The number of the sequence of each row.
    position : ndarray of int of shape (n_rows,)
        The place of the position of each row in ``values``.
    values : ndarray or list of n_values positions
        Different positions. If there is text among them, all must be numbers, and are ordered as
        numbers.
    name : str
        Name of the positions in error messages.

    Returns
    -------
    ndarray of int of shape (n_rows,)

    Raises
    ------
    ValueError
        If positions have no order, or a sequence has two rows of one position.

    Examples
    --------
    >>> rows_in_order(np.array([0, 0, 0]), np.array([0, 1, 2]), ["1", "10", "2"], "t")
    array([0, 2, 1])
    """
    rank = _ranks(values, position, name)[position]
    order = np.lexsort([rank, sequence])
    alike = (np.diff(sequence[order]) == 0) & (np.diff(rank[order]) == 0)
    if alike.any():
        i = int(np.argmax(alike))
        first, second = order[i], order[i + 1]
        raise ValueError(
            f"{name}: row {second} has the sequence and position of row {first}; each token of a "
            "sequence needs a position of its own, and sequences of several documents different "
            "names, as from pandas.concat(frames, keys=range(len(frames)))"
        )
    return order


def _ranks(values: Iterable[Any], position: np.ndarray, name: str) -> np.ndarray:
    """Return the rank of each position, equal for equal numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufmM":
        return np.unique(values, return_inverse=True)[1]
    values = list(values)
    if any(isinstance(value, str) for value in values):
        numbers = [_number(value) for value in values]
        if None in numbers:
            i = numbers.index(None)
            raise ValueError(
                f"{name}: positions must be numbers, or all be written as numbers, but in row "
                f"{int(np.argmax(position == i))} there is {values[i]!r}"
            )
        values = numbers
    try:
        rank = {value: i for i, value in enumerate(sorted(set(values)))}
    except TypeError as error:
        raise ValueError(f"{name}: positions have no order: {error}") from None
    return np.array([rank[value] for value in values], dtype=np.int64)


def _number(value: Any) -> Any:
    """Return a number, or text as a number; None if it is neither."""
    if not isinstance(value, str):
        return value if isinstance(value, Number) else None
    try:
        number = Decimal(value.replace("_", "?"))  # Python takes 1_0 for 10
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
