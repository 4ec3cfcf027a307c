"""Training of a structure that the package does not know: graphs with cycles, by enumeration."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from enumerated import Enumerated
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from sklearn_crcrf.criteria import CRITERIA, Criterion, log_loss, registry
from sklearn_crcrf.estimators.crf.solving import SOLVERS, Solver, check_supported, solve
from sklearn_crcrf.estimators.max_margin.estimator import SOLVERS as MARGIN_SOLVERS
from sklearn_crcrf.estimators.max_margin.problem import MarginProblem, minimise
from sklearn_crcrf.estimators.perceptron.learning import Learned, MeanWeights
from sklearn_crcrf.labels import roles_of
from sklearn_crcrf.linear import corpus
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.linear.examples import Examples, correct, find
from sklearn_crcrf.linear.problem import Problem
from sklearn_crcrf.structures import (
    Chain,
    Forest,
    Graph,
    HigherOrderChain,
    SemiMarkovChain,
    Structure,
    Unsupported,
)

N_LABELS, N_ATTRIBUTES, EDGES = 3, 5, np.array([1, 3])
CLASSES = ["O", "B-X", "I-X"]
# Units of four tokens in a ring, of three with a fork, of two, and of one.
SHAPES = [
    (4, [(0, 1), (1, 2), (2, 3), (0, 3)]),
    (3, [(0, 1), (0, 2)]),
    (2, [(1, 0)]),
    (1, []),
    (4, [(0, 1), (1, 2), (2, 3), (1, 3)]),
    (3, [(0, 2), (1, 2)]),
]


def make_structure():
    offsets = np.append(0, np.cumsum([n for n, _ in SHAPES]))
    links = [
        (a + origin, b + origin)
        for (_, pairs), origin in zip(SHAPES, offsets, strict=False)
        for a, b in pairs
    ]
    return Enumerated(offsets, *np.transpose(links))


def make_corpus(structure, partial=False):
    rng, n = np.random.default_rng(0), structure.n_tokens
    X = sp.random_array((n, N_ATTRIBUTES), density=0.6, rng=rng, format="csr")
    y = rng.integers(N_LABELS, size=n).astype(np.int32)
    if isinstance(structure, SemiMarkovChain):
        y[~structure.is_segmentation(y)] = CLASSES.index("B-X")
    allowed = np.eye(N_LABELS, dtype=bool)[y]
    if partial:
        allowed[1], y[1] = [True, True, False], -1
    weight = rng.random(structure.n_units) + 0.5
    return Corpus(X, y, structure, weight, allowed).longest_first()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Several blocks of several chunks even of a tiny corpus."""
    for name, size in {"CHUNK": 12, "BLOCK": 24, "SMALLEST_CHUNK": 4}.items():
        monkeypatch.setattr(corpus, name, size)


def make_problem(data, criterion=log_loss, **changes):
    forbidden = np.zeros((N_LABELS,) * 2), np.zeros(N_LABELS), np.zeros(N_LABELS)
    problem = Problem(
        corpus=data,
        edge_attributes=EDGES,
        n_labels=N_LABELS,
        pairs=None,
        transitions=np.arange(N_LABELS**2).reshape(N_LABELS, N_LABELS),
        boundaries=True,
        criterion=criterion.for_labels(CLASSES),
        forbidden=forbidden,
        sigma=1.0,
        n_threads=1,
    )
    return problem._replace(**changes)


def trigrams(i, j, k):
    return 0.3 * np.sin(9 * i + 3 * j + k)


# The parent of each token, by its position within its unit.
PARENTS = [[1, -1, 1, 2], [-1, 0, 0], [1, -1], [-1], [3, 3, -1, 2], [2, 2, -1]]


def make_forest():
    offsets = make_structure().offsets
    parents = [
        [-1 if p < 0 else p + int(origin) for p in unit]
        for unit, origin in zip(PARENTS, offsets, strict=False)
    ]
    return Forest(offsets, np.concatenate(parents))


