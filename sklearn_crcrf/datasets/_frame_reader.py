"""Reading sequences from frames of any library, whose columns name the sequences."""

from collections.abc import Collection
from typing import Any

import numpy as np

from ..data.frames import rows_in_order
from ..data.missing import are_missing
from ..data.ragged import SequenceArray
from ..data.symbols import table_of
from ..data.vocabulary import Vocabulary


def read_frame(
    frame: Any, sequence: str, position: str | None = None, label: str | None = None
) -> tuple[SequenceArray, SequenceArray | None]:
    """Read sequences and labels from the rows of a frame, which are tokens.

    Parameters
    ----------
    frame : DataFrame of polars or pandas, Table of pyarrow, or another eager frame
        Any that narwhals knows.
    sequence : str
        The column that names the sequence of each token. Rows of a sequence need not be next to
        each other.
    position : str, optional
        The column that tokens of a sequence are ordered by, as numbers if it is text; by default
        they stay in the order of the rows.
    label : str, optional
        The column of labels.

    Returns
    -------
    X : SequenceArray
        The other columns, an array of numbers if all are numeric, else symbols; sequences are in
        the order of their first rows.
    y : SequenceArray or None
        The labels, None where they are missing.

    Raises
    ------
    ImportError
        If narwhals, which current versions of scikit-learn need, is not installed.
    TypeError
        If it is not a frame.
    ValueError
        If a column does not exist, no other column is left, or the sequence, the position or a
        number is missing in a row; if a sequence has two rows of one position, positions are text
        other than numbers, or a value is a list; the message names the column and the row.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.datasets import read_frame
    >>> frame = pd.DataFrame(
    ...     {
    ...         "sentence": ["s1", "s2", "s1"],
    ...         "t": [2, 1, 1],
    ...         "word": ["dog", "dogs", "the"],
    ...         "tag": ["N", "N", "D"],
    ...     }
    ... )
    >>> X, y = read_frame(frame, "sentence", "t", label="tag")
    >>> y.tolist(), CRF().fit(X, y).predict(X).tolist()
    ([['D', 'N'], ['N']], [['D', 'N'], ['N']])
    """
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError("read_frame needs narwhals: pip install narwhals") from error
    columns = nw.from_native(frame, eager_only=True)
    special = [name for name in (sequence, position, label) if name is not None]
    names = [name for name in columns.columns if name not in special]
    for name in special:
        if name not in columns.columns:
            raise ValueError(f"the frame has no column {name!r}; it has {columns.columns}")
    if not names:
        raise ValueError(f"the frame has no columns besides {special}")
    numbers, _ = _numbers(columns[sequence])
    if position is None:
        order = np.argsort(numbers, kind="stable")
    else:
        order = rows_in_order(numbers, *_numbers(columns[position]), f"the column {position!r}")
    lengths = np.bincount(numbers)
    X = SequenceArray.from_lengths(_tokens(columns.select(names))[order], lengths)
    if label is None:
        return X, None
    labels = np.fromiter(columns[label].to_list(), object, len(order))
    labels[are_missing(labels)] = None
    return X, SequenceArray.from_lengths(labels[order], lengths)


def _values(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a column, and which of them are missing."""
    values = column.to_list()
    kinds = [kind for kind in set(map(type, values)) if issubclass(kind, Collection)]
    wrong = {kind for kind in kinds if not issubclass(kind, (str, bytes))}
    if wrong:
        row = next(row for row, value in enumerate(values) if type(value) in wrong)
        raise ValueError(
            f"the column {column.name!r} has a {type(values[row]).__name__} in row {row}; values "
            "must be text or numbers, with one token in each row"
        )
    found = np.fromiter(values, object, len(values))
    return found, are_missing(found)


def _complete(column: Any) -> list:
    """Return the values of a column, none of them missing."""
    values, is_missing = _values(column)
    if is_missing.any():
        raise ValueError(f"the column {column.name!r} has no value in row {np.argmax(is_missing)}")
    return values.tolist()


def _numbers(column: Any) -> tuple[np.ndarray, list]:
    """Find the number of each value, in the order of their first rows; and the different values."""
    found: dict[Any, int] = {}
    numbers = [found.setdefault(value, len(found)) for value in _complete(column)]
    return np.array(numbers, dtype=int), list(found)


def _tokens(columns: Any) -> Any:
    """Return an array if all columns are numeric, else a SymbolTable."""
    numeric = [name for name in columns.columns if columns[name].dtype.is_numeric()]
    if len(numeric) == len(columns.columns):
        rows = [_complete(columns[name]) for name in numeric]
        return np.array(rows, dtype=float).reshape(len(numeric), -1).T
    made = []
    for name in columns.columns:
        vocabulary, (values, is_missing) = Vocabulary(), _values(columns[name])
        ids = np.full(len(values), -1, dtype=np.int32)
        ids[~is_missing] = vocabulary.add([*map(str, values[~is_missing].tolist())])
        made.append((ids, vocabulary.symbols))
    return table_of(made, len(columns), columns.columns, numeric)
