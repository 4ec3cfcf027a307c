"""Bases of the transformers of sequences: input, tags and output."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config

from ..data.frames import as_frame, frame_symbols
from ..data.graphs import GraphArray
from ..data.ragged import SequenceArray
from ..data.sequences import as_sequences, is_table
from ..data.symbols import SymbolTable, join_columns, symbolize
from ..utils.replaced_parts import check_parts
from ..utils.soundness import Fact, Requirement, Sound
from .word_column import HasWordColumn


class SequenceTransformer(Sound, TransformerMixin, BaseEstimator):
    """A transformer of sequences of strings, feature dicts or symbols."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.dict = True
        return tags

    def _output(self, result: SequenceArray, X: Any) -> Any:
        """Return the result, in the container that ``set_output`` asks for."""
        container = _get_output_config("transform", self)["dense"]
        if container == "default":
            return result
        if container != "pandas":
            raise ValueError(
                f"the output of {type(self).__name__} can be 'default' or 'pandas', "
                f"not {container!r}"
            )
        if isinstance(result, GraphArray):
            raise ValueError("a DataFrame has no edges: a GraphArray needs the output 'default'")
        return _as_frame(result, X, self.get_feature_names_out())


class SymbolTransformer(SequenceTransformer):
    """A transformer from columns of symbols to columns of symbols, which learns nothing.

    A subclass names its output columns in ``_names_out(names)``, and computes them in
    ``_transform(table, lengths)``.
    """

    def fit(self, X: Any, y: Any = None):
        """Check the parameters, and store the names of the columns.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        self
        """
        self._fit(as_symbols(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> SequenceArray:
        """Fit and transform X, which is turned into symbols only once.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        SequenceArray of SymbolTable
            With the sequences of X.
        """
        sequences = as_symbols(X)
        self._fit(sequences)
        return self._made(sequences, X)

    def transform(self, X: Any) -> SequenceArray:
        """Turn sequences into sequences with the new columns.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.

        Returns
        -------
        SequenceArray of SymbolTable
            With the sequences of X.

        Raises
        ------
        ValueError
            If a token is not a string or dict, or a column is missing.
        """
        check_parts(self)
        columns = getattr(self, "feature_names_in_", ())
        return self._made(as_symbols(X, columns, self._needed_columns()), X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the input columns. Default: the names seen in fit, or ``["token"]``.

        Returns
        -------
        ndarray of str objects
        """
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", ["token"])
        return np.array(self._names_out(tuple(input_features)), dtype=object)

    def tagger_step(self, names: tuple[str, ...]) -> list:
        """What a tagger does in place of this transformer.

        Parameters
        ----------
        names : tuple of str
            The columns of X.

        Returns
        -------
        list
            As :func:`~sklearn_crcrf.serving.columns.step_of` takes it.

        Raises
        ------
        ValueError
            If taggers cannot do it.
        """
        raise ValueError(f"a tagger cannot do what {self!r} does")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _fit(self, sequences: SequenceArray) -> None:
        names = sequences.data.names
        self._names_out(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        if isinstance(self, HasWordColumn):
            self.column_ = self._choose_column(sequences)

    def _requirements(self) -> Iterator[Requirement]:
        names = self.feature_names_in_.tolist()
        are_names = all(isinstance(name, str) for name in names)
        yield Fact("feature_names_in_", are_names, "must be strings")
        self._names_out(tuple(names))  # raises if a parameter is invalid

    def _made(self, sequences: SequenceArray, X: Any) -> Any:
        table = self._transform(sequences.data, sequences.lengths)
        return self._output(sequences.with_data(table), X)

    def _needed_columns(self) -> Collection[str]:
        """Return the columns without which feature dicts are not of the kind that was fitted."""
        column = getattr(self, "column_", None)
        return () if column is None else (column,)

    @abstractmethod
    def _names_out(self, names: tuple[str, ...]) -> list[str]: ...

    @abstractmethod
    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable: ...


def is_frame(X: Any) -> bool:
    """Say whether X is a DataFrame, or a Series with a row for each token."""
    return hasattr(X, "iloc") and is_table(X)


def as_symbols(X: Any, columns: Iterable[str] = (), needed: Collection[str] = ()) -> SequenceArray:
    """Convert the input of a transformer to a SequenceArray of a SymbolTable.

    Parameters
    ----------
    X : list of sequences of str or dict, SequenceArray, or DataFrame
        The tokens.
    columns : iterable of str, optional
        The columns seen in fit. Feature dicts get these, as a few of them, or of no tokens, do not
        show all keys that there may be.
    needed : collection of str
        Those that feature dicts must have: without one of them, the columns stay as they are.
    """
    if not is_frame(X):
        sequences = as_sequences(X).X
        names = [*columns]
        if names and sequences.data.shape == (0,):
            return sequences.with_data(_columns_of_fit(_NO_COLUMNS, names))
        table = symbolize(sequences)
        # Token strings have no names, so a transformer of them takes any columns.
        is_named = sequences.kind == "dicts" and names not in ([], ["token"])
        if is_named and all(name in table for name in needed):
            table = _columns_of_fit(table, names)
        return sequences.with_data(table)
    X = as_frame(X)
    rows = _rows_in_order(X)
    return rows.with_data(frame_symbols(X.iloc[rows.data]))


_NO_COLUMNS = SymbolTable(np.empty((0, 0)), [], [])


def _columns_of_fit(table: SymbolTable, names: list[str]) -> SymbolTable:
    """Return the columns of these names; those that are missing have no symbols."""
    missing = [name for name in names if name not in table]
    codes = np.full((len(table), len(missing)), -1)
    absent = SymbolTable(codes, [()] * len(missing), missing)
    return join_columns([table, absent]).select(names)


def _rows_in_order(frame: Any) -> SequenceArray:
    """Return the numbers of the rows of a DataFrame, as sequences."""
    rows = as_sequences(frame.iloc[:, :0].assign(row=np.arange(len(frame)))).X
    return SequenceArray(rows.data[:, 0], rows.offsets)


def _as_frame(sequences: SequenceArray, X: Any, names: np.ndarray) -> Any:
    """Return a DataFrame with one row per token, indexed like X, or by sequence and position."""
    import pandas as pd

    if isinstance(sequences.data, SymbolTable):
        table = sequences.data
        columns = zip(table.names, table.codes.T, table.categories, strict=True)
        frame = pd.DataFrame({n: pd.Categorical.from_codes(c, s) for n, c, s in columns})
    elif isinstance(sequences.data, np.ndarray):
        frame = pd.DataFrame(sequences.data, columns=names)
    else:
        frame = pd.DataFrame.sparse.from_spmatrix(sequences.data, columns=names)
    if isinstance(X, pd.DataFrame):
        frame = frame.iloc[np.argsort(_rows_in_order(X).data)]
        return frame.set_axis(X.index)
    sequence = np.repeat(np.arange(len(sequences)), sequences.lengths)
    position = np.arange(len(sequence)) - np.repeat(sequences.offsets[:-1], sequences.lengths)
    index = pd.MultiIndex.from_arrays([sequence, position], names=["sequence", "position"])
    return frame.set_axis(index)
