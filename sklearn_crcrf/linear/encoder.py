"""Any input encoded as one matrix, whose columns are the attributes of tokens."""

from collections.abc import Collection, Iterator
from copy import copy
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..data.numbers import as_numbers
from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable
from ..data.vocabulary import Vocabulary, packed, unpacked
from ..feature_extraction.vectorizer import SequenceVectorizer, rows_of, with_own_values
from ..utils.names import check_no_string, shown
from ..utils.soundness import Array, Fact, Requirement, below, indices
from ..utils.warning import warn_caller
from .edge_data import EdgeEncoder

Matrix: TypeAlias = sp.csr_array | np.ndarray


class AttributeEncoder:
    """Encodes tokens as rows of attributes.

    Numeric columns are attributes as they are. For symbols, token strings and feature dicts, a
    vocabulary of attributes is learned. The edge data of a GraphArray makes the last attributes, on
    which transitions alone depend.

    Parameters
    ----------
    min_freq : int
        Attributes that fewer tokens have are left out.
    dtype : dtype or None
        Type of the attributes; by default the type of X if it is floating-point, else float64.
    edge_columns : sequence of str or int
        Columns of X, or keys of feature dicts, on which transitions depend too; token strings
        are one column, "token". Transitions always depend on the columns of symbols that
        describe transitions.

    Attributes
    ----------
    names : ndarray of str objects of shape (n_attributes,)
    edge_attributes : ndarray of int
        The attributes on which transitions depend.
    only_edges : ndarray of int
        The attributes in ``edge_attributes`` that only transitions depend on, not labels.
    has_columns : bool
        Whether attribute names begin with the name of a column; False if tokens are strings.
    """

    def __init__(self, min_freq: int, dtype: Any, edge_columns: Collection[str | int]):
        check_no_string(edge_columns, "edge_columns")
        self._min_freq, self._edge_columns = min_freq, list(edge_columns)
        self._dtype = None if dtype is None else np.dtype(dtype).name
        self._edges = EdgeEncoder()
        self.names = np.empty(0, dtype=object)
        self.edge_attributes = self.only_edges = np.empty(0, dtype=np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return packed(vars(self), "names")

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(unpacked(state, "names"))

    @property
    def columns(self) -> np.ndarray | None:
        """The columns of numeric X that are attributes, None if X was not numeric."""
        if self._vectorizer is not None:
            return None
        return np.arange(len(self.names)) if self._kept is None else self._kept

    def dtype(self, given: np.dtype) -> np.dtype:
        """Return the type of encoded attributes, single or double precision, for a type of X."""
        dtype = np.dtype(self._dtype or (given if given.kind == "f" else float))
        return np.dtype(np.float32 if dtype.itemsize == 4 else float)

    def requirements(self, n_attributes: int, n_columns: Any) -> Iterator[Requirement]:
        """Yield what must hold for an encoder with these numbers of attributes and columns."""
        n = n_attributes
        yield Array("names", self.names, (n,), kind="OUS")
        for name in ("edge_attributes", "only_edges"):
            chosen = getattr(self, name)
            yield indices(name, chosen, (len(chosen),), n)
            yield Fact(name, bool((np.diff(chosen) > 0).all()), "must rise")
        is_type = self._dtype in (None, "float32", "float64")
        yield Fact("_dtype", is_type, f"is {self._dtype!r}")
        yield Fact("_edges", isinstance(self._edges, EdgeEncoder), "must be an EdgeEncoder")
        yield from below("_edges", self._edges.requirements())
        n -= len(self._edges.names)
        if self._vectorizer is not None:
            is_vocabulary = isinstance(self._vectorizer.vocabulary_, Vocabulary)
            known = is_vocabulary and len(self._vectorizer.vocabulary_) == n
            yield Fact("_vectorizer.vocabulary_", known, f"must have {n} symbols")
            yield Fact("has_columns", isinstance(self.has_columns, bool), "must be a bool")
            return
        is_width = isinstance(n_columns, Integral) and int(n_columns) >= 0
        yield Fact("n_features_in_", is_width, "must be the number of columns")
        if self._kept is None:
            yield Fact("names", n == n_columns, f"must be the names of {n_columns} columns")
        else:
            yield indices("_kept", self._kept, (n,), n_columns)

    def fit_transform(self, X: SequenceArray, extend: bool = False) -> Matrix:
        """Learn which attributes there are, and encode all tokens.

        Parameters
        ----------
        X : SequenceArray
        extend : bool
            Whether to keep the attributes learned before, and add new ones.
        """
        encoded = self._extend(X) if extend else self._learn(X)
        self._edges = copy(self._edges).fit(X, extend)
        known = set(self.names) if len(self._edges.names) else ()
        for name in self._edges.names:
            if name in known:
                raise ValueError(f"X has an attribute of tokens named {name!r}, like edge data")
        n_own, n_edges = len(self.names), len(self._edges.names)
        of_edges = np.arange(n_own, n_own + n_edges)
        self.names = np.concatenate([self.names, self._edges.names])
        self.only_edges = np.concatenate([self.only_edges, of_edges])
        self.edge_attributes = np.concatenate([self.edge_attributes, of_edges])
        return self._with_edges(encoded, X)

    def _learn(self, X: SequenceArray) -> Matrix:
        """Learn the attributes of tokens without edge data, and encode them."""
        self._vectorizer: Any = None
        self._kept: np.ndarray | None = None
        self._keys: set[str] = set()
        self.only_edges = np.empty(0, dtype=np.int64)
        self.has_columns = not _is_strings(X.data)
        if _is_numeric(X.data):
            columns = np.arange(X.data.shape[1])
            if self._min_freq > 1:
                frequencies = np.asarray((X.data != 0).sum(axis=0)).ravel()
                self._kept = columns = columns[frequencies >= self._min_freq]
            self.names = np.array([f"x{j}" for j in columns], dtype=object)
            self.edge_attributes = np.flatnonzero(np.isin(columns, self._edge_columns))
            encoded = self._encode(X)
        else:
            self._dtype = self._dtype or "float64"
            self._vectorizer = SequenceVectorizer(self._min_freq, self._dtype)
            encoded = sp.csr_array(with_own_values(rows_of(self._vectorizer, X, learn=True)).data)
            self._complete_names(X.data)
        if len(self._edge_columns) and not len(self.edge_attributes):
            raise ValueError(f"edge_columns={shown(self._edge_columns)}: X has no such columns")
        return encoded

    def _extend(self, X: SequenceArray) -> Matrix:
        if self._vectorizer is None:
            n_own = len(self.names) - len(self._edges.names)
            self.names = self.names[:n_own]
            self.only_edges = self.only_edges[self.only_edges < n_own]
            self.edge_attributes = self.edge_attributes[self.edge_attributes < n_own]
        else:
            new = SequenceVectorizer(dtype=self._dtype).fit(X).vocabulary_
            known = dict.fromkeys([*self._vectorizer.vocabulary_.symbols, *new.symbols])
            self._set_symbols(list(known))
            self._complete_names(X.data)
        return self._encode(X)

    def add(self, other: "AttributeEncoder") -> np.ndarray:
        """Learn the attributes of another encoder; :meth:`select` then completes the names.

        Parameters
        ----------
        other : AttributeEncoder
            Of the same parameters.

        Returns
        -------
        ndarray of int
            The number that each attribute of the other encoder has here.

        Raises
        ------
        ValueError
            If the other encoder learned from X of another kind.
        """
        if len(self._edges.names) or len(other._edges.names):
            raise ValueError("X in parts cannot have edge data")
        kinds = {(it._vectorizer is None, it.has_columns) for it in (self, other)}
        if len(kinds) > 1:
            raise ValueError("X is of different kinds in different parts")
        if self._vectorizer is not None:
            self._keys = self._keys | other._keys
            return self._vectorizer.vocabulary_.add(other._vectorizer.vocabulary_.symbols)
        if len(other.names) != len(self.names):
            raise ValueError(f"X has {len(other.names)} columns, but {len(self.names)} elsewhere")
        return np.arange(len(self.names))

    def find(self, other: "AttributeEncoder") -> np.ndarray:
        """Find the number of each attribute of an encoder that was added; -1 if not selected."""
        if self._vectorizer is not None:
            return self._vectorizer.vocabulary_.lookup(other._vectorizer.vocabulary_.symbols)
        numbers = np.full(len(other.names), -1)
        numbers[self.columns] = np.arange(len(self.names))
        return numbers

    def select(self, chosen: np.ndarray) -> "AttributeEncoder":
        """Make an encoder of some of the attributes, by increasing number; this one stays."""
        twin = copy(self)
        if self._vectorizer is None:
            twin.names = self.names[chosen]
            twin._kept = None if len(chosen) == len(self.names) else chosen
            twin.edge_attributes = np.flatnonzero(np.isin(chosen, self.edge_attributes))
            return twin
        symbols = self._vectorizer.vocabulary_.symbols
        twin._set_symbols([symbols[i] for i in chosen])
        twin._complete_names()
        return twin

    def _set_symbols(self, symbols: list[str]) -> None:
        self._vectorizer = copy(self._vectorizer)
        self._vectorizer.vocabulary_ = Vocabulary(symbols)

    def _complete_names(self, data: Any = None) -> None:
        """Set the names of attributes, and which of them are of edges, also of those in data."""
        if isinstance(data, SymbolTable):
            columns = zip(data.names, data.keys, strict=True)
            self._keys = self._keys | {key for name, key in columns if name in data.edges}
        self.names = np.array(self._vectorizer.vocabulary_.symbols, dtype=object)
        only_edges = _in_columns(self.names, self._keys)
        wanted = _in_columns(self.names, self._edge_columns)
        if not self.has_columns:
            wanted = np.full(len(self.names), "token" in self._edge_columns)
        self.only_edges = np.flatnonzero(only_edges)
        self.edge_attributes = np.flatnonzero(wanted | only_edges)

    def transform(self, X: SequenceArray) -> Matrix:
        """Encode the attributes of all tokens; unknown attributes are left out.

        Returns
        -------
        ndarray or CSR of shape (n_tokens, n_attributes)

        Raises
        ------
        ValueError
            If X, or its edge data, is not of the kind that was learned.
        """
        encoded = self._encode(X)
        if self._vectorizer is not None and not sp.csr_array(encoded).nnz:
            self._warn_of_other_tokens(X)
        return self._with_edges(encoded, X)

    def _warn_of_other_tokens(self, X: SequenceArray) -> None:
        """Warn if tokens without a known attribute are hardly of the kind that was learned."""
        are_strings = _is_strings(X.data)
        if len(X.data) == 0 or (are_strings and not self.has_columns):  # just unknown words
            return
        columns: Collection[str] = X.data.keys if isinstance(X.data, SymbolTable) else ()
        if isinstance(X.data, np.ndarray) and isinstance(X.data[0], dict):
            columns = X.data[0]
        if self.has_columns and _in_columns(self.names, columns).any():
            return  # just unknown symbols
        learned = "feature dicts or columns" if self.has_columns else "token strings"
        warn_caller(
            "no attribute of any token of X occurred in training, where tokens were "
            f"{learned}{', but X holds token strings' if are_strings else ''}; make the tokens of "
            "X as they were made for fit",
        )

    def _encode(self, X: SequenceArray) -> Matrix:
        """Encode the tokens without edge data."""
        if self._vectorizer is not None:
            return sp.csr_array(with_own_values(rows_of(self._vectorizer, X)).data)
        if not _is_numeric(X.data):
            raise ValueError("X must be numeric, as it was in fit")
        if self._kept is not None:
            X = SequenceArray(X.data[:, self._kept], X.offsets)
        data = as_numbers(X, self.dtype(X.data.dtype).type)
        return sp.csr_array(data) if sp.issparse(data) else np.ascontiguousarray(data)

    def _with_edges(self, encoded: Matrix, X: SequenceArray) -> Matrix:
        """Return the attributes of tokens, followed by the attributes of the edges into them."""
        if self._edges.kind == "none" and getattr(X, "edge_data", None) is None:
            return encoded
        edges = self._edges.transform(X).astype(encoded.dtype)
        if sp.issparse(encoded):
            return sp.csr_array(sp.hstack([encoded, edges], format="csr"))
        return np.hstack([encoded, edges.toarray()])


def _is_numeric(data: Any) -> bool:
    return sp.issparse(data) or (isinstance(data, np.ndarray) and data.ndim == 2)


def _is_strings(data: Any) -> bool:
    return isinstance(data, np.ndarray) and len(data) > 0 and isinstance(data[0], str)


def _in_columns(names: np.ndarray, columns: Collection[str | int]) -> np.ndarray:
    """Return which attributes were made from one of these columns, or keys of feature dicts."""
    keys = {column for column in columns if isinstance(column, str)}
    if not keys:
        return np.zeros(len(names), dtype=bool)
    starts = tuple(f"{key}=" for key in keys)
    return np.array([name in keys or name.startswith(starts) for name in names], dtype=bool)
