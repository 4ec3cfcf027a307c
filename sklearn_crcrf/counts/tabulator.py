"""Every kind of observation as columns of symbols, and attributes where X is sparse."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import hash as hash_of
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array, has_fit_parameter

from ..data.numbers import as_numbers
from ..data.ragged import SequenceArray
from ..data.symbols import Bag, ItemTable, SymbolTable, join_columns, symbols_by_key
from ..data.words import find_words
from ..utils.soundness import Fact, Requirement
from ..utils.warning import warn_caller
from .binning import EqualFrequencyBins

WORD = "token"
ROWS = ("attributes", "numbers")
KINDS = (*ROWS, "symbols")
# If feature dicts have more keys, only keys that most tokens have become columns, if these are not
# more, and all others become a bag of attributes.
MOST_KEYS = 32
# Number of columns that a message names.
FEW_NAMES = 10


class Tabulator:
    """Turns the data of a SequenceArray into a table of symbols.

    Parameters
    ----------
    observation : str or None
        The column that holds the words; by default :func:`~sklearn_crcrf.data.words.find_words`
        finds it. Numeric and sparse data have no words, and get a column with the same word for
        all tokens.
    binning : transformer or None
        Gives integer codes to numeric columns.

    Attributes
    ----------
    words : str
        The column that holds the words.
    columns : list of str
        The columns of X in their order.
    has_bag : bool
        Whether tokens have too many keys for columns: the keys are attributes.
    has_keys : bool
        Whether tokens are feature dicts.
    """

    has_keys = False

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
        names = ("_kind", "words", "_numbers", "has_bag")
        if any(getattr(self, name) != getattr(other, name) for name in names):
            return False
        return not self.has_numbers or hash_of(self._binning) == hash_of(other._binning)

    def warn_of_choice(self, has_observation: bool) -> None:
        """Warn if other columns might hold the words, or if tokens have many features.

        Parameters
        ----------
        has_observation : bool
            Whether the estimator has the parameter ``observation``.
        """
        if self._observation is not None:
            return
        name = self.words
        text = f"the column {name!r} of X is taken for the words"
        choose = (
            f"; choose with observation={name!r}, on the command line with --set "
            f"observation={name}, or leave columns out with --columns"
        )
        if self.has_bag:
            bag = "keys that few tokens have" if len(self.columns) > 1 else "all others"
            text = (
                f"the feature dicts of X have more than {MOST_KEYS} keys, so {bag} are a bag of "
                f"attributes, and {text}. CRF learns a weight for each attribute"
            )
        elif self._rivals and has_observation:
            text += f", but {_some(self._rivals)} may be meant"
            choose += (
                "; if columns are features made of words, CRF learns a weight for each of them"
            )
        else:
            return
        warn_caller(text + choose * has_observation)

    def without(self, columns: Collection[str]) -> "Tabulator":
        """Leave out some of the columns other than the words, and those that might be the words."""
        twin = copy(self)
        twin.columns = [name for name in self.columns if name not in columns]
        twin._rivals = []
        return twin

    def requirements(self) -> Iterator[Requirement]:
        """Requirements of a fitted tabulator."""
        yield Fact("_kind", self._kind in KINDS, f"must be one of {KINDS}")
        yield Fact("words", isinstance(self.words, str), "must be a str")
        for name in ("_numbers", "columns", "_rivals"):
            names = getattr(self, name)
            are_names = all(isinstance(it, str) for it in names) and isinstance(names, list)
            yield Fact(name, are_names, "must be strings")
        for name in ("has_bag", "has_keys"):
            yield Fact(name, isinstance(getattr(self, name), bool), "must be True or False")
        is_width = isinstance(self._n_columns, Integral) and int(self._n_columns) >= 0
        yield Fact("_n_columns", is_width, "must be the number of columns")
        yield Fact("_binning", hasattr(self._binning, "transform"), "must be a transformer")

    def fit_transform(self, X: SequenceArray, sample_weight: np.ndarray):
        """Learn the columns, and the bins of numeric columns from weighted tokens; transform X."""
        content = _content(X)
        self._fit(X, content, sample_weight)
        return self._transform(X, content)

    def transform(self, X: SequenceArray) -> tuple[SymbolTable, sp.csr_array | Bag | None]:
        """Return the table of symbols, words first, and attributes of a sparse X, or of a bag."""
        return self._transform(X, _content(X))

    def _fit(self, X: SequenceArray, content: Any, sample_weight: np.ndarray) -> None:
        self._kind = X.kind if X.kind in ROWS else "symbols"
        self.words, self.has_bag = WORD, False
        self._numbers: list[str] = []
        self.columns: list[str] = []
        self._rivals: list[str] = []
        self._n_columns = X.data.shape[1] if X.data.ndim > 1 else 1
        self.has_keys = isinstance(content, ItemTable)
        if self._kind == "numbers":
            self._fit_bins(as_numbers(X, np.float64), sample_weight)
        elif self._kind == "symbols":
            table = self._fit_columns(X, content, sample_weight)
            self._numbers = [name for name in table.numbers if name != self.words]
            if self._numbers:
                self._fit_bins(_numbers(table, self._numbers), sample_weight)

    def _fit_columns(self, X: SequenceArray, content: Any, sample_weight: np.ndarray) -> Any:
        """Choose the columns, and the one that holds the words."""
        given, names = self._observation, list(content.names)
        if not names:
            raise ValueError("X has no symbols: its feature dicts are empty")
        if given is not None and given not in names:
            raise ValueError(f"observation={given!r} is not among the columns of X: {_some(names)}")
        self.has_bag = self.has_keys and len(names) > MOST_KEYS
        table = content.columns(_usual_names(content)) if self.has_bag else _columns_of(content)
        if given is None and len(table.names) == 1:
            given = table.names[0]
        elif given is None:
            is_counted = None if (sample_weight > 0).all() else sample_weight > 0
            given, self._rivals = find_words(X.with_data(table), is_counted)
        self.words, self.columns = given, [*table.names]
        if self.has_bag and (given not in table or len(table.names) > MOST_KEYS):
            self.columns = [given]
        return table

    def _transform(self, X: SequenceArray, content: Any) -> tuple[SymbolTable, Any]:
        data = X.data
        if data.shape[0] == 0:
            return self._nothing()
        if (X.kind in ROWS) != (self._kind in ROWS):
            raise ValueError(f"X holds {X.kind}, but the model was fitted to {self._kind}")
        if self._kind == "attributes":
            return _same_words(data.shape[0]), _attributes(data)
        if self._kind == "numbers":
            rows: Any = as_numbers(X, np.float64)
            rows = rows.toarray() if sp.issparse(rows) else rows
            bins = self._bin(rows, [f"x{j}" for j in range(rows.shape[1])])
            return join_columns([_same_words(len(rows)), bins]), None
        names = [*content.names]
        if self.words not in names:
            message = f"X has no column {self.words!r}, which holds the words, but {_some(names)}"
            if not (self.has_keys and isinstance(content, ItemTable)):
                raise ValueError(message)
            # Tokens without a word are fine beside others that have one, so they are fine alone.
            warn_caller(f"{message}: all words are unknown")
            names.append(self.words)
        bag = content.bag(self.columns) if self.has_bag else None
        known = {*self.columns}
        others = [] if self.has_bag else [name for name in names if name not in known]
        # Of other columns only a few are made, to notice an error.
        wanted = [*(name for name in names if name in known), *others[:FEW_NAMES]]
        table = _columns_of(content, wanted)
        not_symbols = {self.words, *self._numbers}
        # In an order that does not depend on X.
        others = sorted(name for name in table.names if name not in not_symbols)
        chosen = [self.words, *others]
        symbols = table if chosen == [*table.names] else table.select(chosen)
        if not self._numbers:
            return symbols, bag
        numbers = self._bin(_numbers(table, self._numbers), self._numbers)
        return join_columns([symbols, numbers]), bag

    def _nothing(self) -> tuple[SymbolTable, Any]:
        """Transform sequences without tokens, which do not show what kind of data X is."""
        table = SymbolTable(np.empty((0, 1)), [[]], [self.words])
        if self.has_bag:
            return table, Bag(sp.csr_array((0, 0)), [])
        is_sparse = self._kind == "attributes"
        return table, sp.csr_array((0, self._n_columns)) if is_sparse else None

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
        return _symbols(codes.T.astype(np.int64), names)


def _content(X: SequenceArray) -> Any:
    """X by columns of symbols or by keys, or as it is if it holds neither."""
    if X.kind in ROWS:
        return X.data
    if X.kind == "columns" and isinstance(X.data, np.ndarray):
        return _table_of_objects(X.data)
    return symbols_by_key(X)


def _columns_of(content: Any, names: Sequence[str] | None = None) -> SymbolTable:
    """Make columns of a table, or of keys."""
    if isinstance(content, ItemTable):
        return content.columns(names)
    return content if names is None or len(names) == len(content.names) else content.select(names)


def _usual_names(content: ItemTable) -> list[str]:
    """List keys that most tokens have; if they are many, without the keys of other tokens.

    These are keys of nested dicts that repeat what a token says of itself, such as
    ``"next:digits"`` where there is ``"digits"``: columns have windows of their own.
    """
    names = content.usual_names()
    if len(names) <= MOST_KEYS:
        return names
    known = {*names}
    return [name for name in names if name.partition(":")[2] not in known]


def _some(names: Sequence[str]) -> str:
    """Name a few of the columns, for a message."""
    if not names:
        return "none at all"
    more = f" and {len(names) - FEW_NAMES:,} more" if len(names) > FEW_NAMES else ""
    return ", ".join(map(repr, names[:FEW_NAMES])) + more


def _attributes(data: Any) -> sp.csr_array:
    attributes = sp.csr_array(check_array(data, accept_sparse="csr", ensure_min_samples=0))
    if attributes.nnz and attributes.data.min() < 0:
        raise ValueError("Negative values in data passed to X: its values are counts")
    return attributes.astype(np.float64)


def _numbers(table: SymbolTable, names: Sequence[str]) -> np.ndarray:
    """Read the values of numeric columns, (n_tokens, n_names)."""
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
    """Make columns of symbols from the columns of a 2-D array with strings."""
    missing = np.argwhere(np.equal(data, np.array(None)) | (data != data))
    if len(missing):
        row, column = missing[0]
        raise ValueError(f"X, row {row}, column {column}: {data[row, column]} is not a symbol")
    names = [f"x{j}" for j in range(data.shape[1])]
    return _symbols((column.astype(str) for column in data.T), names)


def _symbols(columns: Iterable[np.ndarray], names: Sequence[str]) -> SymbolTable:
    """Make a table of symbols from columns of values."""
    found = [np.unique(column, return_inverse=True) for column in columns]
    codes = np.stack([codes for _, codes in found], axis=1)
    return SymbolTable(codes, [values.astype(str) for values, _ in found], names)
