import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.counts.rows import KeyIndex, Rows
from sklearn_crcrf.estimators.empirical.model import Estimate, entry_values, smooth

seeds = st.integers(0, 2**32 - 1)


def some_counts(seed):
    """Counts of at least one, and where they are."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 3, (4, 5)).astype(float)
    dense[0, 0] += 1
    return rng, dense, Rows.of(sp.csr_array(dense))


def smooth_rows(counts, prior, strength):
    return smooth(counts, counts.sums(), prior, strength)


@given(seeds, st.sampled_from([0.0, 0.3, 10.0]))
def test_what_is_not_given_to_labels_that_occurred_is_left_for_the_others(seed, strength):
    rng, dense, counts = some_counts(seed)
    prior = rng.dirichlet(np.ones(5))
    estimate = counts._replace(data=smooth_rows(counts, prior[counts.indices], strength))
    total = dense.sum(axis=1)
    left = strength * ((dense == 0) * prior).sum(axis=1)
    used = total > 0
    sums = estimate.sums()[used] + left[used] / (total[used] + strength)
    assert_allclose(sums, 1.0)


def test_no_strength_gives_frequencies_and_much_strength_the_prior():
    counts = Rows.of(sp.csr_array([[3.0, 1.0, 0.0]]))
    prior = np.array([0.2, 0.3])
    assert_array_equal(smooth_rows(counts, prior, 0.0), [0.75, 0.25])
    assert_allclose(smooth_rows(counts, prior, 1e12), prior, rtol=1e-10)


@given(seeds)
def test_values_of_entries(seed):
    rng, dense, counts = some_counts(seed)
    values = rng.random(len(counts.data))
    rows, columns = np.nonzero(dense)
    order = rng.permutation(len(rows))
    found = entry_values(counts, values, rows[order], columns[order])
    assert_array_equal(found, values[order])


def test_an_estimate_is_found_by_symbols():
    counts = Rows.of(sp.csr_array([[1.0, 0.0, 2.0], [0.0, 4.0, 0.0]]))
    index = KeyIndex(np.array([[0, 7], [2, 5]], dtype=np.int32))
    estimate = Estimate(index, counts, np.array([0.1, 0.2, 0.4]))
    symbols = [np.array([2, 0, 0], dtype=np.int32), np.array([5, 7, 7], dtype=np.int32)]
    wanted = Rows.of(sp.csr_array([[0, 1, 0], [0, 0, 1], [1, 0, 1]]))
    assert_array_equal(estimate.at(symbols, wanted), [0.4, 0.2, 0.1, 0.2])
