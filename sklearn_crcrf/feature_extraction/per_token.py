"""Transformers of scikit-learn, applied to the tokens of sequences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils._set_output import _get_output_config

from ..data.frames import as_frame, frame_columns
from ..data.missing import endless_hash
from ..data.ragged import SequenceArray
from ..data.sequences import as_sequences
from ..data.symbols import SymbolTable
from ..utils.names import shown
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Fact, Requirement
from ._base import SequenceTransformer, _as_frame, _rows_in_order, is_frame


@dataclass(eq=False, repr=False)
class PerToken(SequenceTransformer):
    """Apply a transformer of scikit-learn to the tokens of all sequences.

    The transformer sees one row per token. Its rows are put back into the sequences of X.

    Parameters
    ----------
    transformer : transformer of rows
        Such as a StandardScaler, a ColumnTransformer or a CountVectorizer. A transformer of
        texts or dicts, also as the first step of a Pipeline or FeatureUnion, gets each token as
        it is. Every other transformer gets a table: rows of numbers as they are, strings as one
        column, and dicts and columns of symbols as a DataFrame.

    Attributes
    ----------
    transformer_ : transformer
        Fitted to the tokens.

    See Also
    --------
    SequenceVectorizer : From columns of symbols, or dicts, to a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_crcrf.feature_extraction import PerToken
    >>> X = [np.array([[1.0], [3.0]]), np.array([[5.0]])]
    >>> scaled = PerToken(StandardScaler()).fit_transform(X)
    >>> scaled.lengths, scaled.data.ravel().round(2)
    (array([2, 1]), array([-1.22,  0.  ,  1.22]))
    """

    transformer: Any

    def fit(self, X: Any, y: Any = None, **params: Any) -> "PerToken":
        """Fit the transformer to all tokens.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or DataFrame
            The tokens.
        y : labels, in the layout of X, optional
            The transformer gets the label of each token.
        **params : dict
            Passed to ``fit`` of the transformer. Lists and arrays with a value for each sequence,
            such as groups, are repeated for its tokens.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X has no tokens, or X and y differ in length; and what the transformer raises.
        """
        self._fit(X, y, params, transforms=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the transformer to all tokens, and transform them.

        Parameters
        ----------
        X, y, **params : as in :meth:`fit`

        Returns
        -------
        SequenceArray or DataFrame
            As of :meth:`transform`.

        Raises
        ------
        ValueError
            As in :meth:`fit`.
        """
        result, sequences = self._fit(X, y, params, transforms=True)
        return self._made(result, sequences, X)

    def transform(self, X: Any) -> Any:
        """Transform all tokens.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or DataFrame
            The tokens.

        Returns
        -------
        SequenceArray or DataFrame
            With the sequences of X; for a DataFrame a DataFrame with the same index.

        Raises
        ------
        ValueError
            If the transformer returns more or fewer rows than tokens, or takes no such tokens.
        """
        check_fitted(self)
        rows, sequences = self._rows(X, self.transformer_)
        if self._columns is not None and hasattr(rows, "reindex") and not is_frame(X):
            rows = rows.reindex(columns=self._columns)
        _require_tokens(rows)
        return self._made(_applied(self.transformer_.transform, rows), sequences, X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the input columns, for the transformer.

        Returns
        -------
        ndarray of str objects

        Raises
        ------
        AttributeError
            If the transformer does not name its columns.
        """
        check_fitted(self)
        if not hasattr(self.transformer_, "get_feature_names_out"):
            name = type(self.transformer_).__name__
            raise AttributeError(f"{name} does not name its columns: no get_feature_names_out")
        given = () if input_features is None else (input_features,)
        return self.transformer_.get_feature_names_out(*given)

    def _requirements(self) -> Iterator[Requirement]:
        holds = hasattr(self.transformer_, "transform")
        yield Fact("transformer_", holds, "must be a transformer")
        is_list = self._columns is None or isinstance(self._columns, list)
        yield Fact("_columns", is_list, "must be a list")

    def _fit(self, X: Any, y: Any, params: dict, transforms: bool) -> tuple[Any, SequenceArray]:
        """Fit the transformer; return what it makes of the tokens, if asked, and the sequences."""
        if not hasattr(self.transformer, "fit") or not hasattr(self.transformer, "transform"):
            raise ValueError(
                "transformer must be a transformer of scikit-learn, "
                f"but is of type {type(self.transformer).__name__}"
            )
        rows, sequences = self._rows(X, self.transformer)
        _require_tokens(rows)
        labels = None if y is None else np.array(as_sequences(X, y).y.data.tolist())
        order = _rows_in_order(as_frame(X)).data if is_frame(X) else None
        params = {name: _repeated(value, sequences, order) for name, value in params.items()}
        transformer, result = clone(self.transformer), None
        if transforms and hasattr(transformer, "fit_transform"):
            result = _applied(transformer.fit_transform, rows, labels, **params)
        else:
            _applied(transformer.fit, rows, labels, **params)
            result = _applied(transformer.transform, rows) if transforms else None
        self.transformer_ = transformer
        self._columns = rows.columns.tolist() if hasattr(rows, "columns") else None
        return result, sequences

    def _rows(self, X: Any, transformer: Any) -> tuple[Any, SequenceArray]:
        """What a transformer gets, and the sequences that its rows belong to."""
        if is_frame(X):
            X = as_frame(X)
            sequences = _rows_in_order(X)
            return X.iloc[sequences.data], sequences
        sequences = as_sequences(X).X
        data = sequences.data
        if isinstance(data, np.ndarray) and data.dtype == object:
            _refuse_endless(sequences)
        if isinstance(data, SymbolTable):
            return _frame({name: data.column(name) for name in data.names}), sequences
        if data.ndim > 1 or _takes_tokens(transformer):
            return data, sequences
        if any(isinstance(token, Mapping) for token in data):
            return _frame(data.tolist()), sequences
        return data.reshape(-1, 1), sequences

    def _made(self, result: Any, sequences: SequenceArray, X: Any) -> Any:
        """Return the rows of the result as sequences, or as a DataFrame."""
        n_tokens = sequences.offsets[-1]
        n_rows = result.shape[0] if np.ndim(result) or sp.issparse(result) else None
        if n_rows != n_tokens:
            raise ValueError(
                f"{type(self.transformer).__name__} must return a row for each of the {n_tokens} "
                f"tokens, but returned {'no rows' if n_rows is None else n_rows}"
            )
        if sp.issparse(result):
            result = sp.csr_array(result)
        elif not hasattr(result, "iloc"):
            result = np.asarray(result).reshape(n_rows, -1)
        n_columns = result.shape[1]
        if isinstance(result, np.ndarray) and result.dtype.kind in "OUS":
            result = _frame(result, columns=self._names(n_columns))
        if hasattr(result, "iloc"):
            result = frame_columns(result)
        made = sequences.with_data(result)
        if is_frame(X) and _get_output_config("transform", self)["dense"] == "default":
            return _as_frame(made, as_frame(X), self._names(n_columns))
        return self._output(made, X)

    def _names(self, n_columns: int) -> Any:
        """Return the names of the output columns; numbers if the transformer has no names."""
        try:
            return self.get_feature_names_out()
        except AttributeError:
            return [f"x{j}" for j in range(n_columns)]


def _frame(*content: Any, **columns: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(*content, **columns)


def _require_tokens(rows: Any) -> None:
    if rows.shape[0] == 0:
        raise ValueError("X has no tokens: at least one sequence must not be empty")


def _refuse_endless(sequences: SequenceArray) -> None:
    """Raise ValueError for a tuple whose hash, which transformers take, would have no end."""
    tokens = sequences.data.ravel().tolist()
    values = [v for token in tokens if isinstance(token, Mapping) for v in token.values()]
    for items in (tokens, values):
        endless = endless_hash(items)
        if endless is not None:
            raise ValueError(f"X: a token must not hold {shown(items[endless])}")


def _takes_tokens(transformer: Any) -> bool:
    """Say whether the transformer, or the first one within it, is for texts or dicts."""
    while parts := getattr(transformer, "steps", getattr(transformer, "transformer_list", None)):
        transformer = parts[0][1]
    return hasattr(transformer, "__sklearn_tags__") and not (
        get_tags(transformer).input_tags.two_d_array
    )


def _applied(method: Any, rows: Any, *labels: Any, **params: Any) -> Any:
    """What a method of the transformer makes of the rows."""
    with config_context(transform_output="default"):
        try:
            return method(rows, *labels, **params)
        except (AttributeError, TypeError) as error:
            kind = type(rows[0] if isinstance(rows, np.ndarray) else rows).__name__
            raise ValueError(
                f"{type(method.__self__).__name__} cannot take X, which has tokens of type "
                f"{kind}: {error}"
            ) from error


def _repeated(value: Any, sequences: SequenceArray, order: np.ndarray | None) -> Any:
    """Return a value of each token, in the order of the tokens, for a value of each sample."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return value
    if order is not None and len(value) == len(order):
        return np.asarray(value)[order]
    if order is None and len(value) == len(sequences):
        return np.repeat(np.asarray(value), sequences.lengths, axis=0)
    return value
