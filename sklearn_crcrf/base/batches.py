"""Batches: whole sequences whose scores are in memory at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..structures import Structure

# Approximate number of scores computed at once.
CHUNK = 2**20


class Batch(NamedTuple):
    """Whole sequences whose scores are computed together, tokens ``start`` to ``stop``.

    ``structure`` is of these sequences, and ``first`` is the number of the first.
    """

    start: int
    stop: int
    structure: Structure
    first: int


def batches_of(structure: Structure, scores_per_token: int) -> Iterator[Batch]:
    """Cut sequences into batches of about CHUNK scores; yields at least one batch."""
    offsets, n_sequences = structure.offsets, structure.n_units
    n_tokens, first = max(1, CHUNK // scores_per_token), 0
    if offsets[-1] <= n_tokens:
        yield Batch(0, int(offsets[-1]), structure, 0)
        return
    while first < n_sequences:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + n_tokens, "right")) - 1)
        start, stop = int(offsets[first]), int(offsets[last])
        yield Batch(start, stop, structure.take(slice(first, last)), first)
        first = last
