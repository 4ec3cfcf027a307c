"""Weighted sums of chains, and their derivatives."""

import itertools

import numpy as np
import oracle
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.structures import Chain, Scores, TokenTransitions
from sklearn_crcrf.structures.weighted_sum import WeightedSum


@st.composite
def several_chains(draw, impossible=True):
    """Scores of a few chains over the same sequences; some have edges, and some are -inf."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels, n_chains = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    n_tokens, share = sum(lengths), draw(st.sampled_from([0.0, 0.2])) * impossible

    def drawn(*shape):
        values = rng.normal(size=shape)
        values[rng.random(shape) < share] = -np.inf
        return values

    chains = []
    for _ in range(n_chains):
        transition = drawn(n_labels, n_labels)
        dtype = draw(st.sampled_from([np.float64, np.float32]))
        scores = Scores.of(
            drawn(n_tokens, n_labels).astype(dtype), transition, drawn(n_labels), drawn(n_labels)
        )
        if draw(st.booleans()):
            gains = sp.random_array((3, n_labels**2), density=0.6, format="csr", rng=rng)
            row = rng.integers(-1, 3, n_tokens)
            scores = scores._replace(
                token_transitions=TokenTransitions.from_gains(row, gains, transition)
            )
        chains.append(scores)
    weights = rng.dirichlet(np.ones(n_chains))
    weights[rng.random(n_chains) < 0.2] = 0.0
    return np.append(0, np.cumsum(lengths)), chains, weights


@settings(max_examples=40)
@given(several_chains())
def test_scores_of_paths_are_weighted_sums(several):
    offsets, chains, weights = several
    total = WeightedSum(chains).scores(weights)
    assert total.state.dtype == float
    for start, stop in itertools.pairwise(offsets):
        every, scores = oracle.paths(total, start, stop)
        expected = np.zeros(len(every))
        for weight, chain in zip(weights, chains, strict=True):
            if weight > 0:
                expected += weight * oracle.paths(chain, start, stop)[1]
        assert_allclose(scores, expected, atol=1e-12)


@given(several_chains())
def test_sums_over_paths(several):
    """The edges are such as the kernels take."""
    offsets, chains, weights = several
    total = WeightedSum(chains).scores(weights)
    log_z, _ = Chain(offsets).log_partition(total)
    for s, (start, stop) in enumerate(itertools.pairwise(offsets)):
        _, scores = oracle.paths(total, start, stop)
        assert_allclose(log_z[s], np.logaddexp.reduce(scores), atol=1e-9)


@given(several_chains(impossible=False), st.integers(0, 100))
def test_derivative_by_the_weights(several, seed):
    offsets, chains, weights = several
    rng, step = np.random.default_rng(seed), 1e-5
    structure, pooled = Chain(offsets), WeightedSum(chains)
    y = rng.integers(len(chains[0].transition), size=offsets[-1])
    weights, of_sequences = weights + 0.1, rng.uniform(size=len(offsets) - 1)
    _, pullback = log_loss(structure, pooled.scores(weights), y)
    gradient = pooled.pullback(pullback(of_sequences))
    for k, of_weight in enumerate(gradient):
        ahead = step * (np.arange(len(weights)) == k)
        above, below = (
            of_sequences @ log_loss(structure, pooled.scores(w), y)[0]
            for w in (weights + ahead, weights - ahead)
        )
        assert_allclose(of_weight, (above - below) / (2 * step), atol=1e-6)
