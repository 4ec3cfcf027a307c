"""Lattices against the enumeration of their paths."""

from itertools import pairwise, product

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.criteria import LogLoss, MaxMargin, SoftmaxMargin
from sklearn_crcrf.structures import (
    Candidates,
    Chain,
    Lattice,
    LatticeScores,
    Scores,
    TokenTransitions,
    Unsupported,
)

N_LABELS = 5
LENGTHS = (3, 0, 1, 5, 2, 4)


def random_lattice(order, lengths=LENGTHS, seed=0, dtype=float, most=3):
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(lengths))
    labels = [
        np.sort(rng.permutation(N_LABELS)[: rng.integers(1, most + 1)]) for _ in range(offsets[-1])
    ]
    indptr = np.append(0, np.cumsum([len(own) for own in labels])).astype(np.int64)
    label = np.concatenate([np.empty(0), *labels]).astype(np.int32)
    candidates = Candidates(indptr, label, np.zeros(len(label)), N_LABELS)
    lattice = Lattice(offsets, candidates, order)
    return lattice, LatticeScores(rng.normal(size=lattice.n_runs).astype(dtype), candidates)


def paths_of(lattice, unit):
    """All paths of a unit, as numbers of candidates."""
    counts = np.diff(lattice.candidates.indptr)[slice(*lattice.offsets[unit : unit + 2])]
    return list(product(*map(range, counts)))


def runs_of(lattice, unit, path):
    """The places of the scores of all runs of a path."""
    first, places = lattice.offsets[unit], []
    counts = np.diff(lattice.candidates.indptr)
    for t in range(len(path)):
        for n in range(min(t, lattice.order) + 1):
            number = 0
            for k in range(t - n, t + 1):
                number = number * counts[first + k] + path[k]
            places.append(lattice.start[n, first + t] + number)
    return places


def labels_of(lattice, unit, path):
    origin = lattice.candidates.indptr[lattice.offsets[unit] :][: len(path)]
    return lattice.candidates.label[origin + np.array(path, dtype=int)]


def enumerated(lattice, scores):
    """For each unit: scores of all paths, the labels of these, and the runs of each."""
    for u in range(lattice.n_units):
        paths = paths_of(lattice, u)
        runs = [runs_of(lattice, u, path) for path in paths]
        values = np.array([scores.runs[own].sum(dtype=float) for own in runs])
        yield values, [labels_of(lattice, u, path) for path in paths], runs


def random_paths(lattice, seed=1):
    rng = np.random.default_rng(seed)
    counts = np.diff(lattice.candidates.indptr)
    chosen = [rng.integers(n) for n in counts]
    return lattice.candidates.label[lattice.candidates.indptr[:-1] + np.array(chosen, dtype=int)]


orders = for_each("order", [1, 2, 3])


