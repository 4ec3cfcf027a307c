"""Constraints on which labels occur together in a group: required ones, or the same kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..encoding import as_python
from ..inequalities import Inequalities, label_sums
from ..segments.schemes import SCHEMES, check_option, read_labels
from .global_constraint import (
    BoundConstraint,
    GlobalConstraint,
    Samples,
    as_labels,
    documented,
    per_text,
)


@dataclass(frozen=True)
class _BoundImplication(BoundConstraint):
    """Labels of a group that require other labels in the group.

    Parameters
    ----------
    if_any, then_any : ndarray of shape (n_labels,), bool
    """

    if_any: np.ndarray
    then_any: np.ndarray

    def is_broken(self, y: np.ndarray) -> np.ndarray:
        return (self.groups.sums(self.if_any[y]) > 0) & (self.groups.sums(self.then_any[y]) == 0)

    def inequalities(self) -> Inequalities:
        """With a variable u_g of each group: z_t(if_any) <= u_g <= sum_t z_t(then_any)."""
        token, (n_members, n_groups) = self.groups.token, self.groups.membership.shape
        shape = n_members + n_groups, self.n_tokens
        return Inequalities(
            label_sums(np.arange(n_members), token, 1.0 * self.if_any, shape)
            - label_sums(n_members + self.groups.group, token, 1.0 * self.then_any, shape),
            sp.vstack([-self.groups.membership, sp.eye_array(n_groups)], format="csr"),
            np.zeros(n_members + n_groups),
        )


@documented
class Implies(GlobalConstraint):
    """If a token of a group has one label, a token of the group must have another label.

    A group in which any token has one of the labels ``if_any`` must also have a token with one of
    the labels ``then_any``.

    Parameters
    ----------
    if_any, then_any : label or collection of labels
        The labels that need another one, and the labels that they need.
    {per}

    Raises
    ------
    ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import Implies
    >>> X, y = [["the", "dog", "walks"], ["dogs", "sleep"]], [["D", "N", "V"], ["N", "V"]]
    >>> crf = CRF().fit(X, y)
    >>> crf.predict([["the", "dog"]], subject_to=[Implies("D", "V")]).tolist()
    [['N', 'V']]
    """

    def __init__(self, if_any: Any, then_any: Any, per: Any = "sample"):
        self.per = self._check_per(per)
        self.if_any, self.then_any = as_labels(if_any, "if_any"), as_labels(then_any, "then_any")

    def __repr__(self) -> str:
        return f"Implies({self.if_any}, {self.then_any}{per_text(self.per)})"

    def bind(self, samples: Samples, name: str) -> BoundConstraint:
        masks = np.zeros((2, len(samples.classes)), dtype=bool)
        masks[0, samples.label_ids(self.if_any, name)] = True
        masks[1, samples.label_ids(self.then_any, name)] = True
        groups = samples.groups(self.per, f"{name}.per")
        return _BoundImplication(groups, samples.offsets, *masks)


@dataclass(frozen=True)
class _BoundAgreement(BoundConstraint):
    """Labels of a group that must be of the same kind.

    Parameters
    ----------
    kind : ndarray of shape (n_labels,), int64
        The number of the kind of each label, -1 for labels that agree with all others.
    """

    kind: np.ndarray

    def is_broken(self, y: np.ndarray) -> np.ndarray:
        kind = self.kind[y][self.groups.token]
        first, n_kinds = self.groups.first[:-1], self.kind.max() + 1
        if len(first) == 0:
            return np.zeros(0, dtype=bool)
        lowest = np.minimum.reduceat(np.where(kind < 0, n_kinds, kind), first)
        return np.maximum.reduceat(kind, first) > lowest

    def inequalities(self) -> Inequalities:
        """With a variable u_g(c) of each group and kind: z_t(c) <= u_g(c), sum_c u_g(c) <= 1."""
        n_kinds, (n_members, n_groups) = int(self.kind.max()) + 1, self.groups.membership.shape
        shape = n_members, self.n_tokens
        of_kinds = [
            label_sums(np.arange(n_members), self.groups.token, self.kind == kind, shape)
            for kind in range(n_kinds)
        ]
        no_labels = sp.csr_array((n_groups, self.n_tokens * len(self.kind)))
        of_members = sp.kron(sp.eye_array(n_kinds), -self.groups.membership)
        of_groups = sp.kron(np.ones((1, n_kinds)), sp.eye_array(n_groups))
        return Inequalities(
            sp.vstack([*of_kinds, no_labels], format="csr"),
            sp.vstack([of_members, of_groups], format="csr"),
            np.repeat([0.0, 1.0], [n_kinds * n_members, n_groups]),
        )


@documented
class SameLabel(GlobalConstraint):
    """All tokens of a group have the same label, or labels of the same kind.

    Parameters
    ----------
    groups : "sample", "parent" or names in the layout of X
        The groups of tokens: the tokens of a sample with the same name, all tokens of a sample, or
        the children of a token. Names are hashable; a token with the name None, NaN or -1 is in no
        group.
    of : mapping or callable from label to kind, or \
            {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, optional
        The kind of each label, which must be the same in a group; by default each label is a kind.
        Labels of the kind None, or without an entry, agree with all others. A scheme stands for the
        types of its segments, where ``"O"`` has the kind None.

    Raises
    ------
    ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import SameLabel
    >>> X = [["in", "Paris"], ["to", "Paris"], ["Paris", "sings"]]
    >>> y = [["O", "LOC"], ["O", "LOC"], ["PER", "O"]]
    >>> crf, document = CRF().fit(X, y), [["in", "Paris", "Paris", "sings"]]
    >>> crf.predict(document).tolist()
    [['O', 'LOC', 'PER', 'O']]
    >>> crf.predict(document, subject_to=[SameLabel(document)]).tolist()
    [['O', 'LOC', 'LOC', 'O']]
    """

    def __init__(self, groups: Any, of: Mapping | Callable | str | None = None):
        if isinstance(of, str):
            check_option("of", of, SCHEMES)
        elif of is not None and not isinstance(of, Mapping) and not callable(of):
            raise ValueError(
                "of must be a mapping or a function from labels to kinds, or the name of a "
                f"scheme, got {of!r}"
            )
        self.groups, self.of = self._check_per(groups, "groups"), of

    def __repr__(self) -> str:
        groups = repr(self.groups) if isinstance(self.groups, str) else "..."
        return f"SameLabel({groups})" if self.of is None else f"SameLabel({groups}, of={self.of!r})"

    def bind(self, samples: Samples, name: str) -> BoundConstraint:
        groups = samples.groups(self.groups, f"{name}.groups")
        return _BoundAgreement(groups, samples.offsets, self._kinds(samples, name))

    def _kinds(self, samples: Samples, name: str) -> np.ndarray:
        """Number the kind of each label, -1 for labels that agree with all others."""
        if self.of is None:
            return np.arange(len(samples.classes))
        if isinstance(self.of, str):
            return read_labels(samples.classes, self.of).kind
        if isinstance(self.of, Mapping):
            samples.label_ids(map(as_python, self.of), f"{name}.of")
        kind_of = self.of.get if isinstance(self.of, Mapping) else self.of
        kinds = map(kind_of, samples.classes.tolist())
        numbers: dict[Any, int] = {None: -1}
        return np.array([numbers.setdefault(kind, len(numbers) - 1) for kind in kinds])
