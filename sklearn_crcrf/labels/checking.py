"""Labels that are hardly meant as labels."""

from collections.abc import Iterable
from numbers import Real
from typing import Any

from ..data.missing import IGNORED
from ..data.ragged import SequenceArray, token_name
from ..utils.memory import require_memory
from ..utils.warning import warn_caller

SWAPPED = "if these are words, X and y are swapped, or --columns names the label in another place"

# Number of tables of all pairs of labels that training and prediction take together.
PAIR_TABLES = 10
# Labels are words if there are more than this, and more than one for each two tokens.
MANY = 10_000


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
        As :func:`refuse_ignored` and :func:`require_label_pairs`, or if there are so many labels
        that they must be words.

    Warns
    -----
    UserWarning
        If a label has spaces in it, as where the labels of a sentence are not split.
    """
    different = list(different)
    if name != "classes" and len(different) > max(MANY, len(y.data) / 2):
        raise ValueError(
            f"{name} has {len(different):,} different labels, for {len(y.data):,} tokens; {SWAPPED}"
        )
    require_label_pairs(len(different), name)
    refuse_ignored(different, y, name)
    for label in different:
        if isinstance(label, str) and len(label.split()) > 1:
            warn_caller(
                f"{name} has the label {label!r}, with spaces in it; if it holds the labels of "
                f"several tokens, split it, for example by [labels.split() for labels in {name}]",
            )
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
