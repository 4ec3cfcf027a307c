import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.counts.co_occurrence import boundary_rates, smoothed_rates

PRIOR = np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("strength", [0.0, 1.0, 3.0])
def test_where_nothing_was_counted_the_rate_is_one(strength):
    assert_allclose(smoothed_rates(np.zeros((3, 3)), PRIOR, strength), np.ones((3, 3)))
    assert_allclose(boundary_rates(np.zeros(3), PRIOR, strength), np.ones(3))


@pytest.mark.parametrize("strength", [0.0, 1.0, 3.0])
def test_the_other_direction_has_the_transposed_rates(strength):
    counts = np.random.default_rng(0).integers(4, size=(3, 3)).astype(float)
    rates = smoothed_rates(counts, PRIOR, strength)
    assert_array_equal(smoothed_rates(counts.T, PRIOR, strength), rates.T)
    both = smoothed_rates(counts + counts.T, PRIOR, strength)
    assert_array_equal(both, both.T)


def test_many_counts_have_the_rate_of_their_frequencies():
    joint = np.array([[0.2, 0.1, 0.2], [0.1, 0.1, 0.1], [0.05, 0.05, 0.1]])
    expected = joint / np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert_allclose(smoothed_rates(1e9 * joint, PRIOR, 1.0), expected, rtol=1e-6)


def test_the_stronger_the_smoothing_the_closer_are_rates_to_one():
    counts = np.array([[8.0, 2.0, 1.0], [2.0, 8.0, 1.0], [1.0, 1.0, 3.0]])
    distance = [
        np.abs(np.log(smoothed_rates(counts, PRIOR, strength))).max()
        for strength in (0.0, 1.0, 10.0, 100.0)
    ]
    assert distance == sorted(distance, reverse=True) and distance[-1] < 0.1
