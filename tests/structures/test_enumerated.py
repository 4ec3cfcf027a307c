"""The structure by enumeration, against the chain where tokens are linked as in a chain."""

import numpy as np
import pytest
from chains import chains, random_direction
from enumerated import Enumerated
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores, Unsupported


def both(offsets):
    chain = Chain(offsets)
    return chain, Enumerated(offsets, *chain.links())


def same(ours, theirs, scale):
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, atol=1e-9 * scale, rtol=1e-9)


@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_sums_and_maxima_are_those_of_the_chain(case):
    offsets, scores = case
    chain, enumerated = both(offsets)
    weight = np.linspace(0.5, 2.0, len(offsets) - 1)
    for name in ("log_partition", "maximum"):
        ours, theirs = (getattr(s, name)(scores)[0] for s in (enumerated, chain))
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    ours, theirs = (s.log_partition(scores)[1](weight) for s in (enumerated, chain))
    same(ours, theirs, 1.0)
    ours, theirs = (s.token_marginals(scores) for s in (enumerated, chain))
    assert_allclose(ours[0], theirs[0], atol=1e-9)
    slope = np.random.default_rng(0).normal(size=scores.state.shape)
    same(ours[1](slope), theirs[1](slope), 1.0)
    assert_allclose(enumerated.entropy(scores), chain.entropy(scores), atol=1e-8)


@given(chains(scales=(1.0,), dtypes=(np.float64,)))
def test_what_excludes_a_labelling_is_as_of_the_chain(case):
    offsets, scores = case
    chain, enumerated = both(offsets)
    y, weight = chain.maximum(scores)[1], np.linspace(0.5, 2.0, len(offsets) - 1)
    assert_allclose(
        enumerated.best_excluding(scores, y)[0], chain.best_excluding(scores, y)[0], atol=1e-9
    )
    ours, theirs = (s.log_partition_excluding(scores, y) for s in (enumerated, chain))
    assert_allclose(ours[0], theirs[0], atol=1e-9)
    same(ours[1](weight), theirs[1](weight), 1.0)
    for neighbours in ((-1,), (1,), (-1, 1)):
        ours, theirs = (s.conditional_scores(scores, y, neighbours) for s in (enumerated, chain))
        assert_allclose(ours[0], theirs[0])
        slope = np.random.default_rng(1).normal(size=scores.state.shape)
        same(ours[1](slope), theirs[1](slope), 1.0)
    direction = random_direction(scores)
    ours, theirs = (s.covariance(scores, direction) for s in (enumerated, chain))
    assert_allclose(ours[0], theirs[0], atol=1e-9)
    same(ours[1](weight), theirs[1](weight), 10.0)


def test_what_is_taken_has_its_own_links():
    whole = Enumerated(np.array([0, 3, 3, 5]), [0, 0, 3], [1, 2, 4])
    taken = whole.take(np.array([2, 0]))
    assert_array_equal(taken.offsets, [0, 2, 5])
    assert_array_equal(taken.links(), [[0, 2, 2], [1, 3, 4]])
    assert_array_equal(taken.first_tokens(), [0, 2])
    assert_array_equal(taken.last_tokens(), [1, 3, 4])
    assert not whole.is_sequential() and taken.take(slice(0, 1)).is_sequential()


def test_what_is_missing_is_named():
    structure = Enumerated(np.array([0, 2]), [0], [1])
    assert not structure.can("pieces") and structure.can("maximum")
    with pytest.raises(Unsupported, match=r"^Enumerated does not have pieces$"):
        structure.pieces(None)
    with pytest.raises(Unsupported, match=r"^here needs span_margin, which Enumerated does"):
        structure.require(("entropy", "span_margin"), "here")


def test_gradients_are_added():
    structure = Enumerated(np.array([0, 3]), [0, 1, 0], [1, 2, 2])
    rng = np.random.default_rng(0)
    scores = Scores.of(rng.normal(size=(3, 2)), rng.normal(size=(2, 2)))
    _, pullback = structure.log_partition(scores)
    once, out = pullback(np.ones(1)), ScoreGradient.zeros(scores)
    assert pullback(np.ones(1), pullback(np.ones(1), out)) is out
    same(out, [2 * part for part in once], 1.0)
