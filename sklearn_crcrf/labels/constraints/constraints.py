"""Constraints: which labels may follow each label, begin a sequence or end it."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...data.missing import unhashable
from ...utils.names import shown
from ...utils.soundness import Array, Requirement
from ..segments.schemes import SCHEMES, check_option, read_labels


class Constraints(NamedTuple):
    """Allowed transitions, first labels and last labels.

    Parameters
    ----------
    transition : ndarray of shape (n_labels, n_labels), bool
        Row = previous label.
    begin, end : ndarray of shape (n_labels,), bool
        The labels allowed at the first and at the last token of a sequence.

    Examples
    --------
    >>> from sklearn_crcrf.labels import segment_constraints
    >>> allowed = segment_constraints(["B-X", "I-X", "O"], "IOB2")
    >>> allowed.begin
    array([ True, False,  True])
    >>> allowed.scores()[1]
    array([  0., -inf,   0.])
    """

    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def requirements(self, n_labels: int) -> Iterator[Requirement]:
        """Yield the requirements of constraints with ``n_labels`` labels."""
        yield Array("transition", self.transition, (n_labels, n_labels), kind="b")
        yield Array("begin", self.begin, (n_labels,), kind="b")
        yield Array("end", self.end, (n_labels,), kind="b")

    def scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what to add to transition, begin and end scores: 0 if allowed, else -inf."""
        transition, begin, end = (np.where(allowed, 0.0, -np.inf) for allowed in self)
        return transition, begin, end

    def violations(self, y: np.ndarray, previous: np.ndarray, current: np.ndarray) -> np.ndarray:
        """Return the tokens whose labels break the constraints.

        Parameters
        ----------
        y : ndarray of shape (n_tokens,), int
            Label ids; next to -1, an unknown label, everything is allowed.
        previous, current : ndarray of shape (n_links,)
            The tokens that transitions lead from and into; a token without a link into it begins,
            and a token without a link out of it ends.

        Returns
        -------
        ndarray of int
            The tokens that may not follow, begin or end, in their order.

        Examples
        --------
        >>> import numpy as np
        >>> constraints = segment_constraints(["B-X", "I-X", "O"], "IOB2")
        >>> constraints.violations(np.array([0, 1, 2, 1]), np.array([0, 2]), np.array([1, 3]))
        array([3])
        """
        transition, begin, end = (np.pad(a, (0, 1), constant_values=True) for a in self)
        begins, ends = np.ones((2, len(y)), dtype=bool)
        begins[current] = ends[previous] = False
        wrong = (begins & ~begin[y]) | (ends & ~end[y])
        wrong[current[~transition[y[previous], y[current]]]] = True
        return np.flatnonzero(wrong)


def segment_constraints(classes: Any, scheme: str) -> Constraints:
    """Return the constraints of a segment scheme.

    Parameters
    ----------
    classes : array-like of shape (n_labels,)
        Labels such as "B-PER" and "O".
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}
        In IOB1, ``B`` may only follow a segment of the same type directly; in IOB2, ``I`` may
        only follow ``B`` or ``I`` of the same type; in IOBES (BIOES, BILOU, BMES), moreover, every
        segment that begins with ``B`` must end with ``E`` (``L``). IO allows everything.

    Returns
    -------
    Constraints

    Raises
    ------
    ValueError
        If a label does not fit the scheme.

    Examples
    --------
    >>> from sklearn_crcrf.labels import segment_constraints
    >>> segment_constraints(["B-X", "I-X", "O"], "IOB2")
    Constraints(transition=array([[ True,  True,  True],
           [ True,  True,  True],
           [ True, False,  True]]), begin=array([ True, False,  True]),
           end=array([ True,  True,  True]))
    """
    labels = read_labels(classes, scheme)
    dependent = np.isin(labels.role, list(SCHEMES[scheme].continuing))
    unfinished = np.isin(labels.role, list(SCHEMES[scheme].unfinished))
    goes_on = dependent & (labels.open()[:, None] == labels.kind)
    ends = ~dependent & ~unfinished[:, None]
    return Constraints(goes_on | ends, ~dependent, ~unfinished)


def as_constraints(constraints: Any, classes: np.ndarray) -> Constraints | None:
    """Convert any description of constraints to Constraints.

    Parameters
    ----------
    constraints : None, str, mapping, array-like or Constraints
        A scheme, see :func:`~sklearn_crcrf.labels.segment_constraints`; a mapping from a label to
        the labels that may follow it, where any may follow a label that is left out; or a bool
        array of allowed transitions of shape (n_labels, n_labels), row = previous label. Only a
        scheme or Constraints restrict the first and the last labels.
    classes : ndarray of shape (n_labels,)

    Returns
    -------
    Constraints or None

    Raises
    ------
    ValueError
        If ``constraints`` is none of these, or does not fit the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.labels import as_constraints
    >>> as_constraints({"a": ["b"]}, np.array(["a", "b"])).transition
    array([[False,  True],
           [ True,  True]])
    """
    if constraints is None:
        return None
    if isinstance(constraints, str):
        check_option("constraints", constraints, SCHEMES)
        return segment_constraints(classes.tolist(), constraints)
    n_labels = len(classes)
    if not isinstance(constraints, Constraints):
        if isinstance(constraints, Mapping):
            constraints = _followers(constraints, classes.tolist())
        everywhere = np.ones(n_labels, dtype=bool)
        constraints = Constraints(constraints, everywhere, everywhere)
    return Constraints(
        _check_allowed("constraints", constraints.transition, (n_labels, n_labels)),
        _check_allowed("constraints.begin", constraints.begin, (n_labels,)),
        _check_allowed("constraints.end", constraints.end, (n_labels,)),
    )


def _followers(constraints: Mapping, classes: list) -> np.ndarray:
    """Return the transitions that a mapping from labels to their followers allows."""
    ids = {label: i for i, label in enumerate(classes)}
    transition = np.ones((len(ids), len(ids)), dtype=bool)
    for label, followers in constraints.items():
        if isinstance(followers, str) or not isinstance(followers, Collection):
            raise ValueError(
                f"constraints: the followers of {label!r} must be a collection of labels, "
                f"but is {followers!r}"
            )
        for name in (label, *followers):
            if unhashable([name]) is not None or name not in ids:
                raise ValueError(
                    f"constraints: the label {shown(name)} is not among the classes {classes}"
                )
        transition[ids[label]] = False
        transition[ids[label], [ids[follower] for follower in followers]] = True
    return transition


def _check_allowed(name: str, allowed: Any, shape: tuple[int, ...]) -> np.ndarray:
    allowed = np.asarray(allowed)
    if allowed.dtype != bool or allowed.shape != shape:
        raise ValueError(
            f"{name} must be a bool array of shape {shape}, "
            f"but is of type {allowed.dtype} and shape {allowed.shape}"
        )
    return allowed


def forbidden_scores(
    constraints: Constraints | None, n_labels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrays to add to transition, begin and end scores: -inf where forbidden, else 0."""
    if constraints is None:
        return np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    return constraints.scores()
