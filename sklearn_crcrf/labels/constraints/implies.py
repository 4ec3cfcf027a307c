"""Constraints that require labels where there are certain other labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..inequalities import Inequalities, label_sums
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
