"""The penalty of absolute values and its orthants, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_crcrf._kernels.sparse.weights import (
    bound_by_orthant,
    keep_orthant,
    l1_norm,
    pseudo_gradient,
)

both_types = pytest.mark.parametrize("dtype", [np.float64, np.float32])
# Zeros and ties are what matters.
NUMBERS = st.sampled_from([-3.0, -1.0, -0.25, 0.0, 0.25, 1.0, 3.0])


def vectors(n):
    """x, and three others."""
    return arrays(float, (4, n), elements=NUMBERS)


def read_only(*rows):
    rows = [np.array(row) for row in rows]
    for row in rows:
        row.flags.writeable = False
    return rows


@both_types
@given(st.integers(0, 40).flatmap(vectors))
def test_the_norm_and_the_pseudo_gradient(dtype, drawn):
    x, gradient, c = read_only(*drawn[:2].astype(dtype), abs(drawn[2]).astype(dtype))
    assert_allclose(l1_norm(x, c), (c * abs(x)).sum())
    pseudo = np.full_like(x, np.nan)
    pseudo_gradient(x, gradient, c, pseudo)
    # Of the subgradients of the penalty, from lowest to highest, the one that leaves least.
    lowest, highest = np.where(x > 0, c, -c), np.where(x < 0, -c, c)
    assert_array_equal(pseudo, gradient + np.clip(-gradient, lowest, highest))


@both_types
def test_one_penalty_for_all(dtype):
    x, c = np.arange(-3, 4).astype(dtype), np.broadcast_to(dtype(0.5), 7)
    pseudo = np.empty_like(x)
    pseudo_gradient(x, np.ones_like(x), c, pseudo)
    assert_array_equal(pseudo, [0.5, 0.5, 0.5, 0.5, 1.5, 1.5, 1.5])
    assert l1_norm(x, c) == 6.0


@both_types
@given(st.integers(0, 40).flatmap(vectors))
def test_a_new_point_stays_in_the_orthant_and_goes_down(dtype, drawn):
    x, pseudo, x_new, _ = drawn.astype(dtype)
    kept, (x, pseudo) = x_new.copy(), read_only(x, pseudo)
    change = keep_orthant(x, pseudo, x_new)
    orthant = np.where(x != 0, np.sign(x), -np.sign(pseudo))
    down = (kept - x) * pseudo < 0
    expected = np.where(down, np.where(kept * orthant < 0, 0, kept), x)
    assert_array_equal(x_new, expected)
    assert (x_new * orthant >= 0).all()
    assert_allclose(change, pseudo @ (x_new - x))
    assert change <= 0


@both_types
@given(st.integers(0, 40).flatmap(vectors))
def test_what_leaves_the_orthant_becomes_zero(dtype, drawn):
    x, pseudo, x_new, _ = drawn.astype(dtype)
    kept, (x, pseudo) = x_new.copy(), read_only(x, pseudo)
    change = bound_by_orthant(x, pseudo, x_new)
    orthant = np.where(x != 0, np.sign(x), -np.sign(pseudo))
    assert_array_equal(x_new, np.where(kept * orthant > 0, kept, 0))
    assert_allclose(change, pseudo @ (x_new - x))
