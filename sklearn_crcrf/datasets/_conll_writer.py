"""Writing sequences as text in columns: one token per line, a blank line after each sequence."""

import gzip
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np

from ..data.ragged import SequenceArray, locate
from ..data.sequences import as_sequences
from ..data.symbols import SymbolTable
from ..utils.names import check_no_string
from .columns import check_separator


def write_conll(
    path_or_file: str | os.PathLike | IO,
    X: Any,
    y: Any = None,
    *,
    columns: Sequence[str] | None = None,
    sep: str | None = None,
    encoding: str = "utf-8",
) -> None:
    r"""Write sequences as a CoNLL-style file that :func:`read_conll` can read.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        A path that ends in ".gz" is gzip-compressed. A file object may take text or bytes.
    X : list of sequences, or SequenceArray
        Tokens as strings, or as dicts from the names of the columns to strings.
    y : list of lists of str, or SequenceArray, optional
        Labels, written as the column "label".
    columns : sequence of str, optional
        The columns to write, in this order. By default the columns of the first token, then the
        label.
    sep : str of length 1, optional
        Separator of the columns. By default a tab, and then neither tabs nor spaces may occur
        in a token, because :func:`read_conll` may split at both.
    encoding : str, default="utf-8"
        Encoding of bytes.

    Raises
    ------
    ValueError
        If a token or label is not a string, is empty or blank, holds a separator or a line end,
        or cannot be encoded, or if a sequence is empty; the message names sequence and
        position. If the dicts of X do not have the same keys, or ``columns`` does not fit.

    See Also
    --------
    read_conll : The inverse.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.datasets import write_conll
    >>> file = io.StringIO()
    >>> write_conll(file, [["The", "dog"], ["Bark"]], [["D", "N"], ["V"]])
    >>> file.getvalue()
    'The\tD\ndog\tN\n\nBark\tV\n\n'
    """
    check_separator(sep)
    sequences, labels, _ = as_sequences(X, y)
    if (sequences.lengths == 0).any():
        raise ValueError(f"sequence {int(np.argmin(sequences.lengths))} is empty")
    check_no_string(columns, "columns")
    table = _observations(sequences, columns)
    if labels is not None:
        if "label" in table:
            raise ValueError("X already has a column 'label', but y is given too")
        table["label"] = labels.data.tolist()
    table = _in_order(table, columns, labelled=labels is not None)

    forbidden = "\r\n" + (" \t" if sep is None else sep)
    for name, values in table.items():
        _check_values(values, name, sequences.offsets, forbidden, encoding)
    _write_text(path_or_file, _format(table, sequences.offsets, sep or "\t"), encoding)


def _observations(X: SequenceArray, columns: Sequence[str] | None) -> dict[str, list]:
    """Return the columns of X by name."""
    if isinstance(X.data, SymbolTable):
        return {name: X.data.column(name).tolist() for name in X.data.names}
    if X.data.ndim != 1:
        raise ValueError("X must hold strings or dicts of strings, not rows of numbers")
    tokens = X.data.tolist()
    names = None if columns is None else [name for name in columns if name != "label"]
    if not tokens:
        return {name: [] for name in names or ("word",)}
    if X.kind == "dicts":
        return _dict_columns(tokens, names or list(tokens[0]), X.offsets, exact=columns is None)
    if names is not None and len(names) != 1:
        raise ValueError(f"X has one column, but columns names {names}")
    return {names[0] if names else "word": tokens}


def _dict_columns(
    tokens: list, names: list[str], offsets: np.ndarray, *, exact: bool
) -> dict[str, list]:
    keys = set(names)
    for i, token in enumerate(tokens):
        has_keys = isinstance(token, dict) and token.keys() >= keys
        if not has_keys or (exact and len(token) > len(keys)):
            sequence, position = locate(offsets, i)
            raise ValueError(
                f"sequence {sequence}, position {position}: expected a dict with the keys {names}, "
                f"got {token!r}"
            )
    return {name: [token[name] for token in tokens] for name in names}


def _in_order(
    table: dict[str, list], columns: Sequence[str] | None, *, labelled: bool
) -> dict[str, list]:
    if columns is None:
        return table
    if labelled != ("label" in columns) or len(set(columns)) < len(columns):
        raise ValueError(
            f"columns must differ and name 'label' if and only if y is given, got {list(columns)}"
        )
    unknown = [name for name in columns if name not in table]
    if unknown:
        raise ValueError(f"X has no columns {unknown}")
    return {name: table[name] for name in columns}


def _check_values(
    values: list, name: str, offsets: np.ndarray, forbidden: str, encoding: str
) -> None:
    """Raise ValueError unless the values of a column can be written, and read again."""
    are_strings = all(isinstance(value, str) for value in values)
    if are_strings and not any(_problem(value, forbidden, encoding) for value in set(values)):
        return
    problems = (_problem(value, forbidden, encoding) for value in values)
    i, problem = next((i, problem) for i, problem in enumerate(problems) if problem)
    sequence, position = locate(offsets, i)
    raise ValueError(
        f"sequence {sequence}, position {position}: the {name} {values[i]!r} {problem}"
    )


def _problem(value: Any, forbidden: str, encoding: str) -> str | None:
    """Say what is wrong with a value; None if it can be written."""
    if not isinstance(value, str):
        return "is not a string"
    if not value.strip(" \t"):
        return "is empty"
    if not set(forbidden).isdisjoint(value):
        return "holds a separator or a line end"
    try:
        value.encode(encoding)
    except UnicodeEncodeError:
        return f"cannot be encoded as {encoding}"
    return None


def _format(table: dict[str, list[str]], offsets: np.ndarray, sep: str) -> str:
    lines = list(map(sep.join, zip(*table.values(), strict=True)))
    text = "".join(["\n".join(lines[a:b]) + "\n\n" for a, b in pairwise(offsets.tolist())])
    # The reader removes one leading byte order mark.
    return "\ufeff" + text if text.startswith("\ufeff") else text


def _write_text(path_or_file: Any, text: str, encoding: str) -> None:
    if hasattr(path_or_file, "write"):
        takes_text = hasattr(path_or_file, "encoding")
        path_or_file.write(text if takes_text else text.encode(encoding))
        return
    data = text.encode(encoding)
    if os.fsdecode(path_or_file).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    with open(path_or_file, "wb") as file:
        file.write(data)
