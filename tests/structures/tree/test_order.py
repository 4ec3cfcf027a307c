"""The rows of trees, against their definition."""

import numpy as np
import pytest
from chains import random_parents
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn_crcrf._kernels.tree.messages import TreeRows

from sklearn_crcrf.structures.messages import TreeOrder


@st.composite
def trees(draw):
    lengths = draw(st.lists(st.integers(0, 40), max_size=30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    return offsets, random_parents(offsets, rng, draw(st.sampled_from([0.0, 0.3, 1.0])))


def depths(parent):
    depth, above = np.zeros(len(parent), dtype=int), parent.copy()
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parent[above], -1)
    return depth


@given(trees())
def test_rows(case):
    offsets, parent = case
    order, n = TreeOrder.of(offsets, parent), len(parent)
    row = np.empty(n, dtype=int)
    row[order.token] = np.arange(n)
    assert_array_equal(np.sort(order.token), np.arange(n))
    assert_array_equal(order.unit, np.searchsorted(offsets, order.token, side="right") - 1)
    of_token = parent[order.token]
    assert_array_equal(order.parent_row, np.where(of_token >= 0, row[of_token], -1))
    assert_array_equal(order.n_children, np.bincount(parent[parent >= 0], minlength=n)[order.token])
    for r in np.flatnonzero(order.n_children):
        children = order.token[order.first_child[r] :][: order.n_children[r]]
        assert_array_equal(children, np.flatnonzero(parent == order.token[r]))
    # Each level of each block has the nodes of one depth, and each unit is in one block.
    depth, block = depths(parent), np.empty(n, dtype=int)
    assert order.level_start[-1] == n and (np.diff(order.level_start) > 0).all()
    for b, (first, last) in enumerate(zip(order.block_level, order.block_level[1:], strict=False)):
        for level in range(first, last):
            rows = slice(*order.level_start[level : level + 2])
            assert_array_equal(depth[order.token[rows]], level - first)
            block[rows] = b
    for u in range(len(offsets) - 1):
        assert len(np.unique(block[order.unit == u])) <= 1
    assert TreeRows(*order).largest_block == np.bincount(block).max(initial=0)


def test_blocks_have_many_rows_at_each_level():
    # 100 paths of 1 to 100 tokens
    lengths = np.arange(1, 101)
    offsets = np.append(0, np.cumsum(lengths))
    parent = np.arange(-1, offsets[-1] - 1)
    parent[offsets[:-1]] = -1
    order = TreeOrder.of(offsets, parent)
    rows = np.diff(order.level_start[order.block_level])
    levels = np.diff(order.block_level)
    assert (rows[:-1] >= 16 * levels[:-1]).all() and (rows[:-1] >= 256).all()
    assert (np.diff(levels) <= 0).all()


def test_a_cycle_is_named():
    offsets, parent = np.array([0, 2, 5]), np.array([-1, 0, 3, 2, -1])
    with pytest.raises(ValueError, match="the parents of unit 1 make a cycle"):
        TreeOrder.of(offsets, parent)
