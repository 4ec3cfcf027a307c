"""Constraints on sums over the labels of groups: numbers of labels, and any linear sums."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ...data.ragged import token_name
from ...utils.real_numbers import real_numbers
from ..encoding import as_python
from ..inequalities import Inequalities
from .global_constraint import (
    BoundConstraint,
    GlobalConstraint,
    Samples,
    as_labels,
    documented,
    per_text,
)

# How much a sum may exceed its bounds, as a fraction of the largest coefficient.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class _BoundSum(BoundConstraint):
    """Bounds of sums over groups, in which labels of tokens have coefficients.

    Parameters
    ----------
    label : ndarray of shape (n_named,)
        The labels that have coefficients.
    coefficient : ndarray of shape (n_named, n_tokens)
        At most 1 in absolute value.
    lower, upper : float
    n_labels : int
    """

    label: np.ndarray
    coefficient: np.ndarray
    lower: float
    upper: float
    n_labels: int

    def take(self, start: int, stop: int) -> Self:
        tokens = slice(*self.offsets[[start, stop]])
        return replace(super().take(start, stop), coefficient=self.coefficient[:, tokens])

    def is_broken(self, y: np.ndarray) -> np.ndarray:
        named = np.full(self.n_labels, -1)
        named[self.label] = np.arange(len(self.label))
        row = named[y]
        coefficient = np.where(row < 0, 0.0, self.coefficient[row, np.arange(len(y))])
        sums = self.groups.sums(coefficient)
        return (sums < self.lower - TOLERANCE) | (sums > self.upper + TOLERANCE)

    def inequalities(self) -> Inequalities:
        token, group = self.groups.token, self.groups.group
        column = token * self.n_labels + self.label[:, None]
        row = np.broadcast_to(group, column.shape)
        entries = self.coefficient[:, token].ravel(), (row.ravel(), column.ravel())
        shape = self.groups.n_groups, self.n_tokens * self.n_labels
        sums = sp.csr_array(entries, shape=shape)
        parts = []
        for sign, bound in ((1.0, self.upper), (-1.0, -self.lower)):
            if bound < np.inf:
                parts.append(Inequalities.of(sign * sums, np.full(shape[0], bound)))
        return Inequalities.join(parts)


class _Count(GlobalConstraint):
    """Base of the constraints on the number of tokens that have certain labels."""

    labels: list
    k: int
    per: Any
    # Whether k is the least, and the greatest number of tokens.
    _is_least = _is_most = True

    def __init__(self, labels: Any, k: int, per: Any = "sample"):
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 0:
            raise ValueError(f"k must be an integer of 0 or more, got {k!r}")
        self.per = self._check_per(per)
        self.labels = as_labels(labels, "labels")
        self.k = int(k)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.labels}, {self.k}{per_text(self.per)})"

    def bind(self, samples: Samples, name: str) -> BoundConstraint:
        lower = self.k if self._is_least else -np.inf
        upper = self.k if self._is_most else np.inf
        return Linear(dict.fromkeys(self.labels, 1), lower, upper, self.per).bind(samples, name)


@documented
class AtMost(_Count):
    """At most k tokens of each group have one of the labels.

    Parameters
    ----------
    {labels}
    k : int
        Number of tokens.
    {per}

    Raises
    ------
    ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import AtMost
    >>> X, y = [["the", "dog", "walks"], ["dogs", "sleep"]], [["D", "N", "V"], ["N", "V"]]
    >>> crf = CRF().fit(X, y)
    >>> crf.predict([["dog", "walks", "sleep"]]).tolist()
    [['N', 'V', 'V']]
    >>> crf.predict([["dog", "walks", "sleep"]], subject_to=[AtMost("V", 1)]).tolist()
    [['D', 'N', 'V']]
    """

    _is_least = False


@documented
class AtLeast(_Count):
    """At least k tokens of each group have one of the labels.

    Parameters
    ----------
    {labels}
    k : int
        Number of tokens.
    {per}

    Raises
    ------
    ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import AtLeast
    >>> X, y = [["the", "dog", "walks"], ["dogs", "sleep"]], [["D", "N", "V"], ["N", "V"]]
    >>> crf = CRF().fit(X, y)
    >>> crf.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    >>> crf.predict([["the", "dog"]], subject_to=[AtLeast("V", 1)]).tolist()
    [['N', 'V']]
    """

    _is_most = False


@documented
class Exactly(_Count):
    """Exactly k tokens of each group have one of the labels.

    Parameters
    ----------
    {labels}
    k : int
        Number of tokens.
    {per}

    Raises
    ------
    ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import Exactly
    >>> X, y = [["the", "dog", "walks"], ["dogs", "sleep"]], [["D", "N", "V"], ["N", "V"]]
    >>> crf = CRF().fit(X, y)
    >>> crf.predict([["the", "dog"]], subject_to=[Exactly(["N", "V"], 2)]).tolist()
    [['N', 'V']]
    """


@documented
class Linear(GlobalConstraint):
    """The coefficients of the labels of a group sum to a number between two bounds.

    This is for what the other constraints cannot say.

    Parameters
    ----------
    coefficients : mapping from label to float, or to numbers in the layout of X
        The coefficient of a label, the same for all tokens or one for each token; labels without
        an entry have the coefficient 0.
    lower : float, default=-inf
        The least sum.
    upper : float, default=inf
        The largest sum. Bounds may be exceeded by a millionth of the largest coefficient.
    {per}

    Raises
    ------
    ValueError
        If a parameter is not as described.

    Examples
    --------
    The seconds that are labelled as advertisements sum to one minute at most:

    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import Linear
    >>> X, y = [["buy", "news", "buy"], ["news", "talk"]], [["ad", "no", "ad"], ["no", "no"]]
    >>> crf, seconds = CRF().fit(X, y), [[20, 10, 50]]
    >>> crf.predict(X[:1], subject_to=[Linear({"ad": seconds}, upper=60)]).tolist()
    [['ad', 'no', 'no']]
    """

    def __init__(
        self,
        coefficients: Mapping,
        lower: float = -np.inf,
        upper: float = np.inf,
        per: Any = "sample",
    ):
        if not isinstance(coefficients, Mapping) or not coefficients:
            raise ValueError(
                "coefficients must be a mapping from labels to numbers, and not empty, "
                f"got {coefficients!r}"
            )
        if not all(isinstance(bound, Real) for bound in (lower, upper)) or not (
            lower <= upper and (lower > -np.inf or upper < np.inf)
        ):
            raise ValueError(
                "lower and upper must be numbers, lower <= upper, and not both infinite, "
                f"got lower={lower!r} and upper={upper!r}"
            )
        self.per = self._check_per(per)
        self.coefficients = {as_python(label): value for label, value in coefficients.items()}
        self.lower, self.upper = float(lower), float(upper)

    def __repr__(self) -> str:
        entries = (
            f"{label!r}: {value if isinstance(value, Real) else '...'}"
            for label, value in self.coefficients.items()
        )
        bounds = f"{self.lower}, {self.upper}{per_text(self.per)}"
        return f"Linear({{{', '.join(entries)}}}, {bounds})"

    def bind(self, samples: Samples, name: str) -> BoundConstraint:
        label = np.array(samples.label_ids(self.coefficients, name))
        coefficient = np.stack(
            [
                _coefficient(value, samples, f"{name}.coefficients[{label!r}]")
                for label, value in self.coefficients.items()
            ]
        )
        largest = np.abs(coefficient).max(initial=0.0) or 1.0
        return _BoundSum(
            samples.groups(self.per, f"{name}.per"),
            samples.offsets,
            label,
            coefficient=coefficient / largest,
            lower=self.lower / largest,
            upper=self.upper / largest,
            n_labels=len(samples.classes),
        )


def _coefficient(value: Any, samples: Samples, name: str) -> np.ndarray:
    """Return the coefficient of a label for each token."""
    if isinstance(value, Real):
        number = float(value)
        if not np.isfinite(number):
            raise ValueError(f"{name} must be finite, but is {number}")
        return np.full(samples.n_tokens, number)
    flat = samples.layout.flat(value, name)
    numbers = real_numbers(flat.data, f"{name} must hold numbers")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        where = token_name(name, flat.offsets, wrong[0])
        raise ValueError(f"{where}: it must be finite, but is {numbers[wrong[0]]}")
    return numbers
