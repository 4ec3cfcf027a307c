"""The training objective against its definition, a sum over all labellings of tiny sequences."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.linear import corpus
from sklearn_crcrf.linear.batches import BatchObjective
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.linear.designs import DenseDesign, FactoredDesign, ObservedDesign, SparseDesign
from sklearn_crcrf.linear.factoring import factor
from sklearn_crcrf.linear.objective import Objective, Shard, here
from sklearn_crcrf.linear.terms import Terms, numbered, shared_terms
from sklearn_crcrf.structures import Chain

N_LABELS, N_ATTRIBUTES = 3, 4
EDGES = [0, 2]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Several blocks of several chunks, and several batches, even of a tiny corpus."""
    monkeypatch.setattr("sklearn_crcrf.linear.objective.BATCH", 2)
    for name, size in {"CHUNK": 12, "BLOCK": 24, "SMALLEST_CHUNK": 4}.items():
        monkeypatch.setattr(corpus, name, size)


def make_corpus(dtype=float, partial=False):
    rng, lengths = np.random.default_rng(0), [3, 1, 2, 0, 3, 2, 1, 2]
    X = sp.random_array((sum(lengths), N_ATTRIBUTES), density=0.5, rng=rng, format="csr")
    y = rng.integers(N_LABELS, size=sum(lengths)).astype(np.int32)
    allowed = np.eye(N_LABELS, dtype=bool)[y]
    if partial:
        allowed[[1, 4]] = [True, False, True]
        allowed[[5, 12]] = True
        y[[1, 4, 5, 12]] = -1
    weight = rng.random(len(lengths)) + 0.5
    offsets = np.append(0, np.cumsum(lengths))
    return Corpus(X.astype(dtype), y, Chain(offsets), weight, allowed).longest_first()


FEATURES = {
    "sparse": lambda X, pairs, slices: SparseDesign(X, N_LABELS, slices),
    "factored": lambda X, pairs, slices: FactoredDesign(factor(X, 4), N_LABELS, slices),
    "dense": lambda X, pairs, slices: DenseDesign(X.toarray(), N_LABELS, slices),
    "observed": lambda X, pairs, slices: ObservedDesign(X, sp.csr_array(pairs), slices),
    "single": lambda X, pairs, slices: ObservedDesign(X, sp.csr_array(pairs), slices, N_LABELS),
}
ALL_PAIRS = np.ones((N_ATTRIBUTES, N_LABELS), dtype=bool)
SOME_PAIRS = np.array([[1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 0, 1]], dtype=bool)
# Some have no weight.
TRANSITIONS = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 1]], dtype=bool)
POSSIBLE = np.zeros((N_LABELS, N_LABELS)), np.zeros(N_LABELS), np.zeros(N_LABELS)


def pairs_of(features):
    return SOME_PAIRS if features in {"observed", "single"} else ALL_PAIRS


def make_shard(data, features="sparse", *, edges=EDGES, forbidden=POSSIBLE):
    slices = [(block[0].start, block[-1].stop) for block in data.chunks(N_LABELS)]
    design = FEATURES[features](data.X, pairs_of(features), slices)
    shared = shared_terms(numbered(TRANSITIONS), True, data.X[:, edges])
    terms = Terms(design.n_weights, shared, N_LABELS, forbidden)
    return Shard(design, terms, data, log_loss)


class Whole(Objective):
    """The objective over one shard that has all weights."""

    def __init__(self, shard, sigma, n_threads):
        super().__init__(here([shard], n_threads), sigma=sigma, n_threads=n_threads)
        self.shard = shard

    def hessian_product(self, w, direction):
        return self.shard.hessian_product(w, direction, self.precision)


def make_objective(data, features="sparse", *, sigma=0.7, n_threads=1, **options):
    return Whole(make_shard(data, features, **options), sigma, n_threads)


def random_weights(objective, seed=1):
    shard = getattr(objective, "shard", objective)
    w = np.random.default_rng(seed).normal(size=shard.terms.n_weights)
    return w.astype(shard.design.dtype)


