"""The k best paths of lattices."""

from math import log2, prod

import numpy as np

from ..._kernels.lattice.runs import k_best_lattice_paths
from ..._kernels.sizes import check_number

__all__ = ["k_best_of_unit"]


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
