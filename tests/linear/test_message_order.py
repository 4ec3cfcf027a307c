"""The order in which tokens send messages along links, and what is no forest."""

from itertools import pairwise

import numpy as np
import pytest
from enumerated import Enumerated
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_crcrf.linear.message_order import MessageOrder
from sklearn_crcrf.structures import Chain, HigherOrderChain


class Linked(Enumerated):
    """Units of any size."""

    def __init__(self, parent, offsets=None):
        offsets = [0, len(parent)] if offsets is None else offsets
        self.offsets = np.asarray(offsets, dtype=np.int64)
        current = np.flatnonzero(np.asarray(parent) >= 0)
        self._links = np.asarray(parent)[current], current


@st.composite
def forests(draw):
    """Parents, and the offsets of the units."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    offsets = np.append(0, np.cumsum(rng.integers(0, 6, size=4)))
    parent = np.full(offsets[-1], -1)
    for start, stop in pairwise(offsets):
        tokens = rng.permutation(np.arange(start, stop))
        for i, token in enumerate(tokens):
            parent[token] = rng.choice([-1, *tokens[:i]])
    return Linked(parent, offsets)


@given(forests())
def test_tokens_come_after_all_that_send_to_them(structure):
    found = MessageOrder.of(structure)
    previous, current = structure.links()
    for start, stop in pairwise(structure.offsets):
        order = found.order[start:stop].tolist()
        assert sorted(order) == list(range(stop - start))
        assert all(
            to < 0 or order.index(t) < order.index(to) for t, to in enumerate(found.to[start:stop])
        )
    origin = np.repeat(structure.offsets[:-1], np.diff(structure.offsets))
    linked = np.flatnonzero(found.previous >= 0)
    assert_array_equal(linked, current)
    assert_array_equal((found.previous + origin)[linked], previous)
    assert_array_equal(np.flatnonzero(found.is_last), structure.last_tokens())
    if found.upwards:
        assert_array_equal(found.to, found.previous)
    else:
        assert_array_equal(np.flatnonzero(found.to >= 0) + 1, np.flatnonzero(found.previous >= 0))


def test_a_path_is_searched_as_a_chain():
    chain = Chain(np.array([0, 3, 3, 5]))
    path = MessageOrder.of(Linked([-1, 0, 1, -1, 3], chain.offsets))
    assert not path.upwards
    for one, other in zip(path, MessageOrder.of(chain), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("n", [2, 3000])
def test_deep_and_wide_trees(n):
    deep = MessageOrder.of(Linked(np.append(np.arange(1, n), -1)))
    assert_array_equal(deep.order, np.arange(n))
    wide = MessageOrder.of(Linked(np.append(-1, np.zeros(n, dtype=int))))
    assert_array_equal(wide.order, np.append(np.arange(1, n + 1), 0))


def test_what_is_no_forest():
    assert MessageOrder.of(Linked([1, 2, 0])) is None
    assert MessageOrder.of(Linked([0])) is None
    assert MessageOrder.of(Enumerated([0, 3], [0, 1], [2, 2])) is None
    assert MessageOrder.of(HigherOrderChain(np.array([0, 2]), [None])) is None
