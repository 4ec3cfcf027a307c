"""Which labels begin, continue and end segments, where labellings are segmentations."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .schemes import ONE_TO_ONE, SCHEMES, check_option, read_labels


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
    >>> from sklearn_crcrf.labels.segments.roles import roles_of
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
        """Return the labels of tokens between segments."""
        return np.flatnonzero(self.kind < 0)

    def begins(self) -> np.ndarray:
        """Say whether each label can be at the first token of a segment, or between segments."""
        return self._is_one_of(self.single, self.first) | (self.kind < 0)

    def ends(self) -> np.ndarray:
        """Say whether each label can be at the last token of a segment, or between segments."""
        return self._is_one_of(self.single, self.last) | (self.kind < 0)

    def continues(self) -> np.ndarray:
        """Say whether a label continues the segment of a label before it, (n_labels, n_labels)."""
        same = (self.kind[:, None] == self.kind) & (self.kind >= 0)
        before = self._is_one_of(self.first, self.inside)
        return same & np.outer(before, self._is_one_of(self.inside, self.last))

    def allowed(self) -> np.ndarray:
        """Say whether a label can follow a label in a labelling that spells a segmentation."""
        return self.continues() | np.outer(self.ends(), self.begins())

    def _is_one_of(self, *labels: np.ndarray) -> np.ndarray:
        every = np.concatenate(labels)
        found = np.zeros(len(self.kind), dtype=bool)
        found[every[every >= 0]] = True
        return found


def roles_of(classes: Iterable[Any], scheme: str) -> Roles:
    """Return the roles of labels in a scheme.

    Parameters
    ----------
    classes : iterable of n_labels labels
        Labels that the scheme does not know are labels of tokens between segments, like "O".
    scheme : {"IOB2", "IOBES", "BIOES", "BILOU", "BMES"}

    Returns
    -------
    Roles

    Raises
    ------
    ValueError
        If it is another scheme: in IOB1 the labels of a segment depend on the segment before it,
        and IO cannot separate segments of one type.

    Examples
    --------
    >>> from sklearn_crcrf.labels.segments.roles import roles_of
    >>> roles_of(["B-X", "E-X", "S-X", "O"], "IOBES").inside
    array([-1], dtype=int32)
    """
    check_option("scheme", scheme, ONE_TO_ONE)
    classes = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    split, roles = SCHEMES[scheme].split, SCHEMES[scheme].roles
    parsed = read_labels(["O" if split(label) is None else label for label in classes], scheme)
    meanings = zip(parsed.role.tolist(), parsed.kind.tolist(), strict=True)
    places = {meaning: label for label, meaning in enumerate(meanings)}
    first, inside, last, single = (
        np.array([places.get((roles[letter], kind), -1) for kind in range(len(parsed.types))], int)
        for letter in SCHEMES[scheme].written
    )
    found = (of.astype(np.int32) for of in (single, first, inside, last, parsed.kind))
    return Roles(parsed.types, *found)
