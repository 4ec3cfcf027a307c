"""Sums over lattices, in every instruction set, against the enumeration of all paths."""

import numpy as np
import pytest
from cases import for_each
from compiled import compiled
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from sklearn_crcrf.structures import Candidates, Lattice, LatticeScores

N_LABELS, LENGTHS = 4, (1, 5, 0, 2, 4)


def lattice_of(order, dtype, size):
    rng = np.random.default_rng(order)
    offsets = np.append(0, np.cumsum(LENGTHS))
    candidates = Candidates.above(rng.dirichlet(np.full(N_LABELS, 0.5), offsets[-1]), 0.2)
    lattice = Lattice(offsets, candidates, order)
    return lattice, (size * rng.normal(size=lattice.n_runs)).astype(dtype)


def paths_of(lattice, unit):
    """All paths of a unit, as labels of its tokens."""
    paths = [[]]
    for t in range(*lattice.offsets[unit : unit + 2]):
        own = lattice.candidates.label[slice(*lattice.candidates.indptr[t : t + 2])].tolist()
        paths = [[*path, label] for path in paths for label in own]
    return np.array(paths, dtype=np.int32)


@pytest.mark.parametrize("kernel", compiled("lattice.sums"))
@for_each("dtype", [np.float32, np.float64])
@for_each("order", [1, 2, 3])
@for_each("size", [0.1, 1.0, 30.0, 1e3, -np.inf])
def test_sums_are_of_all_paths(kernel, dtype, order, size):
    is_forbidding = size == -np.inf
    lattice, score = lattice_of(order, dtype, 1.0 if is_forbidding else size)
    score[-1] = -np.inf if is_forbidding else score[-1]
    log_z, work = np.empty(lattice.n_units), np.empty((2, lattice.n_runs))
    runs, gradient = lattice.runs_of_candidates, np.zeros(lattice.n_runs, dtype=dtype)
    kernel.sum_lattice_forward(runs, score, *work, log_z)
    kernel.sum_lattice_backward(runs, *work, log_z, np.arange(1.0, 6.0), gradient)
    expected, counts = [], np.zeros(lattice.n_runs)
    for unit in range(lattice.n_units):
        part, paths = lattice.take(np.array([unit])), paths_of(lattice, unit)
        places = lattice.places_of(np.array([unit]))
        own = LatticeScores(score[places], part.candidates)
        scored = [part.score(own, path) for path in paths]
        values = np.array([value[0] for value, _ in scored])
        expected.append(logsumexp(values))
        probability = np.exp(values - expected[-1])
        for p, (_, pullback) in zip(probability, scored, strict=True):
            counts[places] += p * pullback(np.full(1, unit + 1.0)).runs
    assert_allclose(log_z, expected, rtol=1e-12 if dtype == np.float64 else 1e-6, atol=1e-12)
    assert_allclose(gradient, counts, rtol=1e-6, atol=1e-11 if dtype == np.float64 else 1e-4)