STRUCTURES = {
    "graphs": make_structure(),
    "forests": make_forest(),
    "junction trees": Graph(
        make_structure().offsets, np.transpose(make_structure().links()), "exact"
    ),
    "second order": HigherOrderChain(make_structure().offsets, [trigrams], 0.0),
    "chains": Chain(make_structure().offsets),
    "segments": SemiMarkovChain(make_structure().offsets, roles_of(CLASSES, "IOB2"), 2),
}
CASES = [
    (name, structure)
    for name, criterion in CRITERIA.items()
    for structure, it in STRUCTURES.items()
    if all(map(it.can, criterion.requires))
]


def test_graphs_have_most_criteria():
    met = {name for name, structure in CASES if structure == "graphs"}
    assert met == set(CRITERIA) - {"piecewise", "mce_f1"}


@for_each(("name", "structure"), CASES)
def test_gradients_of_every_criterion(name, structure):
    problem = make_problem(make_corpus(STRUCTURES[structure]), CRITERIA[name])
    objective = problem.objective()
    rng = np.random.default_rng(1)
    w, direction = rng.normal(size=(2, problem.terms().n_weights))
    _, gradient = objective(w)
    expected, step = float(gradient @ direction), 1e-6
    ahead, behind = (objective(w + s * direction)[0] for s in (step, -step))
    assert_allclose((ahead - behind) / (2 * step), expected, rtol=1e-4, atol=1e-6)


@for_each("structure", STRUCTURES)
def test_gradients_with_partial_labels(structure):
    data = make_corpus(STRUCTURES[structure], partial=True)
    problem, rng = make_problem(data), np.random.default_rng(2)
    objective = problem.objective()
    w, direction = rng.normal(size=(2, problem.terms().n_weights))
    expected, step = float(objective(w)[1] @ direction), 1e-6
    ahead, behind = (objective(w + s * direction)[0] for s in (step, -step))
    assert_allclose((ahead - behind) / (2 * step), expected, rtol=1e-5, atol=1e-7)


OPTIONS = {"c1": 0.0, "max_iter": 200, "tol": 1e-5, "callback": None}


def solved(name, problem, **options):
    x0 = np.zeros(problem.terms().n_weights)
    stochastic = {"rng": np.random.RandomState(0), "rate": None, "n_seen": 0}
    return solve(name, problem, x0, stochastic=stochastic, **{**OPTIONS, **options})


@cache
def optimum(structure):
    """A problem over a structure, and the least objective of the log loss."""
    data = make_corpus(STRUCTURES[structure])
    problem = make_problem(data._replace(X=abs(data.X)))
    return problem, solved("lbfgs", problem).fun


@cache
def start_of(structure):
    """Where training starts with a criterion that is not convex."""
    return solved("lbfgs", make_problem(make_corpus(STRUCTURES[structure])), max_iter=20).x


@pytest.mark.parametrize(
    ("name", "structure"),
    [*((name, "second order") for name in SOLVERS), ("lbfgs", "graphs")],
)
def test_every_solver_finds_the_optimum(name, structure):
    problem, best = optimum(structure)
    check_supported(name, problem)
    found = problem.objective()(solved(name, problem).x)[0]
    assert_allclose(found, best, rtol=3e-3)


@for_each(("name", "structure"), CASES)
def test_every_criterion_is_trained(name, structure):
    criterion = CRITERIA[name]
    problem = make_problem(make_corpus(STRUCTURES[structure]), criterion)
    check_supported(criterion.solver, problem)
    start = start_of(structure)
    first = problem.objective()(start)[0]
    options = {**OPTIONS, "max_iter": 2}
    result = solve(criterion.solver, problem, start.copy(), stochastic={}, **options)
    assert problem.objective()(result.x)[0] < first or criterion is log_loss


@pytest.mark.parametrize("name", ["piecewise", "mce_f1"])
def test_a_criterion_that_needs_more_is_refused(name):
    problem = make_problem(make_corpus(STRUCTURES["graphs"]), CRITERIA[name])
    with pytest.raises(Unsupported, match=r"^criterion=.* needs .*, which Enumerated does not"):
        check_supported("lbfgs", problem)


