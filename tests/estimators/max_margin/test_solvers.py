"""All solvers reach the optimum of the margin problem with every labelling written out."""

from functools import cache

import numpy as np
import pytest
from example_paths import cases, flat, make_case
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from sklearn_crcrf._kernels.tree import learning
from sklearn_crcrf.estimators.max_margin.active_paths import DualVariables
from sklearn_crcrf.estimators.max_margin.block import Block
from sklearn_crcrf.estimators.max_margin.estimator import SOLVERS
from sklearn_crcrf.estimators.max_margin.problem import MarginProblem, minimise

solvers = pytest.mark.parametrize("solver", SOLVERS)

CASES = {
    "plain": (3, {}),
    "with ends": (2, {"boundaries": True}),
    "transitions by attributes": (3, {"edges": 0.7}),
    "constrained": (3, {"constrained": True, "boundaries": True, "edges": 0.5}),
    "one label": (1, {}),
    "trees": (3, {"links": "tree", "boundaries": True, "edges": 0.5}),
    "graphs": (2, {"links": "graph", "edges": 0.5}),
}


def example(name="plain", lengths=(3, 0, 2, 3, 1), dtype=np.float64):
    n_labels, options = CASES[name]
    return make_case(np.random.default_rng(7), n_labels, lengths, 3, dtype=dtype, **options)


def objective(case, w, C):
    """By its definition."""
    losses = [
        case.best(s, w, 1.0)[1] - case.features(s, case.gold(s)) @ w
        for s in range(len(case.corpus.weight))
    ]
    return case.corpus.weight @ losses + w @ w / (2 * C)


def quadratic_programme(case, C):
    """The best w, with a slack for each sequence and a constraint for each labelling."""
    weight, rows, costs, owner = case.corpus.weight, [], [], []
    for s in range(len(weight)):
        for path in case.paths(s):
            rows.append(case.features(s, path) - case.features(s, case.gold(s)))
            costs.append(case.wrong(s, path))
            owner.append(s)
    rows, costs, n = np.array(rows), np.array(costs, dtype=float), len(rows[0])
    # slack - cost - difference @ w >= 0
    jacobian = np.hstack([-rows, np.eye(len(weight))[owner]])

    def value(v):
        return v[:n] @ v[:n] / (2 * C) + weight @ v[n:], np.append(v[:n] / C, weight)

    above = {"fun": lambda v: jacobian @ v - costs, "jac": lambda v: jacobian, "type": "ineq"}
    start = np.append(np.zeros(n), np.full(len(weight), costs.max()))
    options = {"maxiter": 1000, "ftol": 1e-10}
    found = minimize(value, start, jac=True, method="SLSQP", constraints=above, options=options)
    return found.x[:n]


@cache
def optimum_of(name, C):
    """An example, and its least objective."""
    case = example(name)
    return case, objective(case, quadratic_programme(case, C), C)


# The case with everything, and every case once.
@solvers
@pytest.mark.parametrize(
    ("name", "C"), [("constrained", 0.01), ("constrained", 0.5), *((name, 0.1) for name in CASES)]
)
def test_the_optimum(solver, name, C):
    case, optimum = optimum_of(name, C)
    problem = MarginProblem(case.examples(), C)
    # Subgradients are the slower, the lower the penalty.
    tol = C / 10 if solver == "subgradient" else 1e-3
    result = minimise(
        problem, SOLVERS[solver], max_iter=3000, tol=tol, rng=np.random.RandomState(0)
    )
    assert result.success, result.message
    assert_allclose(result.fun, objective(case, flat(result.x), C), atol=1e-12)
    assert result.dual <= optimum * (1 + 1e-9)
    assert_allclose(result.fun, optimum, rtol=1.01 * tol / (1 - tol))


@solvers
def test_single_precision(solver):
    results = []
    for dtype in (np.float64, np.float32):
        problem = MarginProblem(example("with ends", dtype=dtype).examples(), 0.1)
        options = {"max_iter": 2000, "tol": 2e-3, "rng": np.random.RandomState(0)}
        results.append(minimise(problem, SOLVERS[solver], **options))
        assert results[-1].success
        assert results[-1].x.state.dtype == dtype
    assert_allclose(results[1].fun, results[0].fun, rtol=2e-3)


@solvers
def test_passes_are_told_and_may_be_stopped(solver):
    problem, told = MarginProblem(example().examples(), 0.1), []

    def callback(result):
        told.append((result.fun, result.dual, result.nit))
        assert_allclose(problem.objective(result.x), result.fun)
        if result.nit == 4:
            raise StopIteration

    options = {"callback": callback, "rng": np.random.RandomState(0)}
    result = minimise(problem, SOLVERS[solver], max_iter=10, tol=0.0, **options)
    assert result.success
    assert result.nit == 4
    fun, dual, nit = np.array(told).T
    assert nit.tolist() == [1, 2, 3, 4]
    assert (np.diff(fun) <= 0).all()
    assert (np.diff(dual) >= 0).all()
    assert (dual <= fun).all()
    assert (result.fun, result.dual) == (fun[-1], dual[-1])


@solvers
def test_too_few_passes(solver):
    problem = MarginProblem(example().examples(), 1.0)
    result = minimise(problem, SOLVERS[solver], max_iter=2, tol=1e-9, rng=np.random.RandomState(0))
    assert not result.success
    assert "max_iter=2" in result.message
    assert result.nit == 2


@solvers
def test_the_seed_decides(solver):
    problem = MarginProblem(example().examples(), 0.1)
    first, again, other = (
        flat(minimise(problem, SOLVERS[solver], max_iter=3, rng=np.random.RandomState(seed)).x)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_room_is_made_for_paths():
    """More labellings of a sequence than there is room for in the beginning."""
    problem, last = MarginProblem(example(lengths=[30, 2]).examples(), 1.0), 0.0
    variables = DualVariables(problem, learning.FROM_ALL, 1)
    for _ in range(30):
        variables.take_pass(np.array([0, 1]))
        dual = problem.lower_bound(variables.weights, variables.wrong)
        assert dual >= last
        last = dual
    assert variables.number[0] > 8
    assert len(variables.paths) == variables.alpha.shape[1] > variables.number.max()


@given(case=cases(dtypes=[np.float64]), seed=st.integers(0, 2**32 - 1))
def test_a_chain_uses_parts_as_its_labellings_do(case, seed):
    rng, examples = np.random.default_rng(seed), case.examples()
    for s in np.flatnonzero(np.diff(examples.offsets)):
        block, weights = Block(examples, s), examples.zeros()
        weights.pairs[:] = rng.normal(size=weights.pairs.shape)
        theta = block.scores(weights)._replace(state=rng.normal(size=block.gold.state.shape))
        paths = list(case.paths(s))
        values = [
            case.features(s, path) @ flat(weights)
            + sum(theta.state[t, j] for t, j in enumerate(path))
            for path in paths
        ]
        probability = np.exp(values) / np.exp(values).sum()
        used = block.expected(theta)
        mean = probability @ np.array([case.features(s, path) for path in paths])
        assert_allclose(features_of(block, examples, used), mean, atol=1e-9)
        assert_allclose(block.squared_norm(used), mean @ mean)
        wrong = probability @ np.array([case.wrong(s, path) for path in paths])
        assert_allclose(used.dot(block.cost), wrong, atol=1e-12)
        gold = case.features(s, case.gold(s))
        assert_allclose(features_of(block, examples, block.gold), gold)


def features_of(block, examples, used):
    total = examples.zeros()
    block.add_to(total, 1.0, used)
    return flat(total)
