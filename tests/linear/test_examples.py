"""Learning from one sequence after another, against features counted by definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from example_paths import cases, flat, shaped
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.data.sums import state_scores
from sklearn_crcrf.linear import examples, link_tables
from sklearn_crcrf.linear.corpus import Chunk, Corpus, edge_columns
from sklearn_crcrf.linear.examples import Coefficients, Examples, correct, find
from sklearn_crcrf.linear.terms import TransitionFeature
from sklearn_crcrf.structures import Chain, Scores

seeds = st.integers(0, 2**32 - 1)
# Each has kernels, or none, of its own.
links = pytest.mark.parametrize("link", ["chain", "tree", "graph"])


def random_weights(case, seed):
    zeros = case.examples().zeros()
    rng = np.random.default_rng(seed)
    return shaped(rng.integers(-3, 4, size=flat(zeros).size).astype(float), zeros)


def scores_of(case, coefficients):
    """The scores of all tokens, as classifiers make them to predict."""
    weights, corpus = coefficients.weights(case.boundaries), case.corpus
    term = TransitionFeature(edge_columns(corpus.X, case.edge_attributes), case.n_labels)
    chunk = Chunk(0, corpus.structure.n_tokens, corpus.structure, None, None, None)
    state = state_scores(corpus.X, weights.state, 0, corpus.offsets[-1])
    scores = (w + f for w, f in zip(weights[1:4], case.forbidden, strict=True))
    scores = Scores.of(state, *scores)
    return term.add_scores(weights.edges, chunk, scores) if len(weights.edges) else scores


@links
@given(st.data(), seeds, st.sampled_from([0.0, 1.0, 2.5]))
def test_the_best_path_with_costs(link, data, seed, cost):
    case = data.draw(cases(links=[link]))
    coefficients = random_weights(case, seed)
    found, losses = find(case.examples(), coefficients, cost)
    w, offsets = flat(coefficients), case.corpus.offsets
    for s in range(len(offsets) - 1):
        best, value = case.best(s, w, cost)
        assert tuple(found[offsets[s] : offsets[s + 1]]) in best
        assert_allclose(losses[s], value - case.features(s, case.gold(s)) @ w, atol=1e-12)


@given(cases(links=["chain"]), seeds)
def test_of_equals_the_same_path_is_taken_as_in_prediction(case, seed):
    coefficients = random_weights(case, seed)
    chain = case.corpus.structure
    for cost in (0.0, 1.0):
        found, _ = find(case.examples(), coefficients, cost)
        scores = scores_of(case, coefficients)
        costly = scores.state + cost * scores.costs(case.corpus.y)
        _, expected = chain.maximum(scores._replace(state=costly.astype(scores.state.dtype)))
        assert_array_equal(found, expected)


@links
@given(st.data(), seeds)
def test_corrections_follow_each_other(link, data, seed):
    case = data.draw(cases(links=[link]))
    examples, rng = case.examples(), np.random.default_rng(seed)
    coefficients, n = random_weights(case, seed), examples.n_sequences
    order = rng.permutation(n)[: rng.integers(n + 1)]
    rate, cost = rng.integers(0, 3, size=(2, n)).astype(float)
    before, w = flat(coefficients), flat(coefficients)
    found, losses = correct(examples, coefficients, order, rate, cost)
    offsets = case.corpus.offsets
    expected = case.corpus.y.copy()
    for s in order:
        tokens = slice(offsets[s], offsets[s + 1])
        best, value = case.best(s, w, cost[s])
        path = tuple(found[tokens])
        assert path in best
        expected[tokens] = path
        gold = case.features(s, case.gold(s))
        assert_allclose(losses[s], value - gold @ w)
        w = w + rate[s] * (gold - case.features(s, path))
    assert_array_equal(flat(coefficients), w)
    # Sequences that are not in the order have not been labelled.
    assert_array_equal(found, expected)
    for part, start, end in zip(
        examples.differences(found),
        shaped(before, coefficients),
        coefficients,
        strict=True,
    ):
        change = np.zeros(start.size)
        np.add.at(change, part.place, rate[part.sequence] * part.value)
        assert_array_equal(start.ravel() + change, end.ravel())


@given(cases(), seeds)
def test_kernels_may_be_called_for_short_runs(case, seed):
    examples_, n = case.examples(), len(case.corpus.weight)
    order, rate = np.random.default_rng(seed).permutation(n), np.ones(n)
    results = []
    for piece in (examples.PIECE, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(examples, "PIECE", piece)
            coefficients = examples_.zeros()
            found, _ = correct(examples_, coefficients, order, rate, 0 * rate)
            results.append((flat(coefficients), found))
            pieces = examples_.pieces(order)
        assert_array_equal(np.concatenate(pieces), order)
    assert_array_equal(results[0][0], results[1][0])
    assert_array_equal(results[0][1], results[1][1])


@given(cases(), seeds)
def test_links_with_equal_attributes_may_share_their_scores(case, seed):
    rng, n = np.random.default_rng(seed), len(case.corpus.weight)
    order, rate, results = rng.permutation(n), rng.integers(0, 3, size=n).astype(float), []
    for pairs_per_table in (1, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(link_tables, "PAIRS_PER_TABLE", pairs_per_table)
            coefficients = random_weights(case, seed)
            found, losses = correct(case.examples(), coefficients, order, rate, 0 * rate)
            results.append((flat(coefficients), found, losses))
    for one, other in zip(*results, strict=True):
        assert_array_equal(one, other)


@given(cases(), seeds)
def test_weights_have_two_forms(case, seed):
    coefficients = random_weights(case, seed)
    weights = coefficients.weights(case.boundaries)
    n, n_attributes = case.n_labels, case.corpus.X.shape[1]
    shapes = (n_attributes, n), (n, n), (n,), (n,), (len(case.edge_attributes), n, n)
    assert tuple(np.shape(part) for part in weights) == shapes
    again = Coefficients.of(weights, case.boundaries)
    assert_array_equal(flat(again), flat(coefficients))
    assert again.state.dtype == coefficients.state.dtype
    sparse = weights._replace(state=sp.csr_array(weights.state))
    assert_array_equal(flat(Coefficients.of(sparse, case.boundaries)), flat(coefficients))
    if not case.boundaries:
        assert not weights.begin.any() and not weights.end.any()
    assert_allclose(coefficients.squared_norm(), flat(coefficients) @ flat(coefficients))


def test_many_labels_and_a_long_sequence():
    """More labels than the bits of a word, and weights that change on the way."""
    rng, n, length = np.random.default_rng(0), 130, 50
    X = sp.csr_array(rng.integers(0, 2, size=(length, 20)).astype(float))
    corpus = Corpus(
        X, rng.integers(n, size=length), Chain(np.array([0, 20, 20, length])), np.ones(3)
    )
    forbidden = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    examples = Examples.of(corpus, np.empty(0, dtype=int), False, forbidden)
    coefficients = Coefficients(
        rng.integers(-3, 4, size=(20, n)).astype(float),
        rng.integers(-3, 4, size=(1, n * n)).astype(float),
    )
    for _ in range(3):
        weights = coefficients.weights(False)
        scores = Scores.of(state_scores(X, weights.state, 0, length), weights.transition)
        _, expected = Chain(corpus.offsets).maximum(scores)
        assert_array_equal(find(examples, coefficients, 0.0)[0], expected)
        correct(examples, coefficients, np.array([2, 0]), np.ones(3), np.zeros(3))
