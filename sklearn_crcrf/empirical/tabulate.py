"""Every kind of observation as columns of symbols, and attributes where X is sparse."""

from inspect import signature

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.validation import check_array, has_fit_parameter

from ..sequences import SequenceArray
from ..symbols import SymbolTable, symbolize

__all__ = ["Tabulator", "default_binning"]

WORD = "token"


def default_binning() -> KBinsDiscretizer:
    """Ten bins of equal frequency for each numeric column."""
    options = {"n_bins": 10, "encode": "ordinal", "strategy": "quantile", "subsample": None}
    if "quantile_method" in signature(KBinsDiscretizer).parameters:
        options["quantile_method"] = "averaged_inverted_cdf"
    return KBinsDiscretizer(**options)


class Tabulator:
    """Turns the data of a SequenceArray into a table of symbols.

    Parameters
    ----------
    observation : str or None
        The column that holds the words; the first one by default. Numeric and sparse data have
        no words, and get a column in which all tokens are the same word.
    binning : transformer or None
        Gives integer codes to numeric columns.
    """

    def __init__(self, observation: str | None, binning: BaseEstimator | None):
        self._observation = observation
        self._binning = default_binning() if binning is None else clone(binning)
        self._sparse = False

    def fit(self, X: SequenceArray, sample_weight: np.ndarray) -> "Tabulator":
        """Learn the bins of numeric columns from tokens of these weights."""
        self._sparse = sp.issparse(X.data)
        if _is_numeric_table(X.data):
            counted = sample_weight > 0
            weights = {}
            if has_fit_parameter(self._binning, "sample_weight"):
                weights["sample_weight"] = sample_weight[counted]
            self._binning.fit(_finite(X.data)[counted], **weights)
        return self

    def transform(self, X: SequenceArray) -> tuple[SymbolTable, sp.csr_array | None]:
        """The table of symbols, words first, and the attributes of a sparse X."""
        data = X.data
        if self._sparse:
            return _same_words(data.shape[0]), _attributes(data)
        data = data.toarray() if sp.issparse(data) else data
        if _is_numeric_table(data):
            return self._bin(data), None
        if not isinstance(data, SymbolTable) and data.ndim == 2:
            data = _table_of_objects(data)
        return self._words_first(symbolize(SequenceArray(data, X.offsets))), None

    def _bin(self, data: np.ndarray) -> SymbolTable:
        codes = self._binning.transform(_finite(data))
        codes = np.asarray(codes.toarray() if sp.issparse(codes) else codes).astype(np.int32)
        words = _same_words(len(data))
        names = [f"x{j}" for j in range(codes.shape[1])]
        bins = [[str(b) for b in range(codes[:, j].max(initial=0) + 1)] for j in range(len(names))]
        return SymbolTable(
            np.column_stack([words.codes, codes]),
            [*words.categories, *bins],
            [*words.names, *names],
        )

    def _words_first(self, table: SymbolTable) -> SymbolTable:
        if self._observation is None:
            return table
        if self._observation not in table.names:
            raise ValueError(
                f"observation={self._observation!r} is not among the columns of X, which are "
                f"{list(table.names)}"
            )
        first = table.names.index(self._observation)
        order = [first, *(j for j in range(len(table.names)) if j != first)]
        return SymbolTable(
            table.codes[:, order],
            [table.categories[j] for j in order],
            [table.names[j] for j in order],
        )


def _is_numeric_table(data) -> bool:
    return (
        isinstance(data, np.ndarray)
        and data.ndim == 2
        and (data.dtype.kind in "biuf" or not any(isinstance(v, str) for v in data[:1].ravel()))
    )


def _finite(data: np.ndarray) -> np.ndarray:
    return check_array(data, dtype=np.float64, ensure_min_samples=0, input_name="X")


def _attributes(data) -> sp.csr_array:
    attributes = sp.csr_array(check_array(data, accept_sparse="csr", ensure_min_samples=0))
    if attributes.nnz and attributes.data.min() < 0:
        raise ValueError("Negative values in data passed to X: attributes are counted")
    return attributes.astype(np.float64)


def _same_words(n_tokens: int) -> SymbolTable:
    return SymbolTable(np.zeros((n_tokens, 1)), [[""]], [WORD])


def _table_of_objects(data: np.ndarray) -> SymbolTable:
    """A 2-D array with strings: one column of symbols for each of its columns."""
    columns = [np.unique(column.astype(str), return_inverse=True) for column in data.T]
    return SymbolTable(
        np.stack([codes for _, codes in columns], axis=1),
        [symbols for symbols, _ in columns],
        [f"x{j}" for j in range(len(columns))],
    )
