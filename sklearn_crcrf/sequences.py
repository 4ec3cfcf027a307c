"""The ragged container and the one form that every accepted input is brought to."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d

__all__ = ["SequenceArray", "Sequences", "as_sequences"]


class SequenceArray:
    """Sequences of different lengths, stored flat: all tokens in one array, and offsets.

    It behaves like a one-dimensional array whose samples are sequences, so that the splitters
    and searches of scikit-learn work on it, and it never makes an object per token.

    Parameters
    ----------
    data : ndarray of shape (n_tokens,) or (n_tokens, n_attributes), CSR or SymbolTable
        One row per token: attributes, symbols or labels.
    offsets : array-like of shape (n_sequences + 1,)
        Sequence ``i`` is ``data[offsets[i]:offsets[i + 1]]``.

    Raises
    ------
    ValueError
        If the offsets do not start at 0, decrease, or do not end at ``n_tokens``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import SequenceArray
    >>> y = SequenceArray(np.array(["A", "B", "A"]), [0, 2, 3])
    >>> y.tolist()
    [['A', 'B'], ['A']]
    >>> y[1:].tolist()
    [['A']]
    """

    __slots__ = ("data", "offsets")
    __hash__ = None

    def __init__(self, data: Any, offsets: Any):
        offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0:
            raise ValueError("offsets must be one-dimensional and start at 0")
        if (np.diff(offsets) < 0).any():
            raise ValueError("offsets must not decrease")
        if offsets[-1] != data.shape[0]:
            raise ValueError(f"offsets end at {offsets[-1]}, but data has {data.shape[0]} tokens")
        self.data = data
        self.offsets = offsets

    @classmethod
    def from_lengths(cls, data: Any, lengths: Any) -> "SequenceArray":
        """Cut ``data`` into consecutive sequences of the given lengths.

        Parameters
        ----------
        data : ndarray, CSR or SymbolTable with n_tokens rows
        lengths : array-like of int of shape (n_sequences,)
            They must sum to n_tokens.

        Returns
        -------
        SequenceArray

        Examples
        --------
        >>> SequenceArray.from_lengths(np.arange(3), [1, 2]).tolist()
        [[0], [1, 2]]
        """
        lengths = np.asarray(lengths, dtype=np.int64)
        if (lengths < 0).any():
            raise ValueError(f"lengths[{int(np.argmax(lengths < 0))}] is negative")
        if lengths.sum() != data.shape[0]:
            raise ValueError(f"lengths sum to {lengths.sum()}, but data has {data.shape[0]} tokens")
        return cls(data, np.concatenate([[0], np.cumsum(lengths)]))

    @classmethod
    def from_sequences(cls, sequences: Iterable[Any]) -> "SequenceArray":
        """Join a list of sequences: of symbols, labels or dicts, or of 2-D arrays.

        Parameters
        ----------
        sequences : iterable of sequences
            Two-dimensional arrays and sparse matrices are stacked; everything else becomes a
            one-dimensional object array.

        Returns
        -------
        SequenceArray

        Examples
        --------
        >>> SequenceArray.from_sequences([["a"], [], ["b", "c"]]).lengths
        array([1, 0, 2])
        """
        sequences = list(sequences)
        lengths = [_length(s, i) for i, s in enumerate(sequences)]
        rows = [s for s in sequences if getattr(s, "ndim", 1) == 2]
        if rows:
            data = _stack_rows(sequences)
        else:
            data = np.fromiter(chain.from_iterable(sequences), dtype=object, count=sum(lengths))
        return cls.from_lengths(data, lengths)

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each sequence, int64 of shape (n_sequences,)."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n_sequences, n_attributes)``, or ``(n_sequences,)`` for one-dimensional data."""
        return (len(self), *self.data.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of dimensions of ``shape``."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Any]:
        for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            yield self.data[start:stop]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):  # scikit-learn asks for X[rows, ...]
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("a SequenceArray is indexed by sequence only")
            key = key[0]
        if isinstance(key, Integral):
            i = range(len(self))[key]
            return self.data[self.offsets[i] : self.offsets[i + 1]]
        chosen = np.arange(len(self))[key]
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return SequenceArray(self.data[rows], offsets)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return _object_array(list(self))

    def __array_function__(self, func, types, args, kwargs):
        if func is np.hstack:
            return _concatenate(args[0], axis=1 if self.ndim > 1 else 0)
        if func is np.concatenate:
            axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
            return _concatenate(args[0], axis=axis)
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequenceArray):
            return NotImplemented
        return (
            self.shape == other.shape
            and np.array_equal(self.offsets, other.offsets)
            and _same_rows(self.data, other.data)
        )

    def __repr__(self) -> str:
        return f"<SequenceArray of {len(self)} sequences, {self.data.shape[0]} tokens>"

    def __reduce__(self):
        return SequenceArray, (self.data, self.offsets)

    def copy(self) -> "SequenceArray":
        """A copy that shares no memory with the original."""
        return SequenceArray(self.data.copy(), self.offsets.copy())

    def tolist(self) -> list:
        """A list of sequences: lists of symbols or labels, or arrays of rows."""
        return [s.tolist() if isinstance(s, np.ndarray) else s for s in self]


