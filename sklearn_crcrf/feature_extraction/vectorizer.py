"""From tokens to rows of a sparse matrix."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_scalar

from .._kernels.sparse.columns import some_entries
from ..data.ragged import SequenceArray, token_name
from ..data.sequences import as_sequences
from ..data.symbols import warn_of_empty_tokens
from ..data.vocabulary import Vocabulary
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Fact, Requirement
from ._attributes import Attributes, read_attributes
from ._base import SequenceTransformer, as_symbols, is_frame


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

    - of a string: the string, with value 1;
    - of a feature dict: ``"key=value"`` with value 1 for a string; ``"key"`` with the value of a
      number, or 1 or 0 for a bool; ``"key:item"`` with value 1 for each item of a list, tuple or
      set of strings; and the attributes of a nested dict, with the prefix ``"key:"``;
    - in columns of symbols (a SequenceArray of a SymbolTable, or a DataFrame):
      ``"name=symbol"`` with value 1; in numeric columns beside them ``"name"`` with the number.

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

    def __init__(self, min_freq: int = 1, dtype: Any = np.float64, separator: str = "="):
        self.min_freq = min_freq
        self.dtype = dtype
        self.separator = separator

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
        return self._output(rows_of(self, _read(X), learn=True), X)

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
        return self._output(rows_of(self, _read(X)), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The attributes, in the order of the columns.

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

    def _learn(self, X: SequenceArray) -> Attributes:
        """Number all attributes that occur often enough."""
        check_scalar(self.min_freq, "min_freq", Integral, min_val=1)
        if not isinstance(self.separator, str):
            raise ValueError(f"separator must be a str, got {self.separator!r}")
        if not self._is_of_numbers():
            raise ValueError(f"dtype must be a type of numbers, got {self.dtype!r}")
        vocabulary = Vocabulary()
        attributes = read_attributes(X, vocabulary.add, self.separator)
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


def rows_of(vectorizer: Any, X: SequenceArray, learn: bool = False) -> SequenceArray:
    """Turn tokens that have been read into rows, with the attributes that are known or occur."""
    if learn:
        ids, values, starts = vectorizer._learn(X)
    else:
        vocabulary = vectorizer.vocabulary_
        ids, values, starts = read_attributes(X, vocabulary.lookup, vectorizer.separator)
    if (ids < 0).any():
        values, ids, starts = some_entries(starts, ids, np.ascontiguousarray(values))
    dtype = np.dtype(vectorizer.dtype)
    try:
        with np.errstate(over="raise", invalid="raise"):
            numbers = np.require(values, dtype, ["C_CONTIGUOUS", "WRITEABLE"])
    except FloatingPointError:
        largest = np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max
        at = int(np.argmax(np.abs(values) > largest))
        token = int(np.searchsorted(starts, at, side="right")) - 1
        where = token_name("X", X.offsets, token)
        raise ValueError(f"{where}: {values[at]} is too large for {dtype}") from None
    shape = (len(starts) - 1, len(vectorizer.vocabulary_))
    # SequenceArray sorts the ids of a row, and adds the values of one that occurs twice
    return X.with_data(sp.csr_matrix((numbers, ids, starts), shape=shape))
