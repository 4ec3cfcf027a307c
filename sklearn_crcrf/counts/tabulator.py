"""Every kind of observation as columns of symbols, and attributes where X is sparse."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import hash as hash_of
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array, has_fit_parameter

from ..data.numbers import as_numbers
from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable, join_columns, symbolize
from ..utils.soundness import Fact, Requirement
from .binning import EqualFrequencyBins

__all__ = ["Tabulator"]

WORD = "token"
KINDS = ("attributes", "numbers", "symbols")


class Tabulator:
    """Turns the data of a SequenceArray into a table of symbols.

    Parameters
    ----------
    observation : str or None
        The column that holds the words; by default the first one that is not numeric. Numeric
        and sparse data have no words, and get a column with the same word for all tokens.
    binning : transformer or None
        Gives integer codes to numeric columns.
    """

    def __init__(self, observation: str | None, binning: BaseEstimator | None):
        self._observation = observation
        self._binning = EqualFrequencyBins() if binning is None else clone(binning)

    @property
    def has_words(self) -> bool:
        """Whether X has words; if not, the first column is constant."""
        return self._kind == "symbols"

    @property
    def has_numbers(self) -> bool:
        """Whether X has numeric columns, beside words or alone."""
        return self._kind == "numbers" or bool(self._numbers)

    def agrees(self, other: "Tabulator") -> bool:
        """Whether another tabulator turns all data into the same symbols."""
        if (self._kind, self._words, self._numbers) != (other._kind, other._words, other._numbers):
            return False
        has_bins = self._kind == "numbers" or bool(self._numbers)
        return not has_bins or hash_of(self._binning) == hash_of(other._binning)

    def requirements(self) -> Iterator[Requirement]:
        """Requirements of a fitted tabulator."""
        yield Fact("_kind", self._kind in KINDS, f"must be one of {KINDS}")
        yield Fact("_words", isinstance(self._words, str), "must be a str")
        are_names = all(isinstance(name, str) for name in self._numbers)
        yield Fact("_numbers", isinstance(self._numbers, list) and are_names, "must be strings")
        is_width = isinstance(self._n_columns, Integral) and int(self._n_columns) >= 0
        yield Fact("_n_columns", is_width, "must be the number of columns")
        yield Fact("_binning", hasattr(self._binning, "transform"), "must be a transformer")

    def fit_transform(self, X: SequenceArray, sample_weight: np.ndarray):
        """Fit, then transform the same data; it is turned into symbols only once."""
        if _kind(X.data) == "symbols":
            X = X.with_data(self._as_symbols(X))
        return self.fit(X, sample_weight).transform(X)

    def fit(self, X: SequenceArray, sample_weight: np.ndarray) -> "Tabulator":
        """Learn the bins of numeric columns from weighted tokens."""
        data = X.data
        self._kind, self._words, self._numbers = _kind(data), WORD, []
        self._n_columns = data.shape[-1]
        if self._kind == "numbers":
            self._fit_bins(as_numbers(X, np.float64), sample_weight)
        elif self._kind == "symbols":
            table = self._as_symbols(X)
            self._words = self._find_words(table)
            self._numbers = [name for name in table.numbers if name != self._words]
            if self._numbers:
                self._fit_bins(_numbers(table, self._numbers), sample_weight)
        return self

    def transform(self, X: SequenceArray) -> tuple[SymbolTable, sp.csr_array | None]:
        """The table of symbols, words first, and the attributes of a sparse X."""
        if X.data.shape[0] == 0:
            return self._nothing()
        if (_kind(X.data) == "symbols") != (self._kind == "symbols"):
            raise ValueError(f"X holds {_kind(X.data)}, but the model was fitted to {self._kind}")
        data = X.data
        if self._kind == "attributes":
            return _same_words(data.shape[0]), _attributes(data)
        if self._kind == "numbers":
            rows: Any = as_numbers(X, np.float64)
            rows = rows.toarray() if sp.issparse(rows) else rows
            names = [f"x{j}" for j in range(rows.shape[1])]
            return _join(_same_words(len(rows)), self._bin(rows, names)), None
        table = self._as_symbols(X)
        if self._words not in table:
            raise ValueError(
                f"X has no column {self._words!r}, which holds the words, but {list(table.names)}"
            )
        not_symbols = {self._words, *self._numbers}
        others = [name for name in table.names if name not in not_symbols]
        symbols = _choose(table, [self._words, *others])
        if not self._numbers:
            return symbols, None
        return _join(symbols, self._bin(_numbers(table, self._numbers), self._numbers)), None

    def _nothing(self) -> tuple[SymbolTable, sp.csr_array | None]:
        """The result for sequences without tokens: these do not show what kind of data X is."""
        table = SymbolTable(np.empty((0, 1)), [[]], [self._words])
        is_sparse = self._kind == "attributes"
        return table, sp.csr_array((0, self._n_columns)) if is_sparse else None

    def _as_symbols(self, X: SequenceArray) -> SymbolTable:
        data = X.data
        if isinstance(data, np.ndarray) and data.ndim == 2:
            return _table_of_objects(data)
        return symbolize(X)

    def _find_words(self, table: SymbolTable) -> str:
        names = list(table.names)
        if not names:
            raise ValueError("X has no symbols: its feature dicts are empty")
        if self._observation is None:
            numbers = set(table.numbers)
            return next((name for name in names if name not in numbers), names[0])
        if self._observation not in names:
            raise ValueError(
                f"observation={self._observation!r} is not among the columns of X: {names}"
            )
        return self._observation

    def _fit_bins(self, values: np.ndarray, sample_weight: np.ndarray) -> None:
        counted = sample_weight > 0
        weights, used = {}, sample_weight[counted]
        if has_fit_parameter(self._binning, "sample_weight") and np.ptp(used) > 0:
            weights["sample_weight"] = used
        self._binning.fit(values[counted], **weights)

    def _bin(self, values: np.ndarray, names: Sequence[str]) -> SymbolTable:
        codes: Any = self._binning.transform(values)
        codes = np.asarray(codes.toarray() if sp.issparse(codes) else codes)
        if not np.array_equal(codes, np.round(codes)):
            raise ValueError(f"binning must give integers, but {self._binning} does not")
        if codes.shape[1] != len(names):
            names = [f"bin{j}" for j in range(codes.shape[1])]
        columns = [np.unique(column.astype(np.int64), return_inverse=True) for column in codes.T]
        return SymbolTable(
            np.stack([ids for _, ids in columns], axis=1),
            [bins.astype(str) for bins, _ in columns],
            names,
        )


def _kind(data: Any) -> str:
    """What the columns of X are: one of KINDS."""
    if sp.issparse(data):
        return "attributes"
    if not isinstance(data, np.ndarray) or data.ndim != 2:
        return "symbols"
    if data.dtype.kind in "biuf" or not any(isinstance(value, str) for value in data[:1].ravel()):
        return "numbers"
    return "symbols"


def _attributes(data: Any) -> sp.csr_array:
    attributes = sp.csr_array(check_array(data, accept_sparse="csr", ensure_min_samples=0))
    if attributes.nnz and attributes.data.min() < 0:
        raise ValueError("Negative values in data passed to X: its values are counts")
    return attributes.astype(np.float64)


def _numbers(table: SymbolTable, names: Sequence[str]) -> np.ndarray:
    """The values of numeric columns, (n_tokens, n_names)."""
    values = np.empty((len(table), len(names)))
    for k, name in enumerate(names):
        if name not in table.numbers:
            raise ValueError(f"X has no numeric column {name!r}, unlike in fit")
        j = table.place(name)
        values[:, k] = np.append(table.categories[j].astype(float), np.nan)[table.codes[:, j]]
        if not np.isfinite(values[:, k]).all():
            raise ValueError(f"X, column {name!r}: missing or infinite values")
    return values


def _same_words(n_tokens: int) -> SymbolTable:
    return SymbolTable(np.zeros((n_tokens, 1)), [[""]], [WORD])


def _table_of_objects(data: np.ndarray) -> SymbolTable:
    """Columns of symbols from the columns of a 2-D array with strings."""
    missing = np.argwhere(np.equal(data, np.array(None)) | (data != data))
    if len(missing):
        row, column = missing[0]
        raise ValueError(f"X, row {row}, column {column}: {data[row, column]} is not a symbol")
    columns = [np.unique(column.astype(str), return_inverse=True) for column in data.T]
    return SymbolTable(
        np.stack([codes for _, codes in columns], axis=1),
        [symbols for symbols, _ in columns],
        [f"x{j}" for j in range(len(columns))],
    )


def _choose(table: SymbolTable, names: Sequence[str]) -> SymbolTable:
    """Some of the columns, in this order."""
    order = [table.place(name) for name in names]
    if order == list(range(len(table.names))):
        return table
    return SymbolTable(table.codes[:, order], [table.categories[j] for j in order], names)


def _join(a: SymbolTable, b: SymbolTable) -> SymbolTable:
    return join_columns([a, b])