class Sequences(NamedTuple):
    """One accepted input, flattened, and the way back.

    ``mirror`` takes one value or row per token of ``X`` and returns them in the container that
    the input came in.
    """

    X: SequenceArray
    y: SequenceArray | None
    mirror: Callable[[np.ndarray], Any]


def as_sequences(X: Any, y: Any = None) -> Sequences:
    """Bring every accepted input to one form.

    Parameters
    ----------
    X : list of sequences, SequenceArray, 2-D array or CSR, or DataFrame
        The sequences of a list hold token strings or feature dicts, or are 2-D arrays. The rows
        of a 2-D array are chains of length one. A DataFrame with a two-level index
        (sequence, position) is put in the order of its index.
    y : list of label lists, SequenceArray or 1-D array, optional
        Labels, in the same layout as X.

    Returns
    -------
    Sequences
        ``X`` and ``y`` as SequenceArray, and ``mirror``, which undoes the layout.

    Raises
    ------
    ValueError
        If X is of none of these kinds, or X and y differ in length; the message names the
        sequence.

    Examples
    --------
    >>> X, y, mirror = as_sequences([["a", "b"], ["c"]], [[0, 1], [1]])
    >>> X.lengths, y.data
    (array([2, 1]), array([0, 1, 1], dtype=object))
    >>> mirror(y.data)
    array([list([0, 1]), list([1])], dtype=object)
    """
    if isinstance(X, SequenceArray):
        sequences, mirror = X, lambda flat: SequenceArray(flat, X.offsets)
    elif hasattr(X, "iloc"):
        return _from_frame(X, y)
    elif _is_list_of_sequences(X):
        sequences = SequenceArray.from_sequences(X)
        mirror = _mirror_lists(sequences.offsets)
    else:
        X = check_array(X, accept_sparse="csr", dtype=None)
        sequences, mirror = SequenceArray(X, np.arange(X.shape[0] + 1)), np.asarray
        if y is not None and not isinstance(y, SequenceArray):
            y = _rows_of_labels(y, X.shape[0])
    return Sequences(sequences, None if y is None else _as_labels(y, sequences), mirror)


def locate(offsets: np.ndarray, token: int) -> tuple[int, int]:
    """The sequence and the position in it of token number ``token``, to name it in an error."""
    sequence = int(np.searchsorted(offsets, token, side="right")) - 1
    return sequence, int(token - offsets[sequence])


def _as_labels(y: Any, X: SequenceArray) -> SequenceArray:
    labels = y if isinstance(y, SequenceArray) else SequenceArray.from_sequences(y)
    if len(labels) != len(X):
        raise ValueError(f"X has {len(X)} sequences, but y has {len(labels)}")
    differ = np.flatnonzero(labels.lengths != X.lengths)
    if len(differ):
        i = int(differ[0])
        raise ValueError(
            f"sequence {i} has {X.lengths[i]} tokens in X, but {labels.lengths[i]} labels in y"
        )
    return labels


def _rows_of_labels(y: Any, n_rows: int) -> SequenceArray:
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]"
        )
    return SequenceArray(y, np.arange(n_rows + 1))


