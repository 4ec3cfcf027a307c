"""The weights of lattices: scores, gradients, and learning from one unit after another."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.criteria import LogLoss, MaxMargin
from sklearn_crcrf.estimators.lattice import problem as problem_module
from sklearn_crcrf.estimators.lattice.design import (
    LatticeDesign,
    choose_features,
    keys_of_runs,
    labels_of_key,
)
from sklearn_crcrf.estimators.lattice.problem import (
    LatticeLearning,
    LatticeProblem,
)
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.structures import Candidates, Lattice, LatticeScores

N_LABELS, N_ATTRIBUTES, LENGTHS = 4, 6, (3, 1, 4, 0, 2)


def problem_of(order, *, observed=False, sigma=2.0, criterion=None, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(LENGTHS))
    n_tokens = offsets[-1]
    probability = rng.dirichlet(np.full(N_LABELS, 0.5), n_tokens)
    y = rng.integers(N_LABELS, size=n_tokens).astype(np.int32)
    candidates = Candidates.above(probability, 0.2, y)
    lattice = Lattice(offsets, candidates, order)
    values = rng.normal(size=(n_tokens, N_ATTRIBUTES)) * (rng.random((n_tokens, 6)) < 0.6)
    X = sp.csr_array(values.astype(dtype))
    gold = candidates.where(candidates.label == y[candidates.token])
    shown = Lattice(offsets, gold, order) if observed else lattice
    features = choose_features(X, lattice, shown, True)
    weight = rng.uniform(0.5, 2.0, size=len(LENGTHS))
    corpus = Corpus(X, y, lattice, weight)
    return LatticeProblem(corpus, features, criterion or LogLoss(), sigma, 0.0, 1)


def weights_of(problem, seed=1):
    return np.random.default_rng(seed).normal(size=problem.features.n_weights)


def named_weights(problem, w):
    """The weights of pairs as a matrix, of runs by tuples of labels, and of known scores."""
    features = problem.features
    n_pairs, n_runs, _ = features.sizes
    pairs = sp.csr_array((w[:n_pairs], features.pairs.indices, features.pairs.indptr))
    pairs.resize((N_ATTRIBUTES, N_LABELS))
    runs = [labels_of_key(key, N_LABELS) for key in features.runs.tolist()]
    return (
        pairs.toarray(),
        dict(zip(runs, w[n_pairs : n_pairs + n_runs], strict=True)),
        w[n_pairs + n_runs :],
    )


def score_of(problem, w, unit, labels):
    """The score of the labels of a unit, by its definition."""
    pairs, runs, known = named_weights(problem, w)
    lattice, X = problem.corpus.structure, problem.corpus.X.toarray()
    order, first = lattice.order, lattice.offsets[unit]
    candidates, total = lattice.candidates, 0.0
    for t, label in enumerate(labels):
        start, stop = candidates.indptr[first + t : first + t + 2]
        if stop - start > 1:
            total += X[first + t] @ pairs[:, label]
        at = start + candidates.label[start:stop].tolist().index(label)
        total += known[label] * candidates.log_probability[at]
    marked = (-1, *labels, -1)
    for n in range(1, order + 2):
        for k in range(len(marked) - n + 1):
            run = tuple(marked[k : k + n])
            if set(run) != {-1} and not (len(run) == len(marked) > len(labels) + 1):
                total += runs.get(run, 0.0)
    return total


@for_each("observed", [False, True])
@for_each("order", [1, 2, 3])
def test_scores_are_sums_of_weights(order, observed):
    problem = problem_of(order, observed=observed)
    w, lattice = weights_of(problem), problem.corpus.structure
    scores = LatticeDesign(problem.corpus.X, lattice, problem.features).scores(w)
    value, _ = lattice.score(LatticeScores(scores, lattice.candidates), problem.corpus.y)
    for u in range(lattice.n_units):
        labels = problem.corpus.y[slice(*lattice.offsets[u : u + 2])].tolist()
        if len(labels) > order - 1:
            assert_allclose(value[u], score_of(problem, w, u, labels), atol=1e-10)


@for_each("criterion", [LogLoss(), MaxMargin()])
@for_each("order", [1, 2, 3])
def test_the_gradient_is_a_finite_difference(order, criterion):
    problem = problem_of(order, criterion=criterion)
    objective, w = problem.objective(), weights_of(problem)
    gradient = objective(w)[1].copy()
    for k in np.random.default_rng(2).permutation(len(w))[:30]:
        ahead, behind = (objective(w + step * np.eye(len(w))[k])[0] for step in (1e-6, -1e-6))
        assert_allclose(gradient[k], (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-6)


@for_each("parts", [1, 1000])
@for_each("order", [1, 2, 3])
def test_products_with_the_hessian_are_differences_of_gradients(order, parts):
    problem = problem_of(order)
    with patch.object(problem_module, "SHARD", parts):
        objective, hessian_product = problem.curved_objective()
    w, direction = weights_of(problem), weights_of(problem, seed=3)
    step = 1e-6 * direction
    ahead, behind = (objective(w + s * step)[1].copy() for s in (1, -1))
    product = hessian_product(w, direction)
    assert_allclose(product, (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-6)


@for_each("dtype", [np.float32, np.float64])
def test_the_number_of_parts_changes_nothing_but_rounding(dtype):
    problem = problem_of(2, dtype=dtype)
    w, found = weights_of(problem).astype(dtype), []
    for scores in (1, 60, 10**6):
        with patch.object(problem_module, "SHARD", scores):
            loss, gradient = problem.objective()(w)
        found.append(np.append(gradient, loss))
    assert_allclose(found[1:], [found[0]] * 2, rtol=1e-5, atol=1e-6)


def test_single_precision():
    double, single = problem_of(2), problem_of(2, dtype=np.float32)
    w = weights_of(double)
    loss, gradient = single.objective()(w.astype(np.float32))
    expected, slope = double.objective()(w)
    assert gradient.dtype == np.float32
    assert_allclose(loss, expected, rtol=1e-5)
    assert_allclose(gradient, slope, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_step_of_one_unit_goes_down_its_gradient(order):
    """From equal sums of squares, a tiny step is the gradient up to a factor."""
    problem = problem_of(order, sigma=np.inf)
    objective, learning = problem.objective(), LatticeLearning(problem)
    w = weights_of(problem)
    for unit in (0, 2, 4):
        table = learning.start(w)
        table[:, 1] = 1e12
        loss = learning.learn(table, np.array([unit]), 1e6, 0)
        alone = problem._replace(
            corpus=problem.corpus._replace(
                weight=np.where(np.arange(len(LENGTHS)) == unit, problem.corpus.weight, 0.0)
            )
        )
        expected, gradient = alone.objective()(w)
        assert_allclose(loss, expected)
        assert_allclose(w - table[:, 0], gradient, atol=2e-3)
    assert objective(w)[0] > 0


def test_the_mean_is_of_the_weights_after_each_unit():
    problem = problem_of(2)
    learning, order = LatticeLearning(problem), np.array([2, 0, 4, 1, 2])
    table, singly, passed = *(learning.start(weights_of(problem)) for _ in range(2)), []
    learning.learn(table, order, 0.1, 0)
    for unit in order:
        learning.learn(singly, np.array([unit]), 0.1, 0)
        passed.append(singly[:, 0].copy())
    assert_array_equal(table[:, 0], singly[:, 0])
    assert_allclose(learning.mean(table, len(order)), np.mean(passed, axis=0), atol=1e-12)


def test_keys_are_labels():
    lattice = problem_of(2).corpus.structure
    keys = keys_of_runs(lattice)
    token, number = lattice.runs(2)
    sizes = np.diff(lattice.candidates.indptr)
    for place in range(len(token)):
        t, rest, labels = token[place], number[place], []
        for k in (t, t - 1, t - 2):
            rest, at = divmod(rest, sizes[k])
            labels.insert(0, int(lattice.candidates.label[lattice.candidates.indptr[k] + at]))
        assert labels_of_key(int(keys[lattice.start[2, 0] + place]), N_LABELS) == tuple(labels)
