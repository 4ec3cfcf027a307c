"""Labels of one sequence: what segments they mark, and in what colours they are shown."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..data.ragged import SequenceArray
from ..segments.schemes import PREFIXES, check_option
from ..segments.segments import find_segments

__all__ = ["colours", "find_scheme", "kind_of_label", "runs_of_segments"]

# Steps by the golden angle keep hues apart, however many there are.
FIRST, STEP = 210.0, 137.508


def find_scheme(scheme: str | None, labels: Iterable[Any]) -> str | None:
    """The scheme by which labels mark segments: as given, or for "auto" the one that all fit.

    Parameters
    ----------
    scheme : {"auto", "IOB1", "IOB2", "IOBES"} or None
    labels : iterable of labels

    Returns
    -------
    str or None
        None if labels do not mark segments.
    """
    if scheme is None:
        return None
    check_option("scheme", scheme, ["auto", *PREFIXES])
    if scheme != "auto":
        return scheme
    # Read forgivingly, labels of all schemes mark the same segments.
    fit = [isinstance(x, str) and (x == "O" or x.partition("-")[0] in [*"BIES"]) for x in labels]
    return "IOBES" if all(fit) and any(x != "O" for x in labels) else None


def runs_of_segments(labels: Sequence[Any], scheme: str) -> list[tuple[int, int, str | None]]:
    """A sequence cut into segments and the tokens between: start, end, and the type or None."""
    flat = SequenceArray.from_sequences([list(labels)])
    found = find_segments(flat, scheme, "conlleval", "labels")
    runs, here = [], 0
    for start, end, kind in zip(found.start.tolist(), found.end.tolist(), found.type, strict=True):
        runs += [(t, t + 1, None) for t in range(here, start)]
        runs.append((start, end, kind))
        here = end
    return runs + [(t, t + 1, None) for t in range(here, len(labels))]


def kind_of_label(label: Any, scheme: str | None) -> Any:
    """What colours a label: the type of its segments, or itself; None outside of segments."""
    if scheme is None:
        return label
    return None if label == "O" else label.partition("-")[2]


def colours(kinds: Iterable[Any]) -> dict[Any, str]:
    """A style for each of different kinds, in their order."""
    different = [kind for kind in dict.fromkeys(kinds) if kind is not None]
    hues = np.round(FIRST + STEP * np.arange(len(different))).astype(int) % 360
    return {kind: f"--h:{hue}" for kind, hue in zip(different, hues.tolist(), strict=True)}
