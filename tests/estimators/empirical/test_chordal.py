"""EmpiricalCRF on chordal graphs: the product of rates, which has the greatest likelihood if rates
depend on the types of edges alone.
"""

from itertools import combinations, permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import EmpiricalCRF, GraphArray
from sklearn_crcrf.counts.counts import Table
from sklearn_crcrf.counts.triangles import PER_TRIANGLE, TRIANGLES, arranged
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.estimators.empirical.triangle_rates import TriangleRates, exact_units
from sklearn_crcrf.labels import AtMost


@st.composite
def chordal_edges(draw):
    """The number of tokens and the edges of a chordal graph without cliques of four tokens."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, edges = draw(st.integers(3, 5)), [(0, 1), (1, 2), (0, 2)]
    for token in range(3, n):
        ends = edges[rng.integers(len(edges))] if rng.random() < 0.7 else [rng.integers(token)]
        edges += [(int(end), token) for end in ends]
    return n, [tuple(int(t) for t in rng.permutation(edge)) for edge in edges], rng


def every_labelling(n, edges, n_labels, rng):
    """All labellings of a graph as samples, with random weights, and their nodes by position."""
    y = np.array(list(product(range(n_labels), repeat=n)))
    weight = rng.gamma(0.3, size=len(y)) + 1e-3
    X = [sp.csr_array(np.eye(n))] * len(y)
    kinds = [[f"{a}-{b}" for a, b in edges]] * len(y)
    return GraphArray.from_edges(X, [edges] * len(y), kinds), y, weight / weight.sum()


@settings(max_examples=12, deadline=None)
@given(chordal_edges(), st.integers(2, 3))
def test_theorem_1(drawn, n_labels):
    # The closed form has the marginals of the data on all cliques, so its gradient is zero.
    n, edges, rng = drawn
    X, y, weight = every_labelling(n, edges, n_labels, rng)
    crf = EmpiricalCRF(sigma=np.inf, inference="exact")
    crf.fit(X, y.tolist(), sample_weight=1e12 * weight)
    graph, scores = crf._structure(X), crf.model_.scores(crf._prepare(X))
    loss, pullback = log_loss(graph, scores, y.ravel())
    probability = np.exp(-loss)
    assert_allclose(probability.sum(), 1.0)
    linked = {frozenset(edge) for edge in edges}
    for clique in (c for size in (1, 2, 3) for c in combinations(range(n), size)):
        if all(frozenset(pair) in linked for pair in combinations(clique, 2)):
            code = np.ravel_multi_index(y.T[list(clique)], [n_labels] * len(clique))
            assert_allclose(np.bincount(code, probability), np.bincount(code, weight), atol=1e-7)
    gradient = pullback(weight)
    assert_allclose(gradient.state.reshape(len(y), n, n_labels).sum(axis=0), 0.0, atol=1e-7)
    for part in (gradient.transition, gradient.token_transitions, gradient.own):
        assert_allclose(part, 0.0, atol=1e-7)


def symmetric(rng, pairs=None):
    """A distribution of three labels that is alike in all orders, with given ones of pairs."""
    joint = rng.gamma(0.7, size=(3, 3, 3))
    joint = sum(np.transpose(joint, order) for order in permutations(range(3)))
    joint /= joint.sum()
    for _ in range(500 if pairs is not None else 0):
        for axis in range(3):
            joint *= np.expand_dims(pairs / joint.sum(axis=axis), axis)
    return joint


@for_each("differ", [False, True])
def test_triangles_that_differ_by_their_words_are_averaged(differ):
    """Then the product is not exact, though rates of edges are the same everywhere."""
    rng, paths = np.random.default_rng(1), np.array([*product(range(3), repeat=4)])
    first = symmetric(rng)
    pairs = first.sum(axis=2)
    second = symmetric(rng, pairs) if differ else first
    a, b, c, d = paths.T
    weight = first[a, b, c] * second[d, b, c] / pairs[b, c]
    edges = [(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)]
    X = GraphArray.from_edges([list("abcd")] * 81, [edges] * 81)
    crf = EmpiricalCRF(sigma=np.inf, experts=[])
    crf.fit(X, paths.tolist(), sample_weight=1e6 * weight)
    marginals = [np.bincount(labels, weight) for labels in paths.T]
    assert_allclose(crf.predict_proba(X[:1])[0], marginals, atol=1e-9)
    far = abs(crf.confidence(X[:1])[0] - weight.max())
    assert far > 1e-5 if differ else far < 1e-9


def test_directions_that_cancel_out_over_types_are_found():
    """With as many links into each token as out of it, two labels are as often in either order."""
    edges, rng = [(0, 1), (2, 1), (0, 2), (3, 0), (1, 3), (4, 0), (1, 4)], np.random.default_rng(0)
    X, y, weight = every_labelling(5, edges, 2, rng)
    crf = EmpiricalCRF(sigma=np.inf).fit(X, y.tolist(), sample_weight=1e12 * weight)
    expected = [np.bincount(labels, weight) for labels in y.T]
    assert_allclose(crf.predict_proba(X[:1])[0], expected, atol=1e-9)


def sums(n, seed, size=8):
    """Chordal graphs in which a label is mostly the sum of two linked ones, modulo 2.

    Pairs of labels are independent, so only three labels together tell anything.
    """
    rng, X, edges, y = np.random.default_rng(seed), [], [], []
    for _ in range(n):
        labels, ends = rng.integers(2, size=2).tolist(), [(0, 1)]
        for token in range(2, size):
            a, b = ends[rng.integers(len(ends))]
            ends += [(a, token), (b, token)]
            labels.append((labels[a] + labels[b] + (rng.random() < 0.1)) % 2)
        noisy = [label ^ (rng.random() < 0.25) for label in labels]
        X.append([f"w{label}" for label in noisy])
        edges.append([tuple(rng.permutation(pair).tolist()) for pair in ends])
        y.append(["AB"[label] for label in labels])
    return GraphArray.from_edges(X, edges), y


X, Y = sums(80, seed=0)
NEW, NEW_Y = sums(60, seed=1)
# A clique of four tokens, and a square; both have no exact product of rates. And a star.
OTHERS = GraphArray.from_edges(
    [["w0"] * 4] * 3,
    [list(combinations(range(4), 2)), [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2), (1, 3)]],
)


def test_three_labels_tell_more_than_their_pairs():
    crf = EmpiricalCRF().fit(X, Y)
    pairs = EmpiricalCRF(inference="loopy").fit(X, Y)
    assert not len(pairs._structure(NEW).triangles)
    assert crf.score(NEW, NEW_Y) > pairs.score(NEW, NEW_Y) + 0.04


def test_each_sample_by_itself():
    # Whether its rates are exact does not depend on the other samples.
    crf, mixed = EmpiricalCRF().fit(X, Y), np.concatenate([NEW[:2], OTHERS, NEW[2:4]])
    together = crf.predict_proba(mixed)
    for s, p in enumerate(together):
        assert_allclose(crf.predict_proba(mixed[s : s + 1])[0], p, atol=1e-10)
    exact = exact_units(crf._structure(mixed), 2)
    assert_array_equal(exact, [True, True, False, False, True, True, True])
    loopy = EmpiricalCRF(inference="loopy").fit(X, Y)
    assert_array_equal(exact_units(loopy._structure(mixed), 2), np.arange(7) == 4)
    assert_allclose(loopy.predict_proba(OTHERS[2:])[0], together[4], atol=1e-6)


def test_the_rate_of_one_triangle():
    counts = Table(np.zeros((1, 6), dtype=np.int32), np.array([PER_TRIANGLE], dtype=float))
    rates = TriangleRates(counts, True, np.ones((1, 2, 2)), np.full(2, 0.5), 1.0)
    # By their priors of one label, each of the three labels has the probability (1 + 0.5) / 2.
    expected = np.log1p(1 / (10.0 * 0.75**3))
    assert_allclose(rates.coef.toarray(), [[expected, *np.zeros(7)]])


def test_counts_of_triangles():
    crf = EmpiricalCRF().fit(X, Y)
    counts = crf.counts_[TRIANGLES]
    assert counts.weights.sum() == PER_TRIANGLE * 80 * 6
    parts = EmpiricalCRF().fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    assert parts.counts_ == crf.counts_
    assert_array_equal(parts.predict_proba(NEW).data, crf.predict_proba(NEW).data)
    assert parts.forget(X[30:], Y[30:]).counts_ == EmpiricalCRF().fit(X[:30], Y[:30]).counts_
    found = crf.predict_out_of_fold(X, Y, cv=2)
    assert found[:40] == EmpiricalCRF().fit(X[40:], Y[40:]).predict(X[:40])


@pytest.mark.parametrize("is_directed", [True, False])
def test_the_order_of_tokens_and_ends_does_not_matter(is_directed):
    rng, corners = np.random.default_rng(0), np.arange(12).reshape(4, 3)
    codes = np.array([[2, 3, 5], [2, 2, 2], [2, 4, 2], [2, 2, 3]])

    def rows(codes, corners):
        _, codes, corners = arranged(codes, corners, is_directed)
        return sorted(np.hstack([codes, corners]).tolist())

    between = {(0, 1): codes[:, 0], (1, 2): codes[:, 1], (0, 2): codes[:, 2]}
    between |= {(b, a): code ^ 1 for (a, b), code in between.items()}
    for a, b, c in permutations(range(3)):
        moved = np.stack([between[a, b], between[b, c], between[a, c]], axis=1)
        if not is_directed:
            moved ^= rng.integers(2, size=moved.shape)
        assert rows(moved, corners[:, [a, b, c]]) == rows(codes, corners)


def test_constraints():
    crf, few = EmpiricalCRF().fit(X, Y), AtMost(["A"], 1)
    every = np.array([y for y in product(range(2), repeat=8) if sum(y) >= 7])
    for s in range(3):
        sample = NEW[s : s + 1]
        graph, scores = crf._structure(sample), crf.model_.scores(crf._prepare(sample))
        values = [graph.score(scores, y)[0][0] for y in every]
        assert (crf.predict(sample).data == "A").sum() > 1
        found = crf.predict(sample, subject_to=[few])
        assert_array_equal(found.data, crf.classes_[every[np.argmax(values)]])


def test_types_of_links_may_be_numbered_differently_in_each_part():
    def typed(types, seed):
        rng = np.random.default_rng(seed)
        y = [[a, b, a ^ b] for a, b in rng.integers(2, size=(30, 2)).tolist()]
        words = [[f"w{label ^ int(rng.random() < 0.3)}" for label in labels] for labels in y]
        edges = [[(0, 1), (0, 2), (1, 2)]] * 30
        return (words, edges, [rng.choice(types, 3).tolist() for _ in y]), y

    (of_one, y_one), (of_other, y_other) = typed(["b", "c"], 1), typed(["a", "c"], 2)
    one, other = GraphArray.from_edges(*of_one), GraphArray.from_edges(*of_other)
    both = GraphArray.from_edges(*(a + b for a, b in zip(of_one, of_other, strict=True)))
    expected = EmpiricalCRF().fit(both, y_one + y_other)
    crf = EmpiricalCRF().fit(one, y_one).partial_fit(other, y_other)
    assert crf.counts_ == expected.counts_
    for found, wanted in zip(crf.predict_proba(both), expected.predict_proba(both), strict=True):
        assert np.array_equal(found, wanted)
    crf.forget(one, y_one)
    alone = EmpiricalCRF().fit(other, y_other)
    for found, wanted in zip(crf.predict_proba(other), alone.predict_proba(other), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
