"""Which labels begin, continue and end segments, where labellings are segmentations."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .schemes import PREFIXES, check_option, read_labels

__all__ = ["ONE_TO_ONE", "Roles", "roles_of"]

ONE_TO_ONE = ("IOB2", "IOBES")
"""The schemes in which each segmentation is spelled by one labelling, and no other."""


class Roles(NamedTuple):
    """The labels of the tokens of segments, by their place in the segment.

    A segment of one token has the label ``single`` of its type; a longer segment has ``first``,
    ``inside`` for all tokens between, and ``last``. In IOB2 ``single`` is ``first`` and ``last`` is
    ``inside``. All other labels are of single tokens between segments.

    Attributes
    ----------
    types : ndarray of shape (n_types,), object
    single, first, inside, last : ndarray of shape (n_types,), int32
        Label ids, -1 for a label that does not occur.
    kind : ndarray of shape (n_labels,), int32
        The type of each label, -1 for labels between segments.

    Examples
    --------
    >>> from sklearn_crcrf.segments.roles import roles_of
    >>> roles = roles_of(["B-PER", "I-PER", "O"], "IOB2")
    >>> roles.types, roles.first, roles.last, roles.outside()
    (array(['PER'], dtype=object), array([0], dtype=int32), array([1], dtype=int32), array([2]))
    """

    types: np.ndarray
    single: np.ndarray
    first: np.ndarray
    inside: np.ndarray
    last: np.ndarray
    kind: np.ndarray

    def outside(self) -> np.ndarray:
        """The labels of tokens between segments."""
        return np.flatnonzero(self.kind < 0)

    def begins(self) -> np.ndarray:
        """Whether each label can be at the first token of a segment, or between segments."""
        return self._is_one_of(self.single, self.first) | (self.kind < 0)

    def ends(self) -> np.ndarray:
        """Whether each label can be at the last token of a segment, or between segments."""
        return self._is_one_of(self.single, self.last) | (self.kind < 0)

    def continues(self) -> np.ndarray:
        """Whether a label continues the segment of a label before it, (n_labels, n_labels)."""
        same = (self.kind[:, None] == self.kind) & (self.kind >= 0)
        before = self._is_one_of(self.first, self.inside)
        return same & np.outer(before, self._is_one_of(self.inside, self.last))

    def allowed(self) -> np.ndarray:
        """Whether a label can follow a label in a labelling that spells a segmentation."""
        return self.continues() | np.outer(self.ends(), self.begins())

    def _is_one_of(self, *labels: np.ndarray) -> np.ndarray:
        every = np.concatenate(labels)
        found = np.zeros(len(self.kind), dtype=bool)
        found[every[every >= 0]] = True
        return found


def roles_of(classes: Iterable[Any], scheme: str) -> Roles:
    """The roles of labels in a scheme.

    Parameters
    ----------
    classes : iterable of n_labels labels
        Labels that the scheme does not know are labels of tokens between segments, like "O".
    scheme : {"IOB2", "IOBES"}

    Returns
    -------
    Roles

    Raises
    ------
    ValueError
        If it is another scheme: in IOB1 the labels of a segment depend on the segment before it.

    Examples
    --------
    >>> from sklearn_crcrf.segments.roles import roles_of
    >>> roles_of(["B-X", "E-X", "S-X", "O"], "IOBES").inside
    array([-1], dtype=int32)
    """
    check_option("scheme", scheme, ONE_TO_ONE)
    classes = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    known = [label if _fits(label, scheme) else "O" for label in classes]
    parsed = read_labels(known, scheme)
    places = {
        (prefix, kind): label
        for label, (prefix, kind) in enumerate(
            zip(parsed.prefix.tolist(), parsed.kind.tolist(), strict=True)
        )
    }
    single, first, inside, last = (
        np.array([places.get((prefix, kind), -1) for kind in range(len(parsed.types))], np.int32)
        for prefix in ("SBIE" if scheme == "IOBES" else "BBII")
    )
    return Roles(parsed.types, single, first, inside, last, parsed.kind.astype(np.int32))


def _fits(label: Any, scheme: str) -> bool:
    prefix = str(label).partition("-")[0] if isinstance(label, str) else ""
    return len(prefix) == 1 and prefix in PREFIXES[scheme]