def make_examples(structure):
    data = make_corpus(structure)
    forbidden = np.zeros((N_LABELS,) * 2), np.zeros(N_LABELS), np.zeros(N_LABELS)
    return Examples.of(data, EDGES, True, forbidden)


@pytest.mark.parametrize("structure", ["graphs", "forests", "second order"])
def test_the_perceptron_learns(structure):
    examples = make_examples(STRUCTURES[structure])
    zeros = examples.zeros()
    learner = MeanWeights(Learned(zeros, zeros, 0))
    errors = [
        (learner.learn(examples, np.arange(examples.n_sequences)) != examples.y).mean()
        for _ in range(60)
    ]
    assert errors[-1] < 0.5 * errors[0]


@pytest.mark.parametrize("shape", ["chain", "forest"])
def test_corrections_are_those_of_the_kernel(shape):
    whole = make_structure().take(slice(0, 4))
    chain = Chain(whole.offsets)
    links = {"chain": chain.links(), "forest": ([3, 3, 1, 6, 6, 8], [0, 1, 2, 4, 5, 7])}
    structure = Enumerated(chain.offsets, *links[shape])
    ours, theirs = (make_examples(structure) for _ in range(2))
    ours.has_kernels = False
    assert theirs.has_kernels
    rng = np.random.default_rng(0)
    weights = theirs.zeros()
    for part in weights:
        part += rng.normal(size=part.shape)
    other = weights.copy()
    n = structure.n_units
    order, rate, cost = rng.permutation(n), rng.random(n) + 0.1, np.full(n, 0.7)
    for a, b in zip(find(ours, weights, 0.7), find(theirs, other, 0.7), strict=True):
        assert_allclose(a, b, atol=1e-12)
    for a, b in zip(
        correct(ours, weights, order, rate, cost),
        correct(theirs, other, order, rate, cost),
        strict=True,
    ):
        assert_allclose(a, b, atol=1e-12)
    for a, b in zip(weights, other, strict=True):
        assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("solver", MARGIN_SOLVERS)
@pytest.mark.parametrize("structure", ["graphs", "forests"])
def test_margins_are_trained(solver, structure):
    problem = MarginProblem(make_examples(STRUCTURES[structure]), 1.0)
    options = {"max_iter": 300, "tol": 0.1, "rng": np.random.RandomState(0)}
    result = minimise(problem, MARGIN_SOLVERS[solver], **options)
    assert result.success and result.fun - result.dual <= 0.1 * result.fun
    assert result.fun < problem.objective(problem.examples.zeros())


def test_margins_need_weights_for_all_scores():
    with pytest.raises(
        Unsupported, match=r"^max margin needs weights for all scores, which HigherOrder"
    ):
        MarginProblem(make_examples(STRUCTURES["second order"]), 1.0)


def test_one_of_each_is_added(monkeypatch):
    """A structure, a criterion and a solver: a class or function, and a line of registration."""

    class Unlinked(Enumerated):
        def __init__(self, offsets):
            super().__init__(offsets, [], [])

        def take(self, units):
            return Unlinked(Chain(self.offsets).take(units).offsets)

    class Doubled(Criterion):
        def __call__(self, structure, scores, y):
            loss, pullback = log_loss(structure, scores, y)
            return 2 * loss, lambda weight, out=None: pullback(2 * weight, out)

    def descent(problem, x0, *, max_iter, tol, callback, c1, stochastic):
        objective = problem.objective()

        def copied(x):
            value, gradient = objective(x)
            return value, gradient.copy()

        return minimize(copied, x0, jac=True, options={"maxiter": max_iter})

    monkeypatch.setitem(registry.CRITERIA, "doubled", Doubled())
    monkeypatch.setitem(SOLVERS, "descent", Solver(descent))
    assert issubclass(Unlinked, Structure)
    structure = Unlinked(make_structure().offsets)
    problem = make_problem(make_corpus(structure), registry.as_criterion("doubled"))
    check_supported("descent", problem)
    best = solved("lbfgs", problem).fun
    assert_allclose(solved("descent", problem).fun, best, rtol=1e-5)