def _from_frame(X: Any, y: Any) -> Sequences:
    """A DataFrame: its two-level index says which rows are one sequence, in which order."""
    if X.index.nlevels != 2:
        sequences, labels, mirror = as_sequences(_frame_columns(X), y)
        return Sequences(sequences, labels, mirror)
    codes, _ = X.index.get_level_values(0).factorize()
    order = np.lexsort([X.index.get_level_values(1), codes])
    lengths = np.bincount(codes)
    back = np.argsort(order, kind="stable")
    sequences = SequenceArray.from_lengths(_frame_columns(X.iloc[order]), lengths)
    if y is not None:
        y = _rows_of_labels(y, len(X)).data[order]
        y = SequenceArray.from_lengths(y, lengths)
    return Sequences(sequences, y, lambda flat: np.asarray(flat)[back])


def _frame_columns(X: Any) -> np.ndarray:
    return check_array(X, dtype=None, ensure_min_samples=1)


def _is_list_of_sequences(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype == object and X.ndim == 1 and all(_is_sequence(s) for s in X)
    if not isinstance(X, (list, tuple)):
        return False
    # A list of rows of numbers is a table; a list of anything else is a list of sequences.
    first = next((s for s in X if not hasattr(s, "__len__") or len(s)), None)
    if first is None:
        return True
    if isinstance(first, np.ndarray) and first.ndim == 1 and first.dtype.kind in "biuf":
        return False
    return _is_sequence(first) and not (
        isinstance(first, (list, tuple)) and isinstance(first[0], (int, float))
    )


def _is_sequence(s: Any) -> bool:
    return isinstance(s, (list, tuple, np.ndarray)) or sp.issparse(s)


def _length(s: Any, i: int) -> int:
    if sp.issparse(s):
        return s.shape[0]
    if isinstance(s, (str, bytes, dict)) or not hasattr(s, "__len__"):
        raise ValueError(
            f"sequence {i} must be a list of tokens or labels, but is of type {type(s).__name__}"
        )
    return len(s)


def _stack_rows(sequences: list) -> Any:
    width = next(s.shape[1] for s in sequences if getattr(s, "ndim", 1) == 2)
    for i, s in enumerate(sequences):
        if getattr(s, "ndim", 1) != 2 and len(s) == 0:
            sequences[i] = np.empty((0, width))
        elif getattr(s, "ndim", 1) != 2 or s.shape[1] != width:
            raise ValueError(f"sequence {i} is not a 2-D array with {width} attributes")
    if any(sp.issparse(s) for s in sequences):
        return sp.vstack(sequences, format="csr")
    return np.concatenate(sequences)


def _mirror_lists(offsets: np.ndarray) -> Callable[[np.ndarray], Any]:
    def mirror(flat: np.ndarray) -> Any:
        pieces = [flat[a:b] for a, b in pairwise(offsets)]
        if flat.ndim == 1:
            return _object_array([piece.tolist() for piece in pieces])
        return pieces

    return mirror


def _object_array(items: list) -> np.ndarray:
    # np.array would make a 2-D array of sequences that happen to be equally long.
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def _concatenate(parts: Any, axis: int | None) -> SequenceArray:
    parts = list(parts)
    if axis == 0:
        lengths = np.concatenate([part.lengths for part in parts])
        return SequenceArray.from_lengths(_join([p.data for p in parts], axis=0), lengths)
    if any(not np.array_equal(p.offsets, parts[0].offsets) for p in parts):
        raise ValueError("attributes can be joined only where the sequences have the same lengths")
    return SequenceArray(_join([p.data for p in parts], axis=1), parts[0].offsets)


def _join(pieces: list, axis: int) -> Any:
    if any(sp.issparse(p) for p in pieces):
        return (sp.vstack if axis == 0 else sp.hstack)(pieces, format="csr")
    return np.concatenate(pieces, axis=axis)


def _same_rows(a: Any, b: Any) -> bool:
    if sp.issparse(a) or sp.issparse(b):
        return bool((a != b).nnz == 0)
    return bool(np.all(a == b))
