"""Groups of tokens, within which constraints count and compare labels."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data.layout import Layout
from ...data.missing import is_missing, unhashable
from ...data.ragged import token_name
from ...utils.names import shown


class Groups(NamedTuple):
    """Groups of tokens; all tokens of a group are in one sample.

    Parameters
    ----------
    token : ndarray of shape (n_members,), int64
        The members of all groups, group by group.
    first : ndarray of shape (n_groups + 1,), int64
        Where the members of each group begin in ``token``; no group is empty.
    sample : ndarray of shape (n_groups,), int64
        The sample of each group, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.labels.constraints.groups import Groups
    >>> groups = Groups.of(np.arange(4), np.array([7, 7, 7, 8]), offsets=np.array([0, 2, 4]))
    >>> groups.token, groups.first, groups.sample
    (array([0, 1, 2, 3]), array([0, 2, 3, 4]), array([0, 1, 1]))
    """

    token: np.ndarray
    first: np.ndarray
    sample: np.ndarray

    @classmethod
    def of(cls, token: np.ndarray, key: np.ndarray, offsets: np.ndarray) -> "Groups":
        """The groups of tokens of the same sample that have the same key.

        Parameters
        ----------
        token, key : ndarray of shape (n_members,), int
        offsets : ndarray of shape (n_samples + 1,)
        """
        sample = np.searchsorted(offsets, token, side="right") - 1
        order = np.lexsort((token, key, sample))
        token, key, sample = token[order], key[order], sample[order]
        begins = np.ones(len(token), dtype=bool)
        begins[1:] = (np.diff(key) != 0) | (np.diff(sample) != 0)
        first = np.flatnonzero(begins)
        return cls(token, np.append(first, len(token)), sample[first])

    def take(self, start: int, stop: int, offsets: np.ndarray) -> "Groups":
        """The groups of the samples from ``start`` to ``stop - 1``, numbered from 0.

        ``offsets`` are the offsets of all samples.
        """
        a, b = np.searchsorted(self.sample, [start, stop])
        first = self.first[a : b + 1]
        token = self.token[first[0] : first[-1]] - offsets[start]
        return Groups(token, first - first[0], self.sample[a:b] - start)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.sample)

    @property
    def group(self) -> np.ndarray:
        """The group of each member."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.first))

    @property
    def membership(self) -> sp.csr_array:
        """1 for each member and its group, CSR of shape (n_members, n_groups)."""
        members = np.arange(len(self.token))
        entries = np.ones(len(members)), (members, self.group)
        return sp.csr_array(entries, shape=(len(members), self.n_groups))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum over each group of a value of each token."""
        return np.bincount(self.group, values[self.token], self.n_groups)


def group_ids(values: Any, layout: Layout, name: str) -> np.ndarray:
    """The number of the group of each token, -1 for tokens that are in none.

    Parameters
    ----------
    values : in the layout of X
        For each token anything that names its group, such as a string or an integer; None, NaN
        and -1 are for tokens in no group.
    layout : Layout
        Of X.
    name : str
        Name of the values in error messages.

    Returns
    -------
    ndarray of shape (n_tokens,), int64

    Raises
    ------
    ValueError
        If there is not one value for each token of X, or a value is not hashable.
    """
    flat = layout.flat(values, name)
    token = unhashable(flat.data)
    if token is not None:
        raise ValueError(
            f"{token_name(name, flat.offsets, token)}: the name of a group must be hashable, "
            f"but is {shown(flat.data[token])}"
        )
    numbers: dict[Any, int] = {}
    ids = [numbers.setdefault(value, len(numbers)) for value in flat.data.tolist()]
    is_group = np.array([not is_missing(value) and value != -1 for value in numbers], dtype=bool)
    found = np.array(ids, dtype=np.int64)
    return np.where(is_group[found], found, -1)