@orders
@for_each("dtype", [np.float32, np.float64])
def test_log_partition_and_its_gradient(order, dtype):
    lattice, scores = random_lattice(order, dtype=dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    weight = np.random.default_rng(2).normal(size=lattice.n_units)
    log_z, pullback = lattice.log_partition(scores)
    expected = np.zeros(lattice.n_runs)
    for u, (values, _, runs) in enumerate(enumerated(lattice, scores)):
        assert_allclose(log_z[u], logsumexp(values), rtol=tolerance, atol=tolerance)
        for p, own in zip(np.exp(values - logsumexp(values)), runs, strict=True):
            np.add.at(expected, own, p * weight[u])
    gradient = pullback(weight)
    assert gradient.runs.dtype == dtype
    assert_allclose(gradient.runs, expected, atol=tolerance)
    twice = pullback(weight, pullback(weight))
    assert_allclose(twice.runs, 2 * expected, atol=2 * tolerance)


@orders
def test_marginals(order):
    lattice, scores = random_lattice(order)
    log_z, marginals = lattice.marginals(scores)
    assert marginals.shape == (lattice.n_tokens, N_LABELS)
    for u, (values, labels, _) in enumerate(enumerated(lattice, scores)):
        start, stop = lattice.offsets[u : u + 2]
        expected = np.zeros((stop - start, N_LABELS))
        for p, own in zip(np.exp(values - log_z[u]), labels, strict=True):
            expected[np.arange(stop - start), own] += p
        assert_allclose(marginals[start:stop], expected, atol=1e-12)


@orders
def test_maximum_and_scores_of_paths(order):
    lattice, scores = random_lattice(order)
    value, y = lattice.maximum(scores)
    assert y.dtype == np.int32
    assert_allclose(lattice.score(scores, y)[0], value, atol=1e-12)
    for u, (values, labels, _) in enumerate(enumerated(lattice, scores)):
        assert_allclose(value[u], values.max(), atol=1e-12)
        start, stop = lattice.offsets[u : u + 2]
        assert_array_equal(y[start:stop], labels[values.argmax()])


@orders
def test_score_and_its_gradient(order):
    lattice, scores = random_lattice(order)
    y, weight = random_paths(lattice), np.arange(1.0, lattice.n_units + 1)
    value, pullback = lattice.score(scores, y)
    expected = np.zeros(lattice.n_runs)
    for u, (values, labels, runs) in enumerate(enumerated(lattice, scores)):
        own = y[slice(*lattice.offsets[u : u + 2])]
        which = next(k for k, path in enumerate(labels) if np.array_equal(path, own))
        assert_allclose(value[u], values[which], atol=1e-12)
        np.add.at(expected, runs[which], weight[u])
    assert_allclose(pullback(weight).runs, expected)


@orders
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_covariances(order, dtype):
    lattice, scores = random_lattice(order, dtype=dtype)
    rng, tolerance = np.random.default_rng(6), 1e-5 if dtype == np.float32 else 1e-12
    direction = LatticeScores(rng.normal(size=lattice.n_runs), lattice.candidates)
    weight = rng.normal(size=lattice.n_units)
    mean, pullback = lattice.covariance(scores, direction)
    expected = np.zeros(lattice.n_runs)
    for u, (values, _, runs) in enumerate(enumerated(lattice, scores)):
        along = np.array([direction.runs[own].sum() for own in runs])
        probability = np.exp(values - logsumexp(values))
        assert_allclose(mean[u], probability @ along, atol=10 * tolerance)
        for p, value, own in zip(probability, along, runs, strict=True):
            np.add.at(expected, own, weight[u] * p * (value - probability @ along))
    assert_allclose(pullback(weight).runs, expected, atol=10 * tolerance)


def test_covariances_of_impossible_labels():
    lattice, scores = random_lattice(2, lengths=(2, 3), most=2)
    runs = scores.runs.copy()
    runs[lattice.start[0, 0] : lattice.start[0, 1]] = -np.inf
    runs[lattice.start[0, 3]] = -np.inf
    direction = LatticeScores(np.ones(lattice.n_runs), lattice.candidates)
    mean, pullback = lattice.covariance(scores._replace(runs=runs), direction)
    assert np.isnan(mean[0])
    assert_allclose(mean[1], 6.0)
    assert_allclose(pullback(np.ones(2)).runs, 0.0, atol=1e-12)


def test_of_ties_the_lowest_labels_at_the_end_win():
    candidates = Candidates.above(np.full((4, 3), 1 / 3), 0.1)
    for order in (1, 2, 3):
        lattice = Lattice(np.array([0, 4]), candidates, order)
        scores = LatticeScores(np.zeros(lattice.n_runs), candidates)
        assert_array_equal(lattice.maximum(scores)[1], [0, 0, 0, 0])


def test_paths_outside_are_impossible():
    lattice, scores = random_lattice(2, lengths=(3, 2), most=2)
    y = random_paths(lattice)
    outside = np.setdiff1d(np.arange(N_LABELS), lattice.candidates.label[: lattice.start[0, 1]])
    y[0] = outside[0]
    value, _ = lattice.score(scores, y)
    assert value[0] == -np.inf
    assert value[1] > -np.inf


@orders
def test_entropy_and_samples(order):
    lattice, scores = random_lattice(order)
    entropy = lattice.entropy(scores)
    drawn = lattice.sample(scores, 4000, np.random.default_rng(0))
    for u, (values, labels, _) in enumerate(enumerated(lattice, scores)):
        p = np.exp(values - logsumexp(values))
        assert_allclose(entropy[u], -(p * np.log(p)).sum(), atol=1e-12)
        own = drawn[:, slice(*lattice.offsets[u : u + 2])]
        shares = [(own == path).all(axis=1).mean() for path in labels]
        assert_allclose(shares, p, atol=0.04)


@orders
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_k_best_paths(order, dtype):
    lattice, scores = random_lattice(order, dtype=dtype)
    runs = scores.runs.copy()
    runs[lattice.start[0, 0]] = -np.inf
    scores = scores._replace(runs=runs)
    for k in (1, 2, 7, 1000):
        found = lattice.k_best(scores, k)
        for (value, y), (values, labels, _) in zip(found, enumerated(lattice, scores), strict=True):
            best = np.argsort(-values, kind="stable")[:k]
            best = best[values[best] > -np.inf]
            assert_allclose(value, values[best], rtol=1e-5)
            assert_array_equal(y, np.array(labels)[best])
            assert y.dtype == np.int32


@orders
def test_spans(order):
    lattice, scores = random_lattice(order)
    y, following = random_paths(lattice), np.array([True, False, True, True, False])
    spans = [
        (u, start, stop)
        for u, (a, b) in enumerate(pairwise(lattice.offsets.tolist()))
        for start in range(a, b)
        for stop in range(start + 1, b + 1)
    ]
    _, start, stop = zip(*spans, strict=True)
    labels = [y[a:b] for _, a, b in spans]
    value = lattice.span_log_probability(
        scores, start, stop, np.concatenate(labels), following, ~following
    )
    paths = list(enumerated(lattice, scores))
    for found, (u, a, b) in zip(value, spans, strict=True):
        first, last = lattice.offsets[u : u + 2]
        values, every, _ = paths[u]
        is_so = [
            np.array_equal(path[a - first : b - first], y[a:b])
            and (b == last or following[path[b - first]])
            and (a == first or not following[path[a - first - 1]])
            for path in every
        ]
        expected = np.exp(values - logsumexp(values)) @ is_so
        assert_allclose(np.exp(found), expected, atol=1e-12)


def test_all_candidates_make_a_chain():
    rng = np.random.default_rng(3)
    offsets = np.array([0, 4, 4, 5, 9])
    state, transition = rng.normal(size=(9, 3)), rng.normal(size=(3, 3))
    gains = TokenTransitions(
        np.array([-1, 0, -1, 1, -1, 0, -1, -1, -1]),
        np.array([0, 1, 3]),
        np.array([0, 1, 2], dtype=np.int32),
        np.array([2, 0, 1], dtype=np.int32),
        np.array([3.0, 4.0, 5.0]),
    )
    scores = Scores(state, transition, rng.normal(size=3), rng.normal(size=3), gains)
    lattice = Lattice(offsets, Candidates.above(np.ones((9, 3)), 0.5))
    ours, chain = lattice.scores_of(scores), Chain(offsets)
    assert_allclose(lattice.marginals(ours)[0], chain.marginals(scores)[0])
    assert_allclose(lattice.marginals(ours)[1], chain.marginals(scores)[1], atol=1e-12)
    assert_allclose(lattice.maximum(ours)[0], chain.maximum(scores)[0])
    assert_array_equal(lattice.maximum(ours)[1], chain.maximum(scores)[1])


@for_each("units", [slice(1, 4), slice(0, 0), np.array([5, 0, 2]), np.array([1])])
def test_take(units):
    lattice, scores = random_lattice(2)
    part = lattice.take(units)
    log_z = lattice.log_partition(scores)[0][units]
    token, _ = zip(*(lattice.runs(n) for n in range(3)), strict=True)
    numbers = np.arange(lattice.n_units)[units]
    unit = np.repeat(np.arange(lattice.n_units), np.diff(lattice.offsets))
    places = [
        lattice.start[n, 0] + np.flatnonzero(unit[token[n]] == u) for n in range(3) for u in numbers
    ]
    own = scores.runs[np.concatenate([np.empty(0, dtype=int), *places])]
    assert_allclose(part.log_partition(LatticeScores(own, part.candidates))[0], log_z)


def test_scores_far_apart_neither_underflow_nor_overflow():
    lattice, scores = random_lattice(2)
    huge = scores.times(1e4)
    log_z, pullback = lattice.log_partition(huge)
    value, y = lattice.maximum(huge)
    assert_allclose(log_z, value, rtol=1e-6, atol=1e-6)
    best = lattice.score(huge, y)[1](np.ones(lattice.n_units))
    assert_allclose(pullback(np.ones(lattice.n_units)).runs, best.runs, atol=1e-6)


def test_impossible_labels_and_scores_that_are_not_finite():
    lattice, scores = random_lattice(2, lengths=(2, 3), most=2)
    runs = scores.runs.copy()
    runs[lattice.start[0, 0] : lattice.start[0, 1]] = -np.inf
    log_z, pullback = lattice.log_partition(scores._replace(runs=runs))
    assert log_z[0] == -np.inf
    assert log_z[1] > -np.inf
    gradient = pullback(np.ones(2)).runs
    assert np.isfinite(gradient).all()
    assert (gradient[: lattice.start[0, 2]] == 0).all()
    assert np.isnan(lattice.entropy(scores._replace(runs=runs))[0])
    with pytest.raises(ValueError, match="no path of sequence 0"):
        lattice.sample(scores._replace(runs=runs), 1, np.random.default_rng(0))
    for value in (np.nan, np.inf):
        runs[0] = value
        assert np.isnan(lattice.log_partition(scores._replace(runs=runs))[0][0])
        assert np.isnan(lattice.maximum(scores._replace(runs=runs))[0][0])


def test_without_tokens():
    lattice, scores = random_lattice(2, lengths=(0, 0))
    log_z, pullback = lattice.log_partition(scores)
    assert_array_equal(log_z, [0, 0])
    assert pullback(np.ones(2)).runs.shape == (0,)
    value, y = lattice.maximum(scores)
    assert_array_equal(value, [0, 0])
    assert len(y) == 0
    assert_array_equal(lattice.entropy(scores), [0, 0])


@orders
@for_each("criterion", [LogLoss(), MaxMargin(), SoftmaxMargin(0.5)])
def test_gradients_of_criteria_are_finite_differences(criterion, order):
    lattice, scores = random_lattice(order)
    y, weight = random_paths(lattice), np.arange(1.0, lattice.n_units + 1)
    rng = np.random.default_rng(4)
    loss, gradient = criterion.value_and_gradient(lattice, scores, y, weight)
    assert (loss > -1e-12).all()
    for _ in range(5):
        direction, step = rng.normal(size=lattice.n_runs), 1e-6
        ahead, behind = (
            weight @ criterion(lattice, scores._replace(runs=scores.runs + s * direction), y)[0]
            for s in (step, -step)
        )
        assert_allclose(gradient.runs @ direction, (ahead - behind) / (2 * step), rtol=1e-5)


def test_partial_labels():
    lattice, scores = random_lattice(1)
    allowed = np.random.default_rng(5).random((lattice.n_tokens, N_LABELS)) < 0.7
    allowed[np.arange(lattice.n_tokens), random_paths(lattice)] = True
    value, _ = lattice.gold_score(scores, allowed)
    for u, (values, labels, _) in enumerate(enumerated(lattice, scores)):
        start, stop = lattice.offsets[u : u + 2]
        agrees = [allowed[np.arange(start, stop), path].all() for path in labels]
        assert_allclose(value[u], logsumexp(values[agrees]), atol=1e-12)


def test_candidates():
    probability = np.array([[0.2, 0.5, 0.3], [0.02, 0.03, 0.01]])
    candidates = Candidates.above(probability, 0.25)
    assert_array_equal(candidates.indptr, [0, 2, 3])
    assert_array_equal(candidates.label, [1, 2, 1])
    assert_allclose(np.exp(candidates.log_probability), [0.5, 0.3, 0.03])
    assert_array_equal(candidates.find(np.array([2, 0])), [1, -1])
    assert_array_equal(candidates.take(np.array([1, 0])).label, [1, 1, 2])
    assert_array_equal(candidates.where(np.array([True, False, True])).label, [1, 1])


def test_what_a_lattice_cannot_do_is_named():
    lattice, scores = random_lattice(1)
    with pytest.raises(Unsupported, match="Lattice does not have pieces"):
        lattice.pieces(scores)


def test_lengths_of_runs():
    lattice, _ = random_lattice(3)
    counts = np.diff(lattice.candidates.indptr)
    for n in range(4):
        token, number = lattice.runs(n)
        for (start, stop), t in zip(
            pairwise(lattice.start[n]), range(lattice.n_tokens), strict=True
        ):
            first = lattice.offsets[np.searchsorted(lattice.offsets, t, "right") - 1]
            size = np.prod(counts[t - n : t + 1]) if t - n >= first else 0
            assert stop - start == size
            assert_array_equal(number[token == t], np.arange(size))
