"""Attributes of tokens, of whatever input, as the columns of one matrix."""

from collections.abc import Collection
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._names import packed, unpacked
from ..feature_extraction import SequenceVectorizer
from ..sequences import SequenceArray
from ..symbols import SymbolTable
from ..vocabulary import Vocabulary

__all__ = ["AttributeEncoder"]

Matrix = sp.csr_array | np.ndarray


class AttributeEncoder:
    """Numbers are attributes as they are; symbols and feature dicts are made into attributes.

    Parameters
    ----------
    min_freq : int
        Attributes of fewer tokens are left out.
    dtype : dtype or None
        Type of the attributes; by default that of X, or float64.
    edge_columns : sequence of str or int
        Columns of X, or keys of feature dicts, on which transitions depend too; token strings
        are one column, "token". On columns of symbols that describe transitions, they depend
        anyway.

    Attributes
    ----------
    names : ndarray of str objects of shape (n_attributes,)
    edge_attributes : ndarray of int
        Those on which transitions depend.
    only_edges : ndarray of int
        Those of the former that do not belong to labels as well.
    """

    def __init__(self, min_freq: int, dtype: Any, edge_columns: Collection[str | int]):
        self._min_freq, self._edge_columns = min_freq, list(edge_columns)
        self._dtype = None if dtype is None else np.dtype(dtype).name

    def __getstate__(self) -> dict[str, Any]:
        return packed(vars(self), "names")

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(unpacked(state, "names"))

    def fit_transform(self, X: SequenceArray, extend: bool = False) -> Matrix:
        """Learn which attributes there are, and encode those of all tokens.

        Parameters
        ----------
        X : SequenceArray
        extend : bool
            Whether the attributes that were learned before stay.
        """
        if extend:
            return self._extend(X)
        self._vectorizer, self._kept, self._keys = None, None, set()
        self.only_edges = np.empty(0, dtype=np.int64)
        if _is_numeric(X.data):
            columns = np.arange(X.data.shape[1])
            if self._min_freq > 1:
                self._kept = columns = columns[_frequencies(X.data) >= self._min_freq]
            self.names = np.array([f"x{j}" for j in columns], dtype=object)
            wanted = np.isin(columns, self._edge_columns)
            self.edge_attributes = np.flatnonzero(wanted)
            encoded = self.transform(X)
        else:
            self._dtype = self._dtype or "float64"
            self._has_columns = not _is_strings(X.data)
            self._vectorizer = SequenceVectorizer(self._min_freq, self._dtype)
            encoded = _as_csr(self._vectorizer.fit_transform(X).data)
            self._set_names(X)
        if len(self._edge_columns) and not len(self.edge_attributes):
            raise ValueError(f"edge_columns={self._edge_columns!r}: X has no such columns")
        return encoded

    def _extend(self, X: SequenceArray) -> Matrix:
        if self._vectorizer is not None:
            new = SequenceVectorizer(dtype=self._dtype).fit(X).vocabulary_
            known = dict.fromkeys([*self._vectorizer.vocabulary_.symbols, *new.symbols])
            self._vectorizer = copy(self._vectorizer)
            self._vectorizer.vocabulary_ = Vocabulary(list(known))
            self._set_names(X)
        return self.transform(X)

    def _set_names(self, X: SequenceArray) -> None:
        self.names = self._vectorizer.get_feature_names_out()
        self._keys = self._keys | _keys_of_edges(X.data)
        only_edges = _in_columns(self.names, self._keys)
        wanted = _in_columns(self.names, self._edge_columns)
        if not self._has_columns:
            wanted = np.full(len(self.names), "token" in self._edge_columns)
        self.only_edges = np.flatnonzero(only_edges)
        self.edge_attributes = np.flatnonzero(wanted | only_edges)

    def transform(self, X: SequenceArray) -> Matrix:
        """Encode the attributes of all tokens; those that are not known are left out.

        Returns
        -------
        ndarray or CSR of shape (n_tokens, n_attributes)
        """
        if self._vectorizer is not None:
            return _as_csr(self._vectorizer.transform(X).data)
        if not _is_numeric(X.data):
            raise ValueError("X must be numeric, as it was in fit")
        data = X.data if self._kept is None else X.data[:, self._kept]
        dtype = np.dtype(self._dtype or (data.dtype if data.dtype.kind == "f" else float))
        dtype = dtype if dtype.itemsize == 4 else np.dtype(float)
        if sp.issparse(data):
            return _as_csr(data.astype(dtype, copy=False))
        return np.ascontiguousarray(data, dtype=dtype)


def _is_numeric(data: Any) -> bool:
    return sp.issparse(data) or (isinstance(data, np.ndarray) and data.ndim == 2)


def _as_csr(data: Any) -> sp.csr_array:
    return sp.csr_array(data)


def _frequencies(data: Any) -> np.ndarray:
    """How many tokens have each attribute."""
    return np.asarray((data != 0).sum(axis=0)).ravel()


def _is_strings(data: Any) -> bool:
    return isinstance(data, np.ndarray) and len(data) > 0 and isinstance(data[0], str)


def _keys_of_edges(data: Any) -> set[str]:
    """What the attributes of columns that describe transitions begin with."""
    if not isinstance(data, SymbolTable):
        return set()
    return {key for name, key in zip(data.names, data.keys, strict=True) if name in data.edges}


def _in_columns(names: np.ndarray, columns: Collection[str | int]) -> np.ndarray:
    """Which attributes were made from one of the keys of feature dicts, or columns."""
    keys = {column for column in columns if isinstance(column, str)}
    if not keys:
        return np.zeros(len(names), dtype=bool)
    starts = tuple(f"{key}=" for key in keys)
    return np.array([name in keys or name.startswith(starts) for name in names], dtype=bool)
