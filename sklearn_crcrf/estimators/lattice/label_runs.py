"""Weights of labels in a row, of single labels, and of labels at the ends of sequences."""

from typing import NamedTuple

import numpy as np

from ..._kernels.lattice.runs import write_run_keys
from ..._kernels.sparse.keys import number_keys
from ...structures import Lattice

__all__ = ["Ends", "end_runs", "keys_of_runs", "labels_of_key", "positions", "run_key"]


class Ends(NamedTuple):
    """The runs of candidates at the beginnings and ends of sequences.

    Parameters
    ----------
    indptr : ndarray of shape (n_sequences + 1,)
    place : ndarray of shape (n,)
        Where the score of each run is.
    key : ndarray of shape (n,)
        The key of the run, with a mark before or after it.
    """

    indptr: np.ndarray
    place: np.ndarray
    key: np.ndarray


def keys_of_runs(lattice: Lattice) -> np.ndarray:
    """The labels of all runs of candidates, as numbers with one digit for each label.

    Parameters
    ----------
    lattice : Lattice

    Returns
    -------
    int64 ndarray of shape (n_runs,)
        The digits, to the base ``n_labels + 2``, are label ids plus 1.
    """
    keys = np.empty(lattice.n_runs, dtype=np.int64)
    write_run_keys(lattice.runs_of_candidates, lattice.candidates.label, _base(lattice), keys)
    return keys


def end_runs(lattice: Lattice, keys: np.ndarray) -> Ends:
    """The runs of up to ``order`` candidates at the first and last tokens of sequences."""
    base, places, marked, units = _base(lattice), [], [], []
    mark, unit = base - 1, np.arange(lattice.n_units)
    first, last = lattice.offsets[:-1], lattice.offsets[1:] - 1
    for n in range(lattice.order):
        long = last - first >= n
        for token, is_begin in ((first + n, True), (last, False)):
            at = token[long]
            starts = lattice.start[n, at]
            lengths = lattice.start[n, at + 1] - starts
            place = np.repeat(starts - np.append(0, np.cumsum(lengths)[:-1]), lengths)
            place += np.arange(len(place))
            key = keys[place]
            marked.append(mark * base ** (n + 1) + key if is_begin else key * base + mark)
            places.append(place)
            units.append(np.repeat(unit[long], lengths))
    of_unit = np.concatenate(units)
    order = np.argsort(of_unit, kind="stable")
    counts = np.bincount(of_unit, minlength=lattice.n_units)
    return Ends(
        np.append(0, np.cumsum(counts)).astype(np.int64),
        np.concatenate(places)[order],
        np.concatenate(marked)[order],
    )


def positions(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Where keys are among sorted known keys, int32; -1 for a key that is not known."""
    if len(keys) > len(known):
        numbers, _ = number_keys(np.concatenate([known, keys]))
        at = numbers[len(known) :].copy()
        at[at >= len(known)] = -1
        return at
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, at, -1).astype(np.int32)


def run_key(digits: np.ndarray, n_labels: int) -> np.ndarray:
    """The key of a run of labels; digits of shape (n_runs, length) are ids plus 1, or marks."""
    key = np.zeros(len(digits), dtype=np.int64)
    for column in digits.T:
        key = key * (n_labels + 2) + column
    return key


def labels_of_key(key: int, n_labels: int) -> tuple[int, ...]:
    """The label ids of a key; -1 for the mark of the begin or end of a sequence."""
    digits = []
    while key:
        key, digit = divmod(key, n_labels + 2)
        digits.append(-1 if digit == n_labels + 1 else digit - 1)
    return tuple(reversed(digits))


def _base(lattice: Lattice) -> int:
    return lattice.candidates.n_labels + 2
