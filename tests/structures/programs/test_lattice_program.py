"""Best paths of lattices under linear inequalities, against the enumeration of all paths."""

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.labels.inequalities import Inequalities
from sklearn_crcrf.structures import Candidates, HigherOrderChain, Lattice, LatticeScores, Scores
from sklearn_crcrf.structures.programs import lattice_program as module
from sklearn_crcrf.structures.programs.integer_program import LatticePrograms, programs_of

N_LABELS, LENGTHS = 4, (5, 0, 1, 3)


def lattice_of(order, seed):
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(LENGTHS))
    candidates = Candidates.above(rng.dirichlet(np.full(N_LABELS, 0.6), offsets[-1]), 0.15)
    lattice = Lattice(offsets, candidates, order)
    runs = rng.normal(size=lattice.n_runs)
    runs[rng.random(len(runs)) < 0.05] = -np.inf
    return lattice, LatticeScores(runs, candidates)


def paths_of(lattice, scores, unit):
    """All paths of a unit, as labels, and their scores."""
    part, own = lattice.unit_lattice(scores, unit)
    each = np.split(part.candidates.label, part.candidates.indptr[1:-1])
    paths = np.array(list(product(*each)), dtype=np.int32)
    return paths, np.array([part.score(own, path)[0][0] for path in paths])


def inequalities_of(rng, n_tokens):
    shape = int(rng.integers(1, 4)), n_tokens * N_LABELS
    rows = rng.integers(-2, 3, shape) * (rng.random(shape) < 0.6)
    return Inequalities.of(sp.csr_array(rows.astype(float)), rng.integers(-2, 3, shape[0]) + 0.0)


def satisfy(paths, inequalities):
    one_hot = np.eye(N_LABELS)[paths].reshape(len(paths), -1)
    return (one_hot @ inequalities.of_labels.T <= inequalities.upper).all(axis=1)


@for_each("n_runs", [1, 1000])
@for_each("seed", range(5))
@for_each("order", [1, 2, 3])
def test_the_best_path_that_satisfies_inequalities(order, seed, n_runs):
    """Whether programs have few runs at first, or all."""
    lattice, scores = lattice_of(order, seed)
    rng, programs = np.random.default_rng(seed), programs_of(lattice, scores)
    for unit, n_tokens in enumerate(LENGTHS):
        if n_tokens == 0:
            assert programs.best(unit)[0] == 0.0
            continue
        several = [inequalities_of(rng, n_tokens) for _ in range(2)]
        paths, values = paths_of(lattice, scores, unit)
        holds = satisfy(paths, Inequalities.join(several))
        best = values[holds].max(initial=-np.inf)
        with patch.object(module, "N_RUNS", n_runs):
            value, y = programs.best(unit, several)
        assert_allclose(value, best, rtol=1e-9, atol=1e-8)
        assert programs.is_possible(unit, several) == (best > -np.inf)
        if best > -np.inf:
            assert holds[(paths == y).all(axis=1)].all()


@for_each("order", [1, 2, 3])
def test_without_inequalities_it_is_the_maximum(order):
    lattice, scores = lattice_of(order, 0)
    scores = scores._replace(runs=np.where(np.isfinite(scores.runs), scores.runs, 0.0))
    expected, y = lattice.maximum(scores)
    found = [programs_of(lattice, scores).best(unit) for unit in range(lattice.n_units)]
    assert_allclose([value for value, _ in found], expected)
    assert_array_equal(np.concatenate([own for _, own in found]), y)


def test_scores_that_are_not_finite():
    lattice, scores = lattice_of(2, 0)
    for value, expected in ((np.nan, np.nan), (np.inf, np.nan), (-np.inf, -np.inf)):
        runs = np.full_like(scores.runs, value)
        programs = programs_of(lattice, scores._replace(runs=runs))
        assert_array_equal(programs.best(0)[0], expected)
        assert not programs.is_possible(0, [])


TABLES = [np.random.default_rng(n).normal(size=(3,) * n) for n in (3, 4)]
RUN_SCORES = [lambda i, j, k: TABLES[0][i, j, k], lambda h, i, j, k: TABLES[1][h, i, j, k]]


def chain_of(order, threshold):
    return HigherOrderChain(np.array([0, 4, 9]), RUN_SCORES[: order - 1], threshold)


@pytest.mark.parametrize("order", [2, 3])
def test_chains_of_higher_order(order):
    rng, chain = np.random.default_rng(order), chain_of(order, 0.0)
    scores = Scores.of(rng.normal(size=(9, 3)), rng.normal(size=(3, 3)), *rng.normal(size=(2, 3)))
    programs = programs_of(chain, scores)
    assert isinstance(programs, LatticePrograms)
    # Label 0 at most once, and label 1 at least twice.
    rows = np.stack([np.tile([1.0, 0.0, 0.0], 5), np.tile([0.0, -1.0, 0.0], 5)])
    limits = Inequalities.of(sp.csr_array(rows), np.array([1.0, -2.0]))
    part, own = chain.take(slice(1, 2)), scores.tokens(slice(4, 9))
    every = np.array([p for p in product(range(3), repeat=5) if p.count(0) < 2 <= p.count(1)])
    values = [part.score(own, path)[0][0] for path in every]
    best, y = programs.best(1, [limits])
    assert best == pytest.approx(max(values))
    assert_array_equal(y, every[np.argmax(values)])


@pytest.mark.parametrize("order", [2, 3])
def test_labels_that_are_left_out_come_back_where_inequalities_need_them(order):
    """A label that is all but impossible, but without which nothing satisfies the inequality."""
    chain = chain_of(order, 1e-5)
    state = np.zeros((9, 3))
    state[:, 2] = [-500.0, -300.0, -500.0, *[-500.0] * 6]
    scores = Scores.of(state, np.zeros((3, 3)))
    assert 2 not in chain.unit_lattice(scores, 0)[0].candidates.label
    one = Inequalities.of(sp.csr_array(np.tile([[0.0, 0.0, -1.0]], 4)), -np.ones(1))
    programs = programs_of(chain, scores)
    value, y = programs.best(0, [one])
    assert y.tolist().count(2) == 1
    assert y[1] == 2
    part, own = chain.take(slice(0, 1)), scores.tokens(slice(0, 4))
    every = [p for p in product(range(3), repeat=4) if p[1] == 2 and p.count(2) == 1]
    assert value == pytest.approx(max(part.score(own, np.array(p))[0][0] for p in every))
    assert programs.is_possible(0, [one])
    never = Inequalities.of(sp.csr_array(np.ones((1, 12))), np.full(1, 3.0))
    assert programs.best(0, [never])[0] == -np.inf
    assert not programs.is_possible(0, [never])
