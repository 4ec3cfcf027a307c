"""Constraints on the number of segments of each type."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...serving.segment_limits import Limits
from ..inequalities import Inequalities, label_sums
from ..segments.schemes import SCHEMES, check_option, read_labels, scheme_or_bare
from .global_constraint import BoundConstraint, GlobalConstraint, Samples, as_labels


@dataclass(frozen=True)
class BoundSegments(BoundConstraint):
    """Limits on the numbers of segments of sequences.

    Parameters
    ----------
    limits : Limits
    """

    limits: Limits

    def is_broken(self, y: np.ndarray) -> np.ndarray:
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        begins = np.zeros((len(self.limits.most), len(y) + 1), dtype=np.int64)
        begins[:, 2:] = self.limits.begins(y[:-1], y[1:])
        begins[:, starts + 1] = self.limits.counted[:, y[starts]]
        numbers = np.diff(np.cumsum(begins, axis=1)[:, self.offsets], axis=1)
        broken: np.ndarray = np.any(numbers > self.limits.most[:, None], axis=0)
        return broken[self.groups.sample]

    def inequalities(self) -> Inequalities:
        """With a variable u_t of each token: it begins a segment, sum_t u_t <= most.

        For labels j that join what labels i open, u_t >= sum_j z_t(j) - sum_i z_t-1(i).
        """
        parts, n, n_groups = [], self.n_tokens, self.groups.n_groups
        tokens, sums = np.arange(n), self.groups.membership.T
        later = np.setdiff1d(tokens, self.groups.first)
        for counted, opens, joins, most in zip(*self.limits, strict=True):
            of_labels, of_added = [], []
            for kind in np.unique(joins[counted]):
                joining = 1.0 * (counted & (joins == kind))
                opening = 1.0 * (opens == kind)
                of_labels.append(
                    label_sums(tokens, tokens, joining, (n, n))
                    - label_sums(later, later - 1, opening, (n, n))
                )
                of_added.append(-sp.eye_array(n))
            of_labels.append(sp.csr_array((n_groups, n * len(counted))))
            upper = np.repeat([0.0, most], [n * (len(of_labels) - 1), n_groups])
            of_added = sp.vstack([*of_added, sums], format="csr")
            parts.append(Inequalities(sp.vstack(of_labels, format="csr"), of_added, upper))
        return Inequalities.join(parts)


class AtMostSegments(GlobalConstraint):
    """At most k segments of each type in a sequence.

    Parameters
    ----------
    types : type of segments, collection of types, or None, default=None
        None for all types. Where labels are bare types, a segment is a run of equal labels.
    k : int, default=1
        Number of segments.
    per : {"label", "sample"}, default="label"
        Whether each of ``types`` may have k segments, or all of them together.
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="auto"
        How labels spell segments; "auto" detects it from the labels.

    Raises
    ------
    ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import AtMostSegments
    >>> X = [["12", "Oak", "St", "Reno"], ["3", "Elm", "St", "Boise"]]
    >>> crf = CRF().fit(X, [["Number", "Street", "Street", "City"]] * 2)
    >>> crf.predict([["12", "Oak", "Reno", "St"]]).tolist()
    [['Number', 'Street', 'City', 'Street']]
    >>> at_most_one = AtMostSegments(["Street", "City"], 1)
    >>> crf.predict([["12", "Oak", "Reno", "St"]], subject_to=[at_most_one]).tolist()
    [['Number', 'Street', 'Street', 'Street']]
    """

    types: list | None
    k: int
    per: str
    scheme: str

    def __init__(self, types: Any = None, k: int = 1, *, per: str = "label", scheme: str = "auto"):
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 0:
            raise ValueError(f"k must be an integer of 0 or more, got {k!r}")
        if per not in ("label", "sample"):
            raise ValueError(f'per must be "label" or "sample", got {per!r}')
        check_option("scheme", scheme, ["auto", *SCHEMES])
        self.types = None if types is None else as_labels(types, "types")
        self.k, self.per, self.scheme = int(k), per, scheme

    def __repr__(self) -> str:
        given = {"per": (self.per, "label"), "scheme": (self.scheme, "auto")}
        others = (
            f"{name}={value!r}" for name, (value, default) in given.items() if value != default
        )
        return f"{type(self).__name__}({', '.join([*self._shown(), *others])})"

    def _shown(self) -> list[str]:
        return [f"{self.types}, {self.k}"]

    def limits(self, classes: np.ndarray, name: str) -> Limits:
        """Return the limits, for labels in this order.

        Parameters
        ----------
        classes : ndarray of shape (n_labels,)
        name : str
            Name of the constraint in error messages.

        Raises
        ------
        ValueError
            If labels do not fit the scheme, or a type is not among them.
        """
        scheme = scheme_or_bare(self.scheme, classes)
        labels = read_labels(classes, scheme, name)
        types = labels.types.tolist()
        wanted = types if self.types is None else self.types
        unknown = [one for one in wanted if one not in types]
        if unknown:
            raise ValueError(f"{name}: the type {unknown[0]!r} is not among the types {types}")
        is_inside = np.isin(labels.role, ["I", "E"])
        joins = np.where(is_inside, labels.kind, -2)
        if not wanted:
            raise ValueError(f"{name}: no label is of a segment, but they are {classes.tolist()}")
        kinds = np.array([types.index(one) for one in wanted])
        groups = [kinds] if self.per == "sample" else [kinds[i : i + 1] for i in range(len(kinds))]
        counted = np.array([np.isin(labels.kind, of) for of in groups])
        opens, joins = (np.tile(part, (len(groups), 1)) for part in (labels.open(), joins))
        return Limits(counted, opens, joins, np.full(len(groups), self.k))

    def bind(self, samples: Samples, name: str) -> BoundConstraint:
        if samples.links is not None and not _are_in_a_row(*samples.links, samples.offsets):
            raise ValueError(f"{name}: segments are of sequences, but X has trees or graphs")
        limits = self.limits(samples.classes, name)
        return BoundSegments(samples.groups("sample", name), samples.offsets, limits)


class OneSegment(AtMostSegments):
    """At most one segment of each type in a sequence, such as one street in an address.

    Parameters
    ----------
    types, per, scheme : as in :class:`~sklearn_crcrf.labels.AtMostSegments`

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.labels import OneSegment
    >>> X = [["12", "Oak", "St", "Reno"], ["3", "Elm", "St", "Boise"]]
    >>> crf = CRF().fit(X, [["Number", "Street", "Street", "City"]] * 2)
    >>> crf.predict([["12", "Oak", "Reno", "St"]]).tolist()
    [['Number', 'Street', 'City', 'Street']]
    >>> crf.predict([["12", "Oak", "Reno", "St"]], subject_to=[OneSegment()]).tolist()
    [['Number', 'Street', 'Street', 'Street']]
    """

    def __init__(self, types: Any = None, *, per: str = "label", scheme: str = "auto"):
        super().__init__(types, 1, per=per, scheme=scheme)

    def _shown(self) -> list[str]:
        return [] if self.types is None else [str(self.types)]


def _are_in_a_row(parent: np.ndarray, child: np.ndarray, offsets: np.ndarray) -> bool:
    """Say whether each token of a sample but the first has one link, from the token before."""
    later = np.setdiff1d(np.arange(offsets[-1]), offsets)
    return np.array_equal(np.sort(child), later) and np.array_equal(parent, child - 1)
