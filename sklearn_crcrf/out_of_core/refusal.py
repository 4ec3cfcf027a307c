"""What cannot be done out of core."""

from collections.abc import Mapping
from typing import Any

__all__ = ["refuse_what_needs_all"]


def refuse_what_needs_all(y: Any, sample_weight: Any, needs_all: Mapping[str, bool]) -> None:
    """Check, before any work, that an estimator can be fitted from a corpus folder.

    Parameters
    ----------
    y, sample_weight : as passed to ``fit``
    needs_all : mapping
        Whether a parameter, written with its value, needs all of the data at once.

    Raises
    ------
    ValueError
        If a parameter does, or labels or weights are given; the message names it.
    """
    if y is not None or sample_weight is not None:
        raise ValueError("a CorpusFolder has its own labels and no weights: pass neither")
    for parameter, needs in needs_all.items():
        if needs:
            raise ValueError(f"{parameter} needs all of the data in memory, so not a CorpusFolder")
