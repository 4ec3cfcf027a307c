"""The column that holds the tokens, for transformers with a parameter ``column``."""

from collections.abc import Sequence

import numpy as np

from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable
from ..data.words import Words, find_words
from ..utils.soundness import is_fitted
from ..utils.warning import warn_caller
from ._found_columns import FOUND_COLUMNS
from .presets import SPELLING


class HasWordColumn:
    """Mixin of transformers that look at one column of symbols, the tokens.

    The column is named by ``column``; by default it is found in fit, and kept as ``column_``.
    """

    column: str | None = None
    column_: str | None

    def _choose_column(self, X: SequenceArray) -> str | None:
        """Return the column of the tokens in fit; warn if it could be another one."""
        names = X.data.names
        if self.column is None and len(names) > 1:
            name, rivals = _find(X)
            if rivals:
                warn_caller(
                    f"{type(self).__name__}: the column {name!r} of X is taken for the tokens, but "
                    f"{', '.join(map(repr, rivals[:3]))} may be meant; {self._how_to_name(name)}",
                )
            return name
        return names[column_number(self.column, names)]

    def _place_of_column(self, table: SymbolTable, lengths: np.ndarray) -> int:
        """Return the number of the column of the tokens in transform.

        Raises
        ------
        ValueError
            If there is no such column, or it was not chosen in fit and could be another one than
            the first.
        """
        names = table.names
        column = self._known_column(names)
        if column is None and len(names) > 1:
            found, _ = _find(SequenceArray(table, np.append(0, np.cumsum(lengths))))
            if found != names[0]:
                raise ValueError(
                    f"{type(self).__name__} was not fitted to these columns, and of {[*names]} not "
                    f"the first but {found!r} seems to hold the tokens: fit it to the training "
                    f"data, or {self._how_to_name(found)}"
                )
        return column_number(column, names)

    def _known_column(self, names: Sequence[str]) -> str | None:
        """Return the column that is given or was found in fit; None if neither is so."""
        if self.column is None and is_fitted(self):
            found = self.column_
            # Token strings have no names of columns.
            are_strings = found in (None, "token") or tuple(names) == ("token",)
            return None if are_strings and found not in names else found
        return self.column

    def _how_to_name(self, column: str) -> str:
        return f"choose with column={column!r}"


def column_number(column: str | None, names: Sequence[str]) -> int:
    """Return the number of the column of this name; None means the first column."""
    if column is None and names:
        return 0
    if column not in names:
        raise ValueError(f"X has no column {column!r}; its columns are {[*names]}")
    return names.index(column)


def _find(X: SequenceArray) -> Words:
    """Return the column of the tokens, among those that were not made from tokens or labels."""
    names = X.data.names
    made = {*FOUND_COLUMNS}.union(*(s for s in SPELLING.values() if {*s} <= {*names}))
    given = [name for name in names if name not in made]
    return find_words(X.with_data(X.data.select(given)) if 0 < len(given) < len(names) else X)
