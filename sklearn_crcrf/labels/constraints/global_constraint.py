"""What constraints on the labels of whole samples have in common."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from ...data.layout import Layout
from ...data.missing import is_missing, unhashable
from ...data.ragged import token_name
from ...utils.docstrings import entries_of, filling
from ...utils.names import shown
from ..encoding import as_python
from ..inequalities import Inequalities

PER = ("sample", "parent")


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
    >>> from sklearn_crcrf.labels.constraints.global_constraint import Groups
    >>> groups = Groups.of(np.arange(4), np.array([7, 7, 7, 8]), offsets=np.array([0, 2, 4]))
    >>> groups.token, groups.first, groups.sample
    (array([0, 1, 2, 3]), array([0, 2, 3, 4]), array([0, 1, 1]))
    """

    token: np.ndarray
    first: np.ndarray
    sample: np.ndarray

    @classmethod
    def of(cls, token: np.ndarray, key: np.ndarray, offsets: np.ndarray) -> "Groups":
        """Return the groups of tokens of the same sample that have the same key.

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
        """Return the groups of the samples from ``start`` to ``stop - 1``, numbered from 0.

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
        """Return the sum over each group of a value of each token."""
        return np.bincount(self.group, values[self.token], self.n_groups)


class Samples(NamedTuple):
    """What constraints need to know of the samples that they are on.

    Parameters
    ----------
    layout : Layout
    links : tuple of two int64 arrays of shape (n_links,), or None
        Parents and children among all tokens; None if tokens have no parents.
    classes : ndarray of shape (n_labels,)
    """

    layout: Layout
    links: tuple[np.ndarray, np.ndarray] | None
    classes: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        """Where each sample begins among all tokens."""
        return self.layout.offsets

    @property
    def n_tokens(self) -> int:
        """The number of tokens of all samples."""
        return int(self.offsets[-1])

    def label_ids(self, labels: Iterable, name: str) -> list[int]:
        """Find the ids of labels; ValueError if a label is not among the classes."""
        known = self.classes.tolist()
        unknown = [label for label in labels if label not in known]
        if unknown:
            raise ValueError(f"{name}: the label {unknown[0]!r} is not among the classes {known}")
        return [known.index(label) for label in labels]

    def groups(self, per: Any, name: str) -> Groups:
        """Return the groups of tokens that the parameter ``per`` of a constraint stands for.

        Parameters
        ----------
        per : "sample", "parent", or the name of the group of each token in the layout of X
        name : str
            Name of the parameter in error messages.

        Raises
        ------
        ValueError
            If tokens have no parents, or the groups do not fit X.
        """
        if not isinstance(per, str):
            ids = group_ids(per, self.layout, name)
            token = np.flatnonzero(ids >= 0)
            return Groups.of(token, ids[token], self.offsets)
        if per == "sample":
            tokens = np.arange(self.n_tokens)
            return Groups.of(tokens, np.zeros_like(tokens), self.offsets)
        if self.links is None:
            raise ValueError(
                f'{name}="parent" needs tokens that have parents, such as the nodes of trees, but '
                "X has sequences, in which each token only follows another"
            )
        parent, child = self.links
        return Groups.of(child, parent, self.offsets)


@dataclass(frozen=True)
class BoundConstraint(ABC):
    """A constraint on the tokens of certain samples.

    Parameters
    ----------
    groups : Groups
    offsets : ndarray of shape (n_samples + 1,), int64
    """

    groups: Groups
    offsets: np.ndarray

    @property
    def n_tokens(self) -> int:
        """The number of tokens of all samples."""
        return int(self.offsets[-1])

    def take(self, start: int, stop: int) -> Self:
        """Constrain the samples from ``start`` to ``stop - 1``, whose tokens begin at 0."""
        offsets = self.offsets[start : stop + 1] - self.offsets[start]
        return replace(self, groups=self.groups.take(start, stop, self.offsets), offsets=offsets)

    @abstractmethod
    def is_broken(self, y: np.ndarray) -> np.ndarray:
        """Say whether label ids, of shape (n_tokens,), break the constraint, (n_groups,)."""

    @abstractmethod
    def inequalities(self) -> Inequalities:
        """Return the labellings that do not break the constraint."""

    def broken_samples(self, y: np.ndarray) -> np.ndarray:
        """Return the samples in which label ids break the constraint, in increasing order."""
        return np.unique(self.groups.sample[self.is_broken(y)])


class GlobalConstraint(ABC):
    """Base of the constraints for ``predict(X, subject_to=[...])``.

    A subclass is a description only; :meth:`bind` makes it a constraint on certain samples.

    Examples
    --------
    >>> from sklearn_crcrf.labels import AtMost, GlobalConstraint
    >>> isinstance(AtMost("SUBJECT", 1), GlobalConstraint)
    True
    """

    @staticmethod
    def _check_per(per: Any, name: str = "per") -> Any:
        """Raise ValueError if ``per`` is a string, but none that has a meaning."""
        if isinstance(per, str) and per not in PER:
            raise ValueError(
                f'{name} must be "sample", "parent" or names in the layout of X, got {per!r}'
            )
        return per

    @abstractmethod
    def bind(self, samples: Samples, name: str) -> BoundConstraint:
        """Return the constraint on certain samples.

        Parameters
        ----------
        samples : Samples
        name : str
            Name of the constraint in error messages.

        Returns
        -------
        BoundConstraint

        Raises
        ------
        ValueError
            If a label is not among the classes, or an array does not fit X.
        """


documented = filling(
    entries_of("""
    labels : label or collection of labels
        The labels to count.
    per : {"sample", "parent"} or names in the layout of X, default="sample"
        The groups of tokens, for each of which the constraint holds: all tokens of a sample, the
        children of a token, which needs edges, or the tokens of a sample with the same name. Names
        are hashable; a token with the name None, NaN or -1 is in no group.
    """)
)
"""A decorator: ``{per}`` alone in a line of a docstring stands for its entry."""


def as_labels(labels: Any, name: str) -> list:
    """Return one label or a collection of labels as a list of labels.

    Raises
    ------
    ValueError
        If there is no label, or a tuple has too many levels to be hashed.
    """
    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    is_one = isinstance(labels, str | bytes) or not isinstance(labels, Collection)
    as_list = [as_python(label) for label in ([labels] if is_one else labels)]
    if not as_list:
        raise ValueError(f"{name} must not be empty")
    wrong = unhashable(as_list)
    if wrong is not None:
        raise ValueError(f"{name}: {shown(as_list[wrong])} is not hashable")
    return as_list


def per_text(per: Any) -> str:
    """Return the parameter ``per`` in the text of a constraint."""
    if not isinstance(per, str):
        return ", per=..."
    return "" if per == "sample" else f", per={per!r}"


def group_ids(values: Any, layout: Layout, name: str) -> np.ndarray:
    """Return the number of the group of each token, -1 for tokens that are in none.

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
