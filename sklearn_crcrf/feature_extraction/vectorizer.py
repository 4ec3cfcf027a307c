"""From tokens to rows of a sparse matrix."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_scalar

from .._kernels.sparse.columns import some_entries
from .._kernels.sparse.keys import distinct_codes
from .._kernels.text.tokens import number_attributes
from ..data.ones import shared_ones
from ..data.ragged import SequenceArray, token_name
from ..data.sequences import as_sequences
from ..data.symbols import SymbolTable, require_symbols, warn_of_empty_tokens
from ..data.vocabulary import Vocabulary
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Fact, Requirement
from ._base import SequenceTransformer, as_symbols, is_frame


class Attributes(NamedTuple):
    """The attributes of all tokens; token i has attributes ``ids[starts[i]:starts[i + 1]]``."""

    ids: np.ndarray
    values: np.ndarray | None  # if not all of them are 1
    starts: np.ndarray


@dataclass(eq=False, repr=False)
class SequenceVectorizer(SequenceTransformer):
    """Turn the attributes of every token into a row of a sparse matrix.

    Attributes are numbered in the order of their first occurrence; for columns of symbols, column
    by column. Attributes that were not seen in fit are left out in transform.

    Parameters
    ----------
    min_freq : int, default=1
        Leave out attributes that occur fewer times, at least 1.
    dtype : dtype, default=numpy.float64
        Type of the values.
    separator : str, default="="
        Stands between a key, or the name of a column, and a string or symbol.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The attributes, by number.

    See Also
    --------
    TokenFeatures : Columns that describe the spelling of tokens.
    Window : Columns of neighbouring tokens.

    Notes
    -----
    The attributes of a token are:

    - of a string: the string, with value 1; of a list of strings: each of them;
    - of a feature dict: ``"key=value"`` with value 1 for a string; ``"key"`` with the value of a
      number, or 1 or 0 for a bool; ``"key:item"`` with value 1 for each item of a list, tuple or
      set of strings; and the attributes of a nested dict, with the prefix ``"key:"``;
    - in columns of symbols (a SequenceArray of a SymbolTable, or a DataFrame):
      ``"name=symbol"`` with value 1; in numeric columns next to them ``"name"`` with the number.

    The values of an attribute that a token has several times are added.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import SequenceVectorizer
    >>> vectorizer = SequenceVectorizer()
    >>> X = vectorizer.fit_transform([[{"word": "a", "title": True}, {"word": "b", "length": 3}]])
    >>> vectorizer.get_feature_names_out()
    array(['word=a', 'title', 'word=b', 'length'], dtype=object)
    >>> X[0].toarray()
    array([[1., 1., 0., 0.],
           [0., 0., 1., 3.]])
    """

    min_freq: int = 1
    dtype: Any = np.float64
    separator: str = "="

    def fit(self, X: Any, y: Any = None) -> "SequenceVectorizer":
        """Number all attributes that occur.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        self
        """
        self._learn(_read(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> SequenceArray:
        """Collect the attributes and transform X, in one pass.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        SequenceArray of CSR of shape (n_tokens, n_attributes)
        """
        return self._output(with_own_values(rows_of(self, _read(X), learn=True)), X)

    def transform(self, X: Any) -> SequenceArray:
        """Turn tokens into rows.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.

        Returns
        -------
        SequenceArray of CSR of shape (n_tokens, n_attributes)
            The indices of every row are sorted and differ.

        Raises
        ------
        ValueError
            If a token or value is None, NaN or of any kind not described in the Notes; the
            message names the sequence and the position.
        """
        check_fitted(self)
        return self._output(with_own_values(rows_of(self, _read(X))), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the attributes, in the order of the columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects of shape (n_attributes,)
        """
        check_fitted(self)
        return np.array(self.vocabulary_.symbols, dtype=object)

    def _requirements(self) -> Iterator[Requirement]:
        is_vocabulary = isinstance(self.vocabulary_, Vocabulary)
        yield Fact("vocabulary_", is_vocabulary, "must be a Vocabulary")
        yield Fact("separator", isinstance(self.separator, str), "must be a str")
        yield Fact("dtype", self._is_of_numbers(), f"must be a type of numbers: {self.dtype!r}")

    def _is_of_numbers(self) -> bool:
        try:  # SciPy has no sums of half precision
            return np.dtype(self.dtype).kind in "biuf" and np.dtype(self.dtype) != np.float16
        except TypeError:
            return False

    def _learn(self, X: SequenceArray, lists: bool = False) -> Attributes:
        """Number all attributes that occur often enough; ``lists`` is as of read_attributes."""
        check_scalar(self.min_freq, "min_freq", Integral, min_val=1)
        if not isinstance(self.separator, str):
            raise ValueError(f"separator must be a str, got {self.separator!r}")
        if not self._is_of_numbers():
            raise ValueError(f"dtype must be a type of numbers, got {self.dtype!r}")
        vocabulary = Vocabulary()
        attributes = read_attributes(X, vocabulary, self.separator, learn=True, lists=lists)
        warn_of_empty_tokens(X)
        if self.min_freq > 1:
            counts = np.bincount(attributes.ids[attributes.ids >= 0], minlength=len(vocabulary))
            kept = np.flatnonzero(counts >= self.min_freq)
            symbols = vocabulary.symbols
            vocabulary = Vocabulary([symbols[i] for i in kept])
            renumbered = np.full(len(symbols) + 1, -1, dtype=np.int32)
            renumbered[kept] = np.arange(len(kept))
            attributes = attributes._replace(ids=renumbered[attributes.ids])
        self.vocabulary_ = vocabulary
        return attributes


