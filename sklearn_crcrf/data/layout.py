"""Layouts: how values of tokens are arranged in the container of an input."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d

from .ragged import SequenceArray, join_sequences, object_array

__all__ = ["Layout", "Lists", "Ragged", "Rows", "Sequences", "check_one_per_token"]


@dataclass(frozen=True)
class Layout(ABC):
    """How values of tokens are arranged in a container; calling it puts values there.

    Parameters
    ----------
    offsets : ndarray of int64 of shape (n_sequences + 1,)
        Where each sequence begins among all tokens.
    """

    offsets: np.ndarray
    is_table = False
    """Whether a sample is a row of one token."""

    @abstractmethod
    def __call__(self, flat: np.ndarray) -> Any:
        """Put the values, or rows, of all tokens into the container."""

    def flat(self, values: Any, name: str) -> SequenceArray:
        """Take one value for every token out of the container.

        Parameters
        ----------
        values : list of lists, SequenceArray, or 1-D array for a table
        name : str
            Name of the values in error messages.

        Returns
        -------
        SequenceArray of 1-D data

        Raises
        ------
        ValueError
            If there is not exactly one value for every token.
        """
        values = join_sequences(values, name)
        n_sequences, lengths = len(self.offsets) - 1, np.diff(self.offsets)
        if len(values) != n_sequences:
            raise ValueError(f"X has {n_sequences} sequences, but {name} has {len(values)}")
        differ = np.flatnonzero(values.lengths != lengths)
        if len(differ):
            i = int(differ[0])
            raise ValueError(
                f"sequence {i} has {lengths[i]} tokens in X, but {values.lengths[i]} in {name}"
            )
        check_one_per_token(values, name)
        return values


class Lists(Layout):
    """A list of sequences."""

    def __call__(self, flat: np.ndarray) -> np.ndarray:
        return object_array(SequenceArray(np.asarray(flat), self.offsets).tolist())


class Ragged(Layout):
    """A SequenceArray."""

    def __call__(self, flat: np.ndarray) -> SequenceArray:
        return SequenceArray(flat, self.offsets)


@dataclass(frozen=True)
class Rows(Layout):
    """A table, in which each token has a row.

    Parameters
    ----------
    offsets : ndarray of int64 of shape (n_sequences + 1,)
    order : ndarray of int of shape (n_tokens,), optional
        The row of each token; None if tokens are in the order of the rows.
    """

    order: np.ndarray | None = None
    is_table = True

    def __call__(self, flat: np.ndarray) -> np.ndarray:
        flat = np.asarray(flat)
        return flat if self.order is None else flat[np.argsort(self.order)]

    def flat(self, values: Any, name: str) -> SequenceArray:
        """Take one value for every token out of the rows.

        As :meth:`Layout.flat`; a 1-D array has one value for every row, in the order of the rows.
        """
        if not isinstance(values, SequenceArray):
            values, n_rows = column_or_1d(values, warn=True), int(self.offsets[-1])
            if len(values) != n_rows:
                raise ValueError(
                    "Found input variables with inconsistent numbers of samples: "
                    f"[{n_rows}, {len(values)}]"
                )
            values = values if self.order is None else values[self.order]
            values = SequenceArray(values, self.offsets)
        return super().flat(values, name)


class Sequences(NamedTuple):
    """An input, flattened, and its layout.

    ``y`` is a SequenceArray, or None if no labels were given. ``mirror`` takes one value or row
    per token of ``X`` and returns them in the container of the input.
    """

    X: SequenceArray
    y: Any
    mirror: Layout


def check_one_per_token(y: SequenceArray, name: str) -> None:
    """Raise ValueError unless the data is one-dimensional."""
    if y.data.ndim != 1:
        raise ValueError(
            f"{name} must have one value per token, but its data has shape {y.data.shape}"
        )
