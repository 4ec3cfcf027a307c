"""The segments that the labels of one sequence mark, and the colours of labels."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...data.missing import endless_hash
from ...data.ragged import SequenceArray
from ...labels.segments.schemes import SCHEMES, check_option, detect_scheme
from ...labels.segments.segments import find_segments
from ...utils.names import check_no_string, shown
from ..colours import hues_of


def find_scheme(scheme: str | None, labels: Iterable[Any]) -> str | None:
    """Find the scheme of labels: as given, or for "auto" one that all labels fit.

    Parameters
    ----------
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"} or None
    labels : iterable of labels

    Returns
    -------
    str or None
        None if labels do not mark segments.
    """
    if scheme is None:
        return None
    check_option("scheme", scheme, ["auto", *SCHEMES])
    return detect_scheme(labels) if scheme == "auto" else scheme


def runs_of_segments(labels: Sequence[Any], scheme: str) -> list[tuple[int, int, str | None]]:
    """Split a sequence into segments and single tokens: start, end, and type or None."""
    flat = SequenceArray.from_sequences([list(labels)])
    found = find_segments(flat, scheme, "conlleval", "labels")
    runs: list[tuple[int, int, str | None]] = []
    here = 0
    for start, end, kind in zip(found.start.tolist(), found.end.tolist(), found.type, strict=True):
        runs += [(t, t + 1, None) for t in range(here, start)]
        runs.append((start, end, kind))
        here = end
    return runs + [(t, t + 1, None) for t in range(here, len(labels))]


def kind_of_label(label: Any, scheme: str | None) -> Any:
    """Return the key to the colour of a label: its type or itself; None outside of segments."""
    if scheme is None:
        return label
    role, kind = SCHEMES[scheme].split(label) or ("O", "")
    return None if role == "O" else kind


def places_of_labels(
    classes: np.ndarray, labels: Iterable[Any] | None, name: str = "labels"
) -> np.ndarray:
    """Find the indices of labels in ``classes``; by default all indices.

    Raises
    ------
    ValueError
        If a label is not there; the message names its position.
    """
    check_no_string(labels, name)
    known = classes.tolist()
    labels = known if labels is None else list(labels)
    place, endless = {label: j for j, label in enumerate(known)}, endless_hash(labels)
    for t, label in enumerate(labels):
        if t == endless or label not in place:
            raise ValueError(f"{name}, position {t}: {shown(label)} is not among {known}")
    return np.array([place[label] for label in labels], dtype=np.int32)


def colours(kinds: Iterable[Any]) -> dict[Any, str]:
    """Make a style for each different kind, other than None."""
    return {kind: f"--h:{hue}" for kind, hue in hues_of(kinds).items()}