def _read(X: Any) -> SequenceArray:
    return as_symbols(X) if is_frame(X) else as_sequences(X).X


def rows_of(
    vectorizer: Any, X: SequenceArray, learn: bool = False, lists: bool = False
) -> SequenceArray:
    """Turn tokens that have been read into rows, with the attributes that are known or occur.

    With ``lists`` tokens are as CRFsuite takes them: lists of attributes, and bytes. Values that
    are all 1 are shared, and cannot be changed.
    """
    if learn:
        ids, values, starts = vectorizer._learn(X, lists)
    else:
        vocabulary = vectorizer.vocabulary_
        ids, values, starts = read_attributes(X, vocabulary, vectorizer.separator, lists=lists)
    n_attributes = len(vectorizer.vocabulary_)
    return X.with_data(
        matrix_of(Attributes(ids, values, starts), n_attributes, vectorizer.dtype, X.offsets)
    )


def matrix_of(
    attributes: Attributes, n_attributes: int, dtype: Any, offsets: np.ndarray
) -> sp.csr_matrix:
    """Make a matrix of the known attributes of tokens; ``offsets`` are as of a SequenceArray."""
    (ids, values, starts), dtype = attributes, np.dtype(dtype)
    numbers = np.ones(len(ids), np.int8) if values is None else values
    if (ids < 0).any():
        numbers, ids, starts = some_entries(starts, ids, numbers)
    if values is not None:
        numbers = _as_type(numbers, dtype, starts, offsets)
    matrix = sp.csr_matrix((numbers, ids, starts), shape=(len(starts) - 1, n_attributes))
    if values is None:
        matrix.sort_indices()
        is_set = matrix.has_canonical_format
        matrix.data = shared_ones(len(ids), dtype) if is_set else np.ones(len(ids), dtype)
    matrix.sum_duplicates()
    return matrix


def with_own_values(rows: SequenceArray) -> SequenceArray:
    """Let rows share no values with other matrices."""
    rows.data.data = np.require(rows.data.data, requirements="W")
    return rows


def _as_type(
    values: np.ndarray, dtype: np.dtype, starts: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Convert the values of tokens, which must not be too large."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            return np.require(values, dtype, ["C_CONTIGUOUS", "WRITEABLE"])
    except FloatingPointError:
        largest = np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max
        at = int(np.argmax(np.abs(values) > largest))
        where = token_name("X", offsets, int(np.searchsorted(starts, at, side="right")) - 1)
        raise ValueError(f"{where}: {values[at]} is too large for {dtype}") from None


def read_attributes(
    X: SequenceArray,
    vocabulary: Vocabulary,
    separator: str,
    learn: bool = False,
    lists: bool = False,
) -> Attributes:
    """Number the attributes of X; with ``learn`` all, else those of the vocabulary, and -1.

    The separator stands between key and value.
    """
    number = vocabulary.add if learn else vocabulary.lookup
    data, offsets = X.data, X.offsets
    require_symbols(data)
    if isinstance(data, SymbolTable):
        return _read_columns(data, number, separator)
    tokens = (data.astype(str) if data.dtype.kind in "biu" else data).tolist()
    if set(map(type, tokens)) <= {str}:
        ids = number(tokens)
        return Attributes(ids, None, np.arange(len(ids) + 1))
    where = partial(token_name, "X", offsets)
    return Attributes(*number_attributes(tokens, separator, vocabulary._table, learn, where, lists))


def _read_columns(table: SymbolTable, number: Callable, separator: str) -> Attributes:
    ids = np.empty(table.shape[::-1], dtype=np.int32)
    values = np.ones(table.shape) if table.numbers else None
    for j, codes in enumerate(table.codes.T):
        occurring = distinct_codes(codes)
        id_of_code = np.full(codes.max(initial=-1) + 2, -1, dtype=np.int32)  # last: for code -1
        if table.names[j] in table.numbers:
            id_of_code[occurring] = number([table.keys[j]])[0]
            numbers = np.append(table.categories[j].astype(float), 0.0)  # last: for code -1
            if not np.isfinite(numbers).all():
                raise ValueError(f"X, column {table.names[j]!r}: infinite values")
            values[:, j] = numbers[codes]  # type: ignore[index]  # there are numbers
        else:
            id_of_code[occurring] = number(table.attributes(j, occurring, separator))
        np.take(id_of_code, codes, out=ids[j], mode="wrap")
    ids, starts = ids.T.ravel(), np.arange(len(table) + 1) * len(ids)
    return Attributes(ids, None if values is None else values.ravel(), starts)
