"""Conjunctions of attributes, as columns that are products of columns."""

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._kernels.sparse.columns import join_columns, some_entries
from ...data.csr import csr_arrays
from ...utils.soundness import Fact, Requirement, indices


class Conjunctions(NamedTuple):
    """Columns: the attributes, followed by conjunctions of them.

    The value of a conjunction at a token is the product of the values of its attributes, so if
    these are 0 or 1, it is 1 where the token has all of them. Conjunctions are numbered from
    ``n_attributes`` on, and each is a column with a lower number joined with one more attribute.

    Parameters
    ----------
    n_attributes : int
    parent : ndarray of shape (n_conjunctions,), int32
        A column: an attribute, or another conjunction.
    last : ndarray of shape (n_conjunctions,), int32
        The attribute that the parent is joined with. If the parent is an attribute too, it has
        the lower number.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.estimators.induction.conjunctions import Conjunctions
    >>> pair = Conjunctions(2, np.array([0], np.int32), np.array([1], np.int32))
    >>> pair.columns(sp.csr_array([[1.0, 1.0], [0.0, 1.0]])).toarray()
    array([[1., 1., 1.],
           [0., 1., 0.]])
    >>> pair.names(["word=the", "pos[-1]=IN"]).tolist()
    ['word=the', 'pos[-1]=IN', 'word=the & pos[-1]=IN']
    """

    n_attributes: int
    parent: np.ndarray
    last: np.ndarray

    @classmethod
    def none(cls, n_attributes: int) -> "Conjunctions":
        """Return the attributes, without any conjunction."""
        return cls(n_attributes, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))

    @property
    def n_columns(self) -> int:
        """Number of attributes and conjunctions."""
        return self.n_attributes + len(self.parent)

    def orders(self) -> np.ndarray:
        """Return the number of attributes of each column, of shape (n_columns,)."""
        order = np.ones(self.n_columns, dtype=np.int64)
        while True:
            joined = order[self.parent] + 1
            if np.array_equal(joined, order[self.n_attributes :]):
                return order
            order[self.n_attributes :] = joined

    def members(self) -> np.ndarray:
        """Return the attributes of each column, of shape (n_columns, highest order).

        The numbers rise; in front of them is -1 where a column has fewer attributes.
        """
        order = self.orders()
        highest = int(order.max(initial=1))
        members = np.full((self.n_columns, highest), -1, dtype=np.int32)
        members[: self.n_attributes, -1] = np.arange(self.n_attributes)
        for k in range(2, highest + 1):
            column = np.flatnonzero(order == k)
            at = column - self.n_attributes
            joined = np.column_stack([members[self.parent[at], 1:], self.last[at]])
            members[column] = np.sort(joined, axis=1)
        return members

    def joined_with(self, parent: np.ndarray, last: np.ndarray) -> "Conjunctions":
        """These columns, and more conjunctions after them."""
        parents, lasts = np.append(self.parent, parent), np.append(self.last, last)
        return Conjunctions(self.n_attributes, parents.astype(np.int32), lasts.astype(np.int32))

    def parts(self, X: sp.csr_array) -> list[tuple[sp.csr_array, np.ndarray]]:
        """Return the values of all columns, separately for each number of joined attributes.

        Parameters
        ----------
        X : CSR of shape (n_tokens, n_attributes)
            With rising indices in every row.

        Returns
        -------
        list of (CSR of shape (n_tokens, n_columns of the part), ndarray of column numbers)
            With rising indices in every row. The first part is X.
        """
        order = self.orders()
        part, columns = X, np.arange(self.n_attributes)
        parts = [(part, columns)]
        for k in range(2, int(order.max(initial=1)) + 1):
            place = np.zeros(self.n_columns, dtype=np.int32)
            place[columns] = np.arange(len(columns))
            joined = np.flatnonzero(order == k)
            at = joined - self.n_attributes
            left, right = place[self.parent[at]], self.last[at]
            rising = np.lexsort((right, left))
            pairs = left[rising], right[rising], part.shape[1], X.shape[1]
            products = join_columns(*csr_arrays(part), *csr_arrays(X), *pairs)
            part, columns = sp.csr_array(products, shape=(X.shape[0], len(at))), joined[rising]
            parts.append((part, columns))
        return parts

    def columns(self, X: sp.csr_array) -> sp.csr_array:
        """Return the values of all columns, of shape (n_tokens, n_columns), with rising indices.

        Parameters
        ----------
        X : as in :meth:`parts`
        """
        return selected(self.parts(X), np.arange(self.n_columns))

    def names(self, attributes: Any, separator: str = " & ") -> np.ndarray:
        """Return the names of all columns: names of attributes, joined.

        Parameters
        ----------
        attributes : sequence of str of length n_attributes
        separator : str, default=" & "

        Returns
        -------
        ndarray of str objects of shape (n_columns,)
        """
        attributes = [str(name) for name in attributes]
        names = [
            separator.join(attributes[member] for member in row if member >= 0)
            for row in self.members().tolist()
        ]
        return np.array(names, dtype=object)

    def requirements(self) -> Iterator[Requirement]:
        """Return what must hold for columns that are loaded."""
        n, n_joined = self.n_attributes, len(self.last)
        yield indices("last", self.last, (n_joined,), n)
        yield indices("parent", self.parent, (n_joined,), n + n_joined)
        is_lower = bool((self.parent < n + np.arange(n_joined)).all())
        yield Fact("parent", is_lower, "must be columns with lower numbers")


def selected(parts: list[tuple[sp.csr_array, np.ndarray]], columns: np.ndarray) -> sp.csr_array:
    """Return some of the columns of parts, in the order given, with rising indices in every row.

    Parameters
    ----------
    parts : list of (CSR of shape (n_tokens, n_columns of the part), ndarray of column numbers)
        As of :meth:`Conjunctions.parts`.
    columns : ndarray of int
        Different column numbers.
    """
    n_columns = 1 + max(int(numbers.max(initial=-1)) for _, numbers in parts)
    place = np.full(n_columns, -1, dtype=np.int32)
    place[columns] = np.arange(len(columns))
    chosen = []
    for part, numbers in parts:
        indptr, indices, values = csr_arrays(part)
        renamed = place[numbers]
        if (renamed >= 0).any():
            kept = some_entries(indptr, indices, values, renamed)
            chosen.append(sp.csr_array(kept, shape=(part.shape[0], len(columns))))
    if not chosen:
        first, _ = parts[0]
        return sp.csr_array((first.shape[0], len(columns)), dtype=first.dtype)
    return reduce(add, chosen)