def losses_by_definition(w, data, features, edges=EDGES, forbidden=POSSIBLE):
    """-log of the probability of all labellings that are allowed, of each sequence."""
    sizes = [pairs_of(features).sum(), TRANSITIONS.sum(), N_LABELS, N_LABELS]
    state, transition, begin, end, of_edges = np.split(w.astype(float), np.cumsum(sizes))
    coef, transitions = np.zeros(ALL_PAIRS.shape), np.zeros(TRANSITIONS.shape)
    coef[pairs_of(features)], transitions[TRANSITIONS] = state, transition
    of_edges = of_edges.reshape(len(edges), N_LABELS, N_LABELS)
    scores = transitions, begin, end
    transitions, begin, end = (a + b for a, b in zip(scores, forbidden, strict=True))
    losses = []
    for a, b in itertools.pairwise(data.offsets):
        rows = data.X[a:b].toarray().astype(float)
        scores, agrees = [], []
        for path in itertools.product(range(N_LABELS), repeat=b - a):
            score = begin[path[0]] + end[path[-1]]
            for t, j in enumerate(path):
                score += rows[t] @ coef[:, j]
            for t, pair in enumerate(itertools.pairwise(path), 1):
                score += transitions[pair] + rows[t, edges] @ of_edges[:, *pair]
            scores.append(score)
            agrees.append(all(data.allowed[a + t, j] for t, j in enumerate(path)))
        scores = np.array(scores)
        losses.append(logsumexp(scores) - logsumexp(scores[agrees]))
    return np.array(losses)


features = for_each("features", FEATURES)
partial = for_each("partial", [False, True])


@features
@partial
@for_each("edges", [[], EDGES])
def test_value_is_the_sum_over_all_labellings(features, partial, edges):
    data = make_corpus(partial=partial)
    objective = make_objective(data, features, edges=edges)
    assert len(objective.shard.chunks) > 3
    w = random_weights(objective)
    losses = losses_by_definition(w, data, features, edges)
    assert_allclose(objective.shard.losses(w), losses, rtol=1e-9, atol=1e-12)
    penalty = w @ w / (2 * 0.7**2)
    assert_allclose(objective(w)[0], data.weight @ losses + penalty, rtol=1e-10)


@features
@partial
@for_each("edges", [[], EDGES])
def test_gradient_is_the_derivative(features, partial, edges):
    objective = make_objective(make_corpus(partial=partial), features, edges=edges)
    w, step = random_weights(objective), 1e-5
    gradient = objective(w)[1].copy()
    for k, unit in enumerate(step * np.eye(len(w))):
        slope = (objective(w + unit)[0] - objective(w - unit)[0]) / (2 * step)
        assert_allclose(gradient[k], slope, rtol=1e-6, atol=1e-7)


def test_impossible_labellings():
    data = make_corpus(partial=True)
    transition = np.zeros((N_LABELS, N_LABELS))
    # Nothing that occurs is impossible.
    possible = np.zeros(TRANSITIONS.shape, dtype=bool)
    for a, b in itertools.pairwise(data.offsets):
        for t in range(a + 1, b):
            possible |= np.outer(data.allowed[t - 1], data.allowed[t])
    transition[~possible] = -np.inf
    assert np.isinf(transition).any()
    forbidden = transition, *POSSIBLE[1:]
    objective = make_objective(data, forbidden=forbidden)
    w, step = random_weights(objective), 1e-5
    with np.errstate(invalid="ignore"):
        losses = losses_by_definition(w, data, "sparse", forbidden=forbidden)
    assert_allclose(objective.shard.losses(w), losses, atol=1e-12)
    gradient, direction = objective(w)[1].copy(), random_weights(objective, 2)
    above, below = (objective(w + sign * step * direction)[0] for sign in (1, -1))
    assert_allclose(gradient @ direction, (above - below) / (2 * step), rtol=1e-7)


@features
@for_each("dtype", [np.float64, np.float32])
@for_each("n_threads", [2, 5])
def test_the_number_of_threads_is_no_matter(features, dtype, n_threads):
    data = make_corpus(dtype)
    one, many = (make_objective(data, features, n_threads=n) for n in (1, n_threads))
    w = random_weights(one)
    for _ in range(3):
        (loss, gradient), (other, other_gradient) = one(w), many(w)
        assert loss == other
        assert_array_equal(gradient, other_gradient)
        w = w - w.dtype.type(0.1) * gradient


def test_threads_on_a_corpus_of_many_chunks():
    rng = np.random.default_rng(0)
    offsets = np.append(0, np.cumsum(rng.integers(1, 30, size=300)))
    X = sp.random_array((offsets[-1], N_ATTRIBUTES), density=0.5, rng=rng, format="csr")
    y = rng.integers(N_LABELS, size=offsets[-1]).astype(np.int32)
    data = Corpus(X, y, Chain(offsets), np.ones(300)).longest_first()
    one, two = (make_objective(data, n_threads=n) for n in (1, 2))
    w = random_weights(one)
    (loss, gradient), (other, other_gradient) = one(w), two(w)
    assert loss == other
    assert_array_equal(gradient, other_gradient)


@features
@partial
def test_single_precision(features, partial):
    single = make_objective(make_corpus(np.float32, partial), features)
    double = make_objective(make_corpus(np.float64, partial), features)
    w = random_weights(single)
    (loss, gradient), (expected, expected_gradient) = single(w), double(w.astype(float))
    assert gradient.dtype == np.float32
    assert_allclose(loss, expected, rtol=1e-6)
    assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sigma", [0.1, 3.0, np.inf])
