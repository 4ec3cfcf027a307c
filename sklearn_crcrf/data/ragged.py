"""The ragged container: sequences of different lengths in one flat array."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from itertools import chain, pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.array_utils import normalize_axis_index

from .csr import sound_csr, stackable, stacked


class SequenceArray:
    """Sequences of different lengths, stored flat: all tokens in one array, and offsets.

    It behaves like a one-dimensional array whose samples are sequences, so that the splitters
    and searches of scikit-learn work on it, and it never makes an object per token.

    Parameters
    ----------
    data : ndarray of shape (n_tokens,) or (n_tokens, n_attributes), CSR or SymbolTable
        One row per token: attributes, symbols or labels. It is not copied.
    offsets : array-like of int of shape (n_sequences + 1,)
        Sequence ``i`` is ``data[offsets[i]:offsets[i + 1]]``.

    Raises
    ------
    ValueError
        If the offsets do not start at 0, decrease, or do not end at ``n_tokens``; or if the
        arrays of a sparse matrix contradict each other.

    See Also
    --------
    GraphArray : Samples that also hold edges between their tokens.

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
    __hash__ = None  # type: ignore[assignment]  # mutable objects have no hash

    def __init__(self, data: Any, offsets: Any):
        if not getattr(data, "shape", ()):
            raise ValueError(f"data must be an array of tokens, but is a {type(data).__name__}")
        self.offsets = checked_offsets(offsets, data.shape[0])
        self.data = sound_rows(data, self.offsets, "data")

    @classmethod
    def _of(cls, data: Any, offsets: np.ndarray) -> "SequenceArray":
        """Return an array from data and offsets that have been checked."""
        array = object.__new__(cls)
        array.data, array.offsets = data, offsets
        return array

    @classmethod
    def from_lengths(cls, data: Any, lengths: Any) -> "SequenceArray":
        """Cut ``data`` into consecutive sequences of the given lengths.

        Parameters
        ----------
        data : ndarray, CSR or SymbolTable with n_tokens rows
            All tokens.
        lengths : array-like of int of shape (n_sequences,)
            They must sum to n_tokens.

        Returns
        -------
        SequenceArray

        Raises
        ------
        ValueError
            If a length is negative, or they do not sum to n_tokens.

        Examples
        --------
        >>> SequenceArray.from_lengths(np.arange(3), [1, 2]).tolist()
        [[0], [1, 2]]
        """
        lengths = as_integers(lengths, "lengths")
        if (lengths < 0).any():
            raise ValueError(f"lengths[{int(np.argmax(lengths < 0))}] is negative")
        if lengths.sum() != data.shape[0]:
            raise ValueError(f"lengths sum to {lengths.sum()}, but data has {data.shape[0]} tokens")
        return cls(data, np.append(0, np.cumsum(lengths)))

    @classmethod
    def from_sequences(cls, sequences: Iterable[Any]) -> "SequenceArray":
        """Join a list of sequences, whose tokens are symbols, labels, dicts or rows.

        Parameters
        ----------
        sequences : iterable of sequences
            Two-dimensional arrays and sparse matrices are stacked; everything else becomes a
            one-dimensional object array.

        Returns
        -------
        SequenceArray

        Raises
        ------
        ValueError
            If an item is not a sequence, or the numbers of attributes differ.

        Examples
        --------
        >>> SequenceArray.from_sequences([["a"], [], ["b", "c"]]).lengths
        array([1, 0, 2])
        """
        return join_sequences(sequences, "sequences")

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each sequence, int64 of shape (n_sequences,)."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n_sequences, n_attributes)``, or ``(n_sequences,)`` for one-dimensional data."""
        return (len(self), *self.data.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of dimensions of ``shape``."""
        return len(self.shape)

    @property
    def kind(self) -> str:
        """What each token is, as a word.

        "words" for one symbol or label, "dicts" for feature dicts, "columns" for columns of
        symbols, "numbers" for rows of numbers, and "attributes" for rows of a sparse matrix. Of
        several tokens the first one decides.

        Examples
        --------
        >>> SequenceArray.from_sequences([[{"word": "the"}], []]).kind
        'dicts'
        """
        data = self.data
        if not isinstance(data, np.ndarray):
            return "attributes" if sp.issparse(data) else "columns"
        if data.ndim == 1:
            return "dicts" if len(data) and isinstance(data[0], Mapping) else "words"
        first = () if data.dtype.kind in "biuf" else data[:1].ravel()
        return "columns" if any(isinstance(value, str) for value in first) else "numbers"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Any]:
        for start, stop in pairwise(self.offsets.tolist()):
            yield self.data[start:stop]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):  # scikit-learn asks for X[rows, ...]
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("a SequenceArray is indexed by sequence only")
            key = key[0]
        if isinstance(key, Integral):
            i = range(len(self))[key]
            return self.data[self.offsets[i] : self.offsets[i + 1]]
        if isinstance(key, slice) and key.step in (None, 1):  # a view
            first, last, _ = key.indices(len(self))
            offsets = self.offsets[first : max(first, last) + 1]
            return SequenceArray(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])
        chosen = np.arange(len(self))[key]
        if chosen.ndim != 1:
            raise IndexError("a SequenceArray is indexed by one integer, a slice or a 1-D array")
        lengths = self.lengths[chosen]
        offsets = np.append(0, np.cumsum(lengths))
        rows = joined_ranges(self.offsets[chosen], lengths)
        return SequenceArray(self.data[rows], offsets)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return object_array(list(self))

    def __array_function__(self, func, types, args, kwargs):
        if func is np.hstack:
            axis = min(1, self.ndim - 1)
        elif func is np.concatenate:
            axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
        else:
            return NotImplemented
        return self._concatenated(list(args[0]), normalize_axis_index(axis, self.ndim))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequenceArray):
            return NotImplemented
        return (
            self.shape == other.shape
            and np.array_equal(self.offsets, other.offsets)
            and same_rows(self.data, other.data)
        )

    def __repr__(self) -> str:
        return f"<SequenceArray of {len(self)} sequences, {self.data.shape[0]} tokens>"

    def __reduce__(self):
        return SequenceArray, (self.data, self.offsets)

    def copy(self) -> "SequenceArray":
        """Return a copy that shares no memory with the original."""
        return SequenceArray(self.data.copy(), self.offsets.copy())

    def with_data(self, data: Any) -> "SequenceArray":
        """Return the same sequences with other data.

        Parameters
        ----------
        data : ndarray, CSR or SymbolTable with n_tokens rows
            What replaces the data, such as labels of the same tokens.

        Returns
        -------
        SequenceArray
            Of the same class.

        Examples
        --------
        >>> X = SequenceArray.from_sequences([["the", "dog"], ["barks"]])
        >>> X.with_data(np.array([3, 3, 5])).tolist()
        [[3, 3], [5]]
        """
        return SequenceArray(data, self.offsets)

    def checked(self, name: str) -> "SequenceArray":
        """Return the array, checked again: its arrays may have been changed since it was made.

        Parameters
        ----------
        name : str
            Name of the array in error messages.

        Returns
        -------
        SequenceArray
            The array itself, or one with a sound copy of sparse data.

        Raises
        ------
        ValueError
            As of the constructor.

        Examples
        --------
        >>> X = SequenceArray.from_sequences([["the", "dog"], ["barks"]])
        >>> X.checked("X") is X
        True
        """
        offsets = checked_offsets(self.offsets, self.data.shape[0])
        data = sound_rows(self.data, offsets, name)
        return self if data is self.data else SequenceArray._of(data, offsets)

    @staticmethod
    def _concatenated(parts: list, axis: int) -> "SequenceArray":
        """Return the sequences of all parts, or with axis 1 their attributes, beside each other."""
        if not all(isinstance(part, SequenceArray) for part in parts):
            raise TypeError(
                "a SequenceArray can be joined only with another SequenceArray; "
                "beside other transformers, TokenFeatures([]) passes on what 'passthrough' would"
            )
        first = parts[0]
        data = join_rows([part.data for part in parts], axis)
        if axis == 0:
            lengths = np.concatenate([part.lengths for part in parts])
            return SequenceArray.from_lengths(data, lengths)
        if any(not np.array_equal(part.offsets, first.offsets) for part in parts):
            raise ValueError("attributes can be joined only if the sequences have the same lengths")
        return SequenceArray(data, first.offsets)

    def tolist(self) -> list:
        """Return a list of sequences: lists of symbols or labels, or arrays of rows."""
        if isinstance(self.data, np.ndarray) and self.ndim == 1:
            tokens = self.data.tolist()
            return [tokens[start:stop] for start, stop in pairwise(self.offsets.tolist())]
        return list(self)


def checked_offsets(
    offsets: Any, n_items: int, name: str = "offsets", items: str = "tokens"
) -> np.ndarray:
    """Return offsets as int64; ValueError unless they are of ``n_items`` tokens or edges."""
    offsets = as_integers(offsets, name)
    if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0:
        raise ValueError(f"{name} must be one-dimensional and start at 0")
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"{name} must not decrease")
    if offsets[-1] != n_items:
        raise ValueError(f"{name} end at {offsets[-1]}, but data has {n_items} {items}")
    return offsets


def sound_rows(data: Any, offsets: np.ndarray, name: str) -> Any:
    """Return the data of all tokens; sparse data is checked and gets sound rows.

    ``name`` is the name of the data in an error message.
    """

    if not sp.issparse(data):
        return data
    return sound_csr(data, name, lambda token: token_name(name, offsets, token))


def joined_ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenate the ranges ``start, start + 1, ...`` with these starts and lengths."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def longest_first(offsets: np.ndarray) -> np.ndarray:
    """Return the order of the sequences by decreasing length; equal lengths keep their order."""
    return np.argsort(-np.diff(offsets), kind="stable")


def locate(offsets: np.ndarray, token: int) -> tuple[int, int]:
    """Find the sequence of token number ``token``, and its position there, for an error message."""
    sequence = int(np.searchsorted(offsets, token, side="right")) - 1
    return sequence, int(token - offsets[sequence])


def token_name(
    name: str, offsets: np.ndarray, token: int, unit: str = "sequence", item: str = "position"
) -> str:
    """Name a token, or another item, in an error message: "X, sequence 1, position 2"."""
    number, position = locate(offsets, token)
    return f"{name}, {unit} {number}, {item} {position}"


def join_sequences(sequences: Iterable[Any], name: str) -> SequenceArray:
    """Sequences of any kind as one array; ``name`` is their name in an error message."""
    if isinstance(sequences, SequenceArray):
        checked_offsets(sequences.offsets, sequences.data.shape[0])
        return sequences
    try:
        sequences = list(without_arrow(sequences))
    except TypeError:
        kind = type(sequences).__name__
        raise ValueError(f"{name} must be a list of sequences, but is of type {kind}") from None
    # There may be a million lists: what they need not be asked takes longer than to join them.
    are_lists = set(map(type, sequences)) <= {list, tuple}
    lengths: list[Any] = list(map(len if are_lists else n_tokens, sequences))
    if None in lengths:
        i = lengths.index(None)
        is_text = isinstance(sequences[i], str)
        hint = f"; split it, for example by [text.split() for text in {name}]" if is_text else ""
        raise ValueError(
            f"{name}, sequence {i}: it must be a list of tokens or labels, or an array, "
            f"but is of type {type(sequences[i]).__name__}{hint}"
        )
    offsets = np.append(0, np.cumsum(lengths, dtype=np.int64))
    if not are_lists and any(_n_dimensions(s) > 1 for s in sequences):
        data = sound_rows(_stack_rows(sequences, name), offsets, name)
    elif not are_lists and _have_one_kind(sequences):
        data = np.concatenate(sequences).astype(object)
    else:
        data = np.fromiter(chain.from_iterable(sequences), dtype=object, count=offsets[-1])
    return SequenceArray._of(data, offsets)


def without_arrow(values: Any) -> Any:
    """Return an array of pyarrow, or a Series of polars, as a list; anything else as it is."""
    if hasattr(values, "iloc") or hasattr(values, "schema"):  # frames
        return values
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    return values.to_list() if hasattr(values, "__arrow_c_stream__") else values


def n_tokens(s: Any) -> int | None:
    """Return the length of a sequence; None if ``s`` is not a sequence."""
    if isinstance(s, (list, tuple)):
        return len(s)
    if hasattr(s, "shape"):  # before Mapping: a dok_matrix is a dict too
        return s.shape[0] if s.shape else None
    if isinstance(s, (str, bytes, Mapping, Set)):
        return None
    return len(s) if hasattr(s, "__len__") else None


def object_array(items: Collection) -> np.ndarray:
    """Put any items into a one-dimensional array."""
    # np.array would make a 2-D array of sequences that happen to be equally long.
    return np.fromiter(items, dtype=object, count=len(items))


def _n_dimensions(s: Any) -> int:
    return getattr(s, "ndim", 1)


def _have_one_kind(sequences: list) -> bool:
    """Say whether all are arrays of strings, or of integers, so that they can be concatenated."""
    kinds = {s.dtype.kind if isinstance(s, np.ndarray) else "O" for s in sequences}
    return len(kinds) == 1 and kinds <= {*"biuUS"}


def as_integers(values: Any, name: str) -> np.ndarray:
    """Return an int64 array; ValueError for values of another type."""
    values = np.asarray(values)
    if values.size and values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, not of type {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.int64)


def _stack_rows(sequences: list, name: str) -> Any:
    rows = []
    for i, s in enumerate(sequences):
        if _n_dimensions(s) == 2:
            if hasattr(s, "iloc") and any(dtype.kind not in "biuf" for dtype in s.dtypes):
                raise ValueError(
                    f"{name}, sequence {i}: it is a DataFrame with columns that are not numbers; "
                    f"join all to one DataFrame, pandas.concat({name}, keys=range(len({name})))"
                )
            rows.append(stackable(s, f"{name}, sequence {i}") if sp.issparse(s) else s)
            if s.shape[1] != rows[0].shape[1]:
                raise ValueError(
                    f"{name}, sequence {i}: it has {s.shape[1]} attributes, "
                    f"but the sequences before it have {rows[0].shape[1]}"
                )
        elif len(s) or _n_dimensions(s) > 2:
            raise ValueError(f"{name}, sequence {i}: it must be a 2-D array, like other sequences")
    return join_rows(rows, axis=0)


def join_rows(pieces: list, axis: int) -> Any:
    """Data of tokens below each other, or with axis 1 beside each other."""
    sparse = any(sp.issparse(p) for p in pieces)
    if sparse and all(sp.issparse(p) or isinstance(p, np.ndarray) for p in pieces):
        if axis == 0:
            return stacked([sp.csr_array(p) if isinstance(p, np.ndarray) else p for p in pieces])
        return sp.hstack(pieces, format="csr")
    return np.concatenate(pieces, axis=axis)


def same_rows(a: Any, b: Any) -> bool:
    """Say whether data of the same shape is equal."""
    if sp.issparse(a) and sp.issparse(b):
        return (a != b).nnz == 0
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return type(a) is type(b) and a == b
