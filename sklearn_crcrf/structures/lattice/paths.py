"""The k best paths of lattices, and the probabilities of parts of paths."""

from math import log2, prod

import numpy as np

from ..._kernels.lattice.runs import k_best_lattice_paths
from ..._kernels.sizes import check_number
from ...data.ragged import joined_ranges
from ..spans import check_spans

__all__ = ["k_best_of_unit", "lattice_span_log_probability"]

# The number of tokens of the sequences of spans whose sums are computed at once.
BLOCK = 20_000


def k_best_of_unit(lattice, scores, unit: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The scores and labels of the k best paths of one unit, or of all paths if there are fewer.

    Parameters
    ----------
    lattice : Lattice
    scores : LatticeScores
    unit, k : int

    Returns
    -------
    values : float64 ndarray of shape (n,)
    labels : int32 ndarray of shape (n, n_tokens of the unit)
    """
    candidates, (first, stop) = lattice.candidates, lattice.offsets[unit : unit + 2].tolist()
    if first == stop:
        return np.zeros(1), np.zeros((1, 0), dtype=np.int32)
    sizes = np.diff(candidates.indptr)[first:stop]
    if np.log2(sizes).sum() < log2(k):
        k = prod(sizes.tolist())
    level = np.minimum(np.arange(stop - first), lattice.order - 1)
    token = np.arange(first, stop)
    n_states = int((lattice.start[level, token + 1] - lattice.start[level, token]).sum())
    check_number(n_states * k, f"steps of the {k} best paths of {stop - first} tokens")
    chosen, value = np.zeros((k, stop - first), dtype=np.int32), np.full(k, -np.inf)
    k_best_lattice_paths(lattice.runs_of_candidates, unit, scores.runs, n_states, chosen, value)
    possible = value > -np.inf
    return value[possible], candidates.label[candidates.indptr[first:stop] + chosen[possible]]


def lattice_span_log_probability(
    lattice,
    scores,
    start: np.ndarray,
    stop: np.ndarray,
    labels: np.ndarray,
    following: np.ndarray | None = None,
    preceding: np.ndarray | None = None,
) -> np.ndarray:
    """Log-probabilities of spans; see :meth:`Capabilities.span_log_probability`.

    The sum over the paths that have the labels of a span is the sum over a lattice without the
    other candidates of these tokens.
    """
    start, stop, labels = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
    n_labels = lattice.candidates.n_labels
    unit = check_spans(lattice.offsets, start, stop, labels, n_labels)
    log_z, value = lattice.log_partition(scores)[0], np.empty(len(start))
    n_tokens, begins = np.diff(lattice.offsets), np.append(0, np.cumsum(stop - start))
    neighbours = [
        None if allowed is None else np.broadcast_to(allowed, (len(start), n_labels))
        for allowed in (following, preceding)
    ]
    block = np.cumsum(n_tokens[unit]) // BLOCK
    for number in np.unique(block):
        which = np.flatnonzero(block == number)
        part = lattice.take(unit[which])
        own = scores._replace(
            runs=scores.runs[lattice.places_of(unit[which])], candidates=part.candidates
        )
        shift = part.offsets[:-1] - lattice.offsets[unit[which]]
        first, end = start[which] + shift, stop[which] + shift
        allowed = np.ones((part.n_tokens, n_labels), dtype=bool)
        inside = joined_ranges(first, end - first)
        allowed[inside] = False
        allowed[inside, labels[begins[which[0]] : begins[which[-1] + 1]]] = True
        after, before = neighbours
        if after is not None:
            goes_on = end < part.offsets[1:]
            allowed[end[goes_on]] = after[which[goes_on]]
        if before is not None:
            comes_after = first > part.offsets[:-1]
            allowed[first[comes_after] - 1] = before[which[comes_after]]
        value[which] = part.log_partition(own.allow(allowed))[0]
    with np.errstate(invalid="ignore"):  # where no path is possible, -inf - -inf is NaN
        return np.minimum(value - log_z[unit], 0.0)
