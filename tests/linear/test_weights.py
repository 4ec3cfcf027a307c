import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_crcrf.linear import Layout, Weights

SOME = np.array([[True, False, True], [False, False, False], [True, True, True]])
ALL = np.ones((3, 3), dtype=bool)

layouts = pytest.mark.parametrize("transitions", [SOME, ALL, ~ALL], ids=["some", "all", "none"])
ends = pytest.mark.parametrize("boundaries", [False, True])
edges = pytest.mark.parametrize("n_edge_attributes", [0, 2])


@layouts
@ends
@edges
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_join_is_the_inverse_of_split(transitions, boundaries, n_edge_attributes, dtype):
    layout = Layout(4, transitions, boundaries, n_edge_attributes)
    assert layout.n_labels == 3
    assert layout.n_state == 4
    assert layout.n_weights == 4 + transitions.sum() + 6 * boundaries + 9 * n_edge_attributes
    vector = np.arange(1, layout.n_weights + 1, dtype=dtype)
    weights = layout.split(vector)
    out = np.empty_like(vector)
    assert layout.join(weights, out) is out
    assert_array_equal(out, vector)


@layouts
@ends
@edges
def test_what_has_no_weight_is_zero(transitions, boundaries, n_edge_attributes):
    layout = Layout(4, transitions, boundaries, n_edge_attributes)
    weights = layout.split(np.ones(layout.n_weights))
    assert_array_equal(weights.state, np.ones(4))
    assert_array_equal(weights.transition, transitions)
    assert_array_equal(weights.begin, np.full(3, boundaries))
    assert_array_equal(weights.end, np.full(3, boundaries))
    assert_array_equal(weights.edges, np.ones((n_edge_attributes, 3, 3)))
    for part, mask in zip(weights[1:], layout.mask()[1:], strict=True):
        assert_array_equal(mask, part)


def test_what_has_no_weight_is_not_joined():
    layout = Layout(2, SOME, False, 0)
    everywhere = Weights(
        np.ones(2), np.full((3, 3), 2.0), np.ones(3), np.ones(3), np.ones((0, 3, 3))
    )
    assert_array_equal(layout.join(everywhere, np.zeros(7)), [1, 1, 2, 2, 2, 2, 2])


def test_the_order_of_the_parts():
    layout = Layout(2, ALL, True, 1)
    weights = layout.split(np.arange(26.0))
    assert_array_equal(weights.state, [0, 1])
    assert_array_equal(weights.transition, np.arange(2, 11).reshape(3, 3))
    assert_array_equal(weights.begin, [11, 12, 13])
    assert_array_equal(weights.end, [14, 15, 16])
    assert_array_equal(weights.edges, np.arange(17, 26).reshape(1, 3, 3))


def test_state_weights_are_not_copied():
    layout = Layout(4, ALL, False, 0)
    vector = np.zeros(layout.n_weights)
    weights = layout.split(vector)
    weights.state[:] = 5.0
    weights.transition[:] = 7.0
    assert_array_equal(vector[:4], 5.0)
    assert_array_equal(vector[4:], 0.0)
    layout.join(weights, vector)
    assert_array_equal(vector[4:], 7.0)
