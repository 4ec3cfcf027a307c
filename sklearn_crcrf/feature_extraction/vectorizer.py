"""From tokens to rows of a sparse matrix."""

from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from ..sequences import SequenceArray, as_sequences
from ..symbols import SymbolTable, invalid_token
from ..vocabulary import Vocabulary
from ._base import SequenceTransformer, as_symbols

__all__ = ["SequenceVectorizer"]


class SequenceVectorizer(SequenceTransformer):
    """Turn the attributes of every token into a row of a sparse matrix.

    Attributes are numbered in the order of their first occurrence; those of columns of symbols
    column by column. What was not seen in fit is left out in transform.

    Parameters
    ----------
    min_freq : int, default=1
        Leave out attributes that occur fewer times, at least 1.
    dtype : dtype, default=numpy.float64
        Type of the values.

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
      set of strings; and what a nested dict has, with ``"key:"`` before it;
    - in columns of symbols (a SequenceArray of a SymbolTable, or a DataFrame):
      ``"name=symbol"`` with value 1.

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

    def __init__(self, min_freq: int = 1, dtype: Any = np.float64):
        self.min_freq = min_freq
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> "SequenceVectorizer":
        """Collect the attributes.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        self
        """
        self._fit_encoded(X)
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
        encoded = self._fit_encoded(X)
        return self._output(self._rows(encoded), X)

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
            If a token or value is None, NaN or of another kind than described; the message
            names the sequence and the position.
        """
        check_is_fitted(self)
        return self._output(self._rows(_encode(X, self.vocabulary_.lookup)), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The attributes, in the order of the columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects of shape (n_attributes,)
        """
        check_is_fitted(self)
        return np.array(self.vocabulary_.symbols, dtype=object)

    def _fit_encoded(self, X: Any) -> "_Encoded":
        check_scalar(self.min_freq, "min_freq", Integral, min_val=1)
        vocabulary = Vocabulary()
        encoded = _encode(X, vocabulary.add)
        frequent = np.bincount(encoded.ids[encoded.ids >= 0], minlength=len(vocabulary))
        kept = np.flatnonzero(frequent >= self.min_freq)
        if len(kept) < len(vocabulary):
            symbols = vocabulary.symbols
            vocabulary = Vocabulary([symbols[i] for i in kept])
            renumbered = np.full(len(symbols) + 1, -1, dtype=np.int32)
            renumbered[kept] = np.arange(len(kept))
            encoded = encoded._replace(ids=renumbered[encoded.ids])
        self.vocabulary_ = vocabulary
        return encoded

    def _rows(self, encoded: "_Encoded") -> SequenceArray:
        known = encoded.ids >= 0
        starts = np.concatenate([[0], np.cumsum(known)])[encoded.starts]
        values = np.asarray(encoded.values, dtype=self.dtype)[known]
        shape = (len(starts) - 1, len(self.vocabulary_))
        rows = sp.csr_matrix((values, encoded.ids[known], starts), shape=shape)
        rows.sum_duplicates()
        return SequenceArray(rows, encoded.offsets)


class _Encoded(NamedTuple):
    """The attributes of all tokens: those of token i are ``ids[starts[i]:starts[i + 1]]``."""

    ids: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray


def _encode(X: Any, number: Callable) -> _Encoded:
    """Number the attributes of X; ``number`` turns strings into ids, -1 for those unknown."""
    sequences = as_symbols(X) if hasattr(X, "iloc") else as_sequences(X).X
    if isinstance(sequences.data, SymbolTable):
        ids = _table_ids(sequences.data, number)
        values, starts = np.ones(ids.size), np.arange(len(ids) + 1) * ids.shape[1]
        return _Encoded(ids.ravel(), values, starts, sequences.offsets)
    names, values, starts = _attributes(sequences)
    return _Encoded(number(names), values, starts, sequences.offsets)


def _table_ids(table: SymbolTable, number: Callable) -> np.ndarray:
    ids = np.empty(table.shape, dtype=np.int32)
    for j, (name, symbols) in enumerate(zip(table.names, table.categories, strict=True)):
        codes = table.codes[:, j]
        occurring = _first_occurrences(codes, len(symbols))
        of_code = np.full(len(symbols) + 1, -1, dtype=np.int32)
        of_code[occurring] = number([f"{name}={s}" for s in symbols[occurring]])
        ids[:, j] = of_code[codes]
    return ids


def _first_occurrences(codes: np.ndarray, n_symbols: int) -> np.ndarray:
    """The codes that occur, without -1, in the order in which they do so first."""
    first = np.full(n_symbols + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of repeated codes, the last one stays
    occurring = np.flatnonzero(first[:-1] < len(codes))
    return occurring[np.argsort(first[occurring])]


def _attributes(sequences: SequenceArray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The attributes of all tokens in one list, their values, and where each token starts."""
    data = sequences.data
    if getattr(data, "ndim", 2) != 1 or data.dtype.kind not in "OUbiu":
        raise ValueError(
            "X must hold token strings, feature dicts or columns of symbols, "
            f"but its data is of shape {data.shape} and type {data.dtype}"
        )
    tokens = (data.astype(str) if data.dtype.kind in "biu" else data).tolist()
    if set(map(type, tokens)) <= {str}:
        return tokens, np.ones(len(tokens)), np.arange(len(tokens) + 1)
    names, values, starts = [], [], [0]
    try:
        for token in tokens:
            if isinstance(token, str):
                names.append(token)
                values.append(1.0)
            elif isinstance(token, Mapping):
                _append_items(token, "", names, values)
            else:
                raise _InvalidValue("the token must be a str or a dict", token)
            starts.append(len(names))
    except _InvalidValue as error:
        what, value = error.args
        raise invalid_token(what, sequences.offsets, len(starts) - 1, value) from None
    return names, np.array(values, dtype=np.float64), np.array(starts)


def _append_items(items: Mapping, prefix: str, names: list[str], values: list[float]) -> None:
    """Append the attributes of one feature dict."""
    for key, value in items.items():
        if not isinstance(key, str):
            raise _InvalidValue("a key of a feature dict must be a str", key)
        if isinstance(value, str):
            names.append(f"{prefix}{key}={value}")
            values.append(1.0)
        elif isinstance(value, (Real, np.bool_)) and isfinite(value):
            names.append(prefix + key)
            values.append(value)
        elif isinstance(value, Mapping):
            _append_items(value, f"{prefix}{key}:", names, values)
        elif isinstance(value, (list, tuple, set, frozenset)):
            for item in value:
                if not isinstance(item, str):
                    raise _InvalidValue(f"the items of {prefix + key!r} must be str", item)
            # The order of a set differs from run to run.
            ordered = sorted(value) if isinstance(value, (set, frozenset)) else value
            names += [f"{prefix}{key}:{item}" for item in ordered]
            values += [1.0] * len(value)
        else:
            what = f"the value of {prefix + key!r} must be a str, finite number, dict or list"
            raise _InvalidValue(what, value)


class _InvalidValue(Exception):
    """What is wanted, and what is there instead; where, is not known yet."""