def test_penalty(sigma):
    data = make_corpus()
    objective, plain = (make_objective(data, sigma=s) for s in (sigma, np.inf))
    w = random_weights(objective)
    assert objective.precision == 1 / sigma**2
    (loss, gradient), (expected, expected_gradient) = objective(w), plain(w)
    assert_allclose(loss, expected + w @ w / (2 * sigma**2))
    assert_allclose(gradient, expected_gradient + w / sigma**2)


def test_the_weights_are_not_changed():
    objective = make_objective(make_corpus())
    w = random_weights(objective)
    before = w.copy()
    w.flags.writeable = False
    first = objective(w)[1].copy()
    objective.shard.losses(w)
    objective.hessian_product(w, before)
    assert_array_equal(w, before)
    assert_array_equal(objective(w)[1], first)


@for_each("features", ["sparse", "observed"])
@partial
@for_each("edges", [[], EDGES])
def test_hessian_product_is_the_derivative_of_the_gradient(features, partial, edges):
    objective = make_objective(make_corpus(partial=partial), features, edges=edges)
    w, direction, step = random_weights(objective), random_weights(objective, 2), 1e-5
    above = objective(w + step * direction)[1].copy()
    slope = (above - objective(w - step * direction)[1]) / (2 * step)
    assert_allclose(objective.hessian_product(w, direction), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hessian_is_symmetric(dtype):
    objective = make_objective(make_corpus(dtype))
    w, u, v = (random_weights(objective, seed) for seed in (1, 2, 3))
    product = objective.hessian_product(w, v)
    assert product.dtype == dtype
    assert_allclose(u @ product, v @ objective.hessian_product(w, u), rtol=1e-4)


# Batches


def make_batches(data, features):
    return BatchObjective([make_shard(data, features)], sigma=0.7)


def weights_of(batches, state):
    (shard,) = batches._shards
    x = np.zeros(shard.terms.n_weights, shard.design.dtype)
    batches.add(state, 1.0, x)
    return x


batched = for_each("features", ["sparse", "dense", "single"])


@batched
@partial
@for_each("dtype", [np.float64, np.float32])
def test_steps_are_those_of_gradient_descent(features, partial, dtype):
    data = make_corpus(dtype, partial)
    batches = make_batches(data, features)
    whole = make_objective(data, features, sigma=np.inf)
    x = random_weights(whole)
    state = batches.start(x.copy())
    rounding = 1e-4 if dtype == np.float32 else 1e-10
    expected = x.astype(float)
    # The factor of the state weights becomes small in between.
    for batch, rate, decay in [(0, 0.1, 0.9), (2, 0.3, 1e-3), (1, 0.02, 1e-2), (0, 0.2, 0.5)]:
        chunk = batches._shards[0].batches[batch]
        part = data._replace(weight=np.where(np.arange(7) // 2 == batch, data.weight, 0.0))
        assert_array_equal(chunk.weight, part.weight[part.weight > 0])
        plain = make_objective(part.longest_first(), features, sigma=np.inf)
        gradient = plain(expected.astype(dtype))[1]
        batches.step(state, batch, rate, decay)
        expected = decay * expected - rate * gradient
        assert_allclose(weights_of(batches, state), expected, rtol=rounding, atol=rounding / 10)
    assert weights_of(batches, state).dtype == dtype


@batched
@partial
def test_losses_of_batches(features, partial):
    data = make_corpus(partial=partial)
    batches, whole = make_batches(data, features), make_objective(data, features)
    state = batches.start(random_weights(whole))
    assert_allclose(batches.sizes, np.add.reduceat(data.weight, [0, 2, 4, 6]))
    batches.step(state, 1, 0.1, 0.5)
    w = weights_of(batches, state)
    assert_allclose(batches.loss(state), whole(w)[0])
    some = np.array([0, 3])
    share = batches.sizes[some].sum() / batches.sizes.sum()
    losses = whole.shard.losses(w) * data.weight
    expected = losses[[0, 1, 6]].sum() + share * w @ w / (2 * 0.7**2)
    assert_allclose(batches.loss(state, some), expected)


def test_the_weights_of_a_state_are_copied():
    batches = make_batches(make_corpus(), "sparse")
    state = batches.start(random_weights(batches._shards[0]))
    vector = weights_of(batches, state)
    before = vector.copy()
    batches.step(state, 0, 0.5, 0.9)
    assert_array_equal(vector, before)
    vector[:] = 0.0
    assert weights_of(batches, state).any()
