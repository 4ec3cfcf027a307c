"""Labels as integers."""

from collections.abc import Iterable, Iterator
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..data.layout import check_one_per_token
from ..data.missing import IGNORED, is_missing, unhashable
from ..data.ragged import SequenceArray, object_array, token_name
from ..data.vocabulary import InvalidTokenError, Vocabulary
from ..utils.memory import require_memory
from ..utils.names import check_no_string, shown
from ..utils.soundness import Fact, Requirement, setting_state
from ..utils.warning import warn_caller


def encode_labels(y: SequenceArray, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Number the labels of all tokens.

    Parameters
    ----------
    y : SequenceArray of one-dimensional data
        Any hashable labels.
    name : str
        Name of the labels in error messages.

    Returns
    -------
    classes : ndarray of shape (n_labels,)
        The labels in increasing order; if they cannot be compared, by type and text.
    ids : ndarray of shape (n_tokens,), int32

    Raises
    ------
    ValueError
        If a label is None or NaN, or not hashable; the message says where.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import SequenceArray
    >>> encode_labels(SequenceArray.from_sequences([["N", "V"], ["N"]]))
    (array(['N', 'V'], dtype='<U1'), array([0, 1, 0], dtype=int32))
    """
    check_one_per_token(y, name)
    try:
        classes, ids = number_labels(y.data)
    except InvalidLabelError as error:
        where, label = token_name(name, y.offsets, error.token), y.data[error.token]
        what = "the label must be hashable, and not NaN, but is"
        if label is None:
            what = "this estimator needs the labels of all tokens, but got"
        if isinstance(label, (set, frozenset)):
            what = "this estimator takes no set of possible labels, as CRF does, but got"
        raise ValueError(f"{where}: {what} {shown(label)}") from None
    check_meant(classes.tolist(), y, name)
    return classes, ids


def sort_labels(labels: list) -> tuple[np.ndarray, np.ndarray]:
    """Put different labels in order.

    Returns
    -------
    classes : ndarray of shape (n_labels,)
        Of type str, int, float or bool if all labels have this type and keep their values in such
        an array, else of objects.
    rank : ndarray of shape (n_labels,), int32
        Position of each label in ``classes``.

    Examples
    --------
    >>> sort_labels(["V", "N"])
    (array(['N', 'V'], dtype='<U1'), array([1, 0], dtype=int32))
    >>> sort_labels([1, "a", 0])
    (array([0, 1, 'a'], dtype=object), array([1, 2, 0], dtype=int32))
    """
    order = sorted_places(labels)
    rank = np.empty(len(labels), dtype=np.int32)
    rank[order] = np.arange(len(labels), dtype=np.int32)
    return as_label_array([labels[i] for i in order]), rank


def sorted_places(labels: list) -> list[int]:
    """Sort the places of labels; if labels cannot be compared, by type and text."""
    try:
        return sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        return sorted(range(len(labels)), key=lambda i: (type(labels[i]).__name__, str(labels[i])))


class LabelIds:
    """Numbers labels in the order of their first occurrence.

    Parameters
    ----------
    classes : array-like of labels, optional
        All possible labels. Without it, new labels are accepted.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> numbers = LabelIds()
    >>> numbers.learn(SequenceArray.from_sequences([["V"], ["V", "N"]]))
    array([1, 1, 0], dtype=int32)
    >>> numbers.classes([1])
    (array(['V'], dtype='<U1'), array([-1,  0], dtype=int32))
    """

    def __init__(self, classes: Any = None):
        self._ids: dict[Any, int] = {}
        self._n_declared = None
        if classes is not None:
            check_no_string(classes, "classes")
            classes = classes.tolist() if hasattr(classes, "tolist") else list(classes)
            if not classes:
                raise ValueError("classes must not be empty")
            classes = SequenceArray.from_sequences([classes])
            self._add(encode_labels(classes, "classes")[0])
            self._n_declared = len(self._ids)

    def learn(self, y: SequenceArray, name: str = "y") -> np.ndarray:
        """Ids of all labels; new labels are given the next ids.

        Raises
        ------
        ValueError
            If a label is new, but all labels were declared; the message says where.
        """
        labels, ids = encode_labels(y, name)
        if self._n_declared is None:
            self._add(labels)
        return find_labels(self._ids, labels, ids, y, name)

    def lookup(self, y: SequenceArray) -> np.ndarray:
        """Ids of all labels, int32 of shape (n_tokens,); ValueError if a label is unknown."""
        check_one_per_token(y, "y")
        try:
            ids = [*map(self._ids.get, y.data.tolist())]
        except TypeError:  # a label has no hash
            ids = [None]
        if None in ids:
            return find_labels(self._ids, *encode_labels(y), y, "y")
        return np.array(ids, dtype=np.int32)

    def classes(self, seen: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels that were declared or have these ids, in order.

        Returns
        -------
        classes : ndarray of shape (n_labels,)
        rank : ndarray of int32
            Position of each id in ``classes``, -1 for labels left out.
        """
        labels = list(self._ids)
        used = np.union1d(np.arange(self._n_declared or 0), np.asarray(seen, dtype=np.int64))
        classes, order = sort_labels([labels[i] for i in used])
        rank = np.full(len(labels), -1, dtype=np.int32)
        rank[used] = order
        return classes, rank

    def in_order(self, seen: Any) -> tuple["LabelIds", np.ndarray]:
        """Return the labels that were declared or have these ids, with ids in increasing order.

        Returns
        -------
        ordered : LabelIds
        rank : ndarray of int32
            The new id of each id, -1 for labels left out.
        """
        labels, rank = self.classes(seen)
        return self._with(labels), rank

    def joined(self, other: "LabelIds") -> tuple["LabelIds", np.ndarray, np.ndarray]:
        """Return the labels of both, with ids in increasing order.

        Returns
        -------
        joined : LabelIds
        rank, other_rank : ndarray of int32
            The new id of each id, and of each id of the other.

        Raises
        ------
        ValueError
            If the other has a new label, but all labels were declared.
        """
        new = [label for label in other._ids if label not in self._ids]
        if new and self._n_declared is not None:
            raise ValueError(f"the labels {new} are not among the classes {list(self._ids)}")
        joined = self._with(sort_labels([*self._ids, *new])[0])
        rank, other_rank = (
            np.array([joined._ids[label] for label in ids._ids], dtype=np.int32)
            for ids in (self, other)
        )
        return joined, rank, other_rank

    def declared(self) -> "LabelIds":
        """Only the labels that were declared; if none were, new labels are accepted."""
        return LabelIds() if self._n_declared is None else self.copy()

    def require(self, classes: Any) -> None:
        """Raise ValueError unless ``classes`` are exactly the labels so far."""
        if LabelIds(classes)._ids.keys() != self._ids.keys():
            raise ValueError(
                f"classes={classes!r} is not the same as in the first call: {list(self._ids)}"
            )

    def copy(self) -> "LabelIds":
        """Copy the ids; either copy can then learn more without the other."""
        return copy(self)

    def __getstate__(self) -> dict[str, Any]:
        # Not every format can store a dict whose keys are tuples.
        return {"labels": list(self._ids), "n_declared": self._n_declared}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with setting_state("LabelIds"):
            self._ids = {label: i for i, label in enumerate(state["labels"])}
            self._n_declared = state["n_declared"]

    def __len__(self) -> int:
        return len(self._ids)

    def requirements(self) -> Iterator[Requirement]:
        """Requirements of the ids of labels."""
        n = self._n_declared
        is_number = n is None or (isinstance(n, Integral) and 0 <= n <= len(self))
        yield Fact("n_declared", is_number, f"must be at most {len(self)}")

    def _add(self, labels: np.ndarray) -> None:
        for label in labels.tolist():
            self._ids.setdefault(label, len(self._ids))
        require_label_pairs(len(self._ids))

    def _with(self, labels: np.ndarray) -> "LabelIds":
        """Number these labels, of which as many are declared as here."""
        numbers = LabelIds()
        numbers._add(labels)
        numbers._n_declared = self._n_declared
        return numbers


class InvalidLabelError(TypeError):
    """The value of this token cannot be a label."""

    def __init__(self, token: int):
        super().__init__(token)
        self.token = token


def number_labels(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the different labels in order; InvalidLabelError if one cannot be a label."""
    if data.dtype.kind == "f" and np.isnan(data).any():
        raise InvalidLabelError(int(np.argmax(np.isnan(data))))
    if data.dtype.kind in "biuf":
        classes, ids = np.unique(data, return_inverse=True)
        return classes, ids.astype(np.int32)
    labels, ids = number_values(data)
    missing = next((i for i, label in enumerate(labels) if is_missing(label)), None)
    if missing is not None:
        raise InvalidLabelError(int(np.argmax(ids == missing)))
    classes, rank = sort_labels(labels)
    return classes, rank[ids]


def number_values(values: np.ndarray) -> tuple[list, np.ndarray]:
    """Number different values in the order of their first occurrence.

    Raises
    ------
    InvalidLabelError
        If a value has no hash.
    """
    vocabulary = Vocabulary()
    try:
        ids = vocabulary.add(values)
        return vocabulary.symbols, ids
    except InvalidTokenError:
        pass
    token = unhashable(values)
    if token is not None:
        raise InvalidLabelError(token)
    # Hashing beats the sorting of np.unique several times on arrays of Python objects.
    numbers: dict[Any, int] = {}
    ids = np.array([numbers.setdefault(v, len(numbers)) for v in values.tolist()], dtype=np.int32)
    return [as_python(value) for value in numbers], ids


def find_labels(
    numbers: dict[Any, int], labels: np.ndarray, ids: np.ndarray, y: SequenceArray, name: str
) -> np.ndarray:
    """Return the numbers of ``labels[ids]``, the labels of y; ValueError if a label has none."""
    mapped = np.array([numbers.get(label, -1) for label in labels.tolist()], dtype=np.int32)
    found = mapped[ids]
    unknown = np.flatnonzero(found < 0)
    if len(unknown):
        token = int(unknown[0])
        raise ValueError(
            f"{token_name(name, y.offsets, token)}: the label {shown(y.data[token])} is not among "
            f"the classes {list(numbers)}"
        )
    return found


def as_python(label: Any) -> Any:
    """Return a numpy number as a Python number, and any other label unchanged."""
    return label.item() if isinstance(label, (np.number, np.bool_)) else label


def as_label_array(labels: list) -> np.ndarray:
    """Labels as an array of their own type, or of objects if that would change them."""
    if {type(label) for label in labels} in ({str}, {int}, {bool}, {float}):
        array = np.array(labels)
        if array.tolist() == labels:  # numpy strips null characters, and rounds large integers
            return array
    return object_array(labels)


SWAPPED = "if these are words, X and y are swapped, or --columns names the label in another place"

# Number of tables of all pairs of labels that training and prediction take together.
PAIR_TABLES = 10
# More than SOME labels, and than one for each two tokens, seem to be words; more than MANY are.
SOME, MANY = 100, 10_000


def check_meant(different: Iterable[Any], y: SequenceArray, name: str = "y") -> None:
    """Raise ValueError, or warn, if labels are hardly meant as labels.

    Parameters
    ----------
    different : iterable of the different labels of y
    y : SequenceArray of 1-D data
    name : str
        Name of the labels in messages.

    Raises
    ------
    ValueError
        If :func:`refuse_ignored` or :func:`require_label_pairs` raises it, or if there are so many
        labels that they must be words.

    Warns
    -----
    UserWarning
        If a label has spaces in it, as where the labels of a sentence are not split, or differs
        from another one only by white space around it, as at the end of a line; or if there are so
        many labels that they may be words.
    """
    different = list(different)
    n, n_tokens = len(different), len(y.data)
    if name not in ("classes", "labels") and n > max(SOME, n_tokens / 2):
        problem = f"{name} has {n:,} different labels, for {n_tokens:,} tokens; {SWAPPED}"
        if n > MANY:
            raise ValueError(problem)
        warn_caller(problem)
    require_label_pairs(n, name)
    refuse_ignored(different, y, name)
    texts = dict.fromkeys(label for label in different if isinstance(label, str))
    for text in texts:
        parts = text.split()
        if len(parts) > 1:
            problem = (
                "with spaces in it; if it holds the labels of several tokens, split it, for "
                f"example by [labels.split() for labels in {name}]"
            )
        elif parts and parts[0] != text and parts[0] in texts:
            problem = f"with white space around it, which is another label than {parts[0]!r}"
        else:
            continue
        warn_caller(f"{name} has the label {text!r}, {problem}")
        return


def require_label_pairs(n_labels: int, name: str = "y") -> None:
    """Raise ValueError if weights of all pairs of labels do not fit into memory.

    Parameters
    ----------
    n_labels : int
    name : str
        Name of the labels in the message.

    Examples
    --------
    >>> require_label_pairs(100)
    >>> require_label_pairs(10_000_000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: y has 10,000,000 different labels; tables of all pairs of labels would take ...
    """
    require_memory(
        8.0 * PAIR_TABLES * n_labels**2,
        f"{name} has {n_labels:,} different labels; tables of all pairs of labels",
        SWAPPED,
    )


def refuse_ignored(different: Iterable[Any], y: SequenceArray, name: str = "y") -> None:
    """Raise ValueError if labels are numbers from 0 on, and -100, which other libraries leave out.

    Parameters
    ----------
    different, y, name : as in :func:`check_meant`

    Examples
    --------
    >>> refuse_ignored([-100, 0], SequenceArray.from_sequences([[0, -100]]))
    Traceback (most recent call last):
     ...
    ValueError: y, sequence 0, position 1: the label is -100, which some libraries leave out; ...
    """
    numbers = {label for label in different if isinstance(label, Real)}
    if IGNORED not in numbers or min(numbers - {IGNORED}, default=0) < 0:
        return
    token = next(t for t, label in enumerate(y.data.tolist()) if _has_ignored(label))
    raise ValueError(
        f"{token_name(name, y.offsets, token)}: the label is {IGNORED}, which some libraries leave "
        "out; write None for an unknown label, or leave out the token"
    )


def _has_ignored(label: Any) -> bool:
    options = label if isinstance(label, (set, frozenset)) else [label]
    return any(isinstance(option, Real) and option == IGNORED for option in options)
