"""Terms whose entries share weights."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.linear.terms import Transition, numbered

# The diagonal entries have weights of their own, the others are tied, and two have none.
TIED = np.array([[0, 1, -1], [1, 2, 3], [-1, 3, 4]])


def test_tied_entries_are_equal_and_the_norm_stays():
    term = Transition(TIED)
    weights = np.arange(1.0, 6.0)
    array = term.array(weights)
    assert_array_equal(array, array.T)
    assert_allclose((array**2).sum(), (weights**2).sum())
    assert array[0, 2] == 0.0
    assert_allclose(term.flat(array), weights)


def test_derivatives_of_tied_entries_add_up():
    term, rng = Transition(TIED), np.random.default_rng(0)
    derivative, step = rng.normal(size=(3, 3)), rng.normal(size=term.n_weights)
    assert_allclose(term.flat(derivative) @ step, (derivative * term.array(step)).sum())


def test_numbers_of_single_weights():
    has_weight = np.array([[True, False], [False, True]])
    term = Transition(numbered(has_weight))
    assert term.n_weights == 2
    assert_array_equal(term.array(np.array([3.0, 4.0])), [[3, 0], [0, 4]])
    assert Transition(numbered(~np.ones((2, 2), dtype=bool))).n_weights == 0
