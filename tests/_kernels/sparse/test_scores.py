import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_crcrf._kernels.sparse.weights import add_rows, add_rows_pullback


@st.composite
def problems(draw):
    """Rows, kinds and exponents of tokens, and weights as a dense matrix."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_tokens, n_slots, n_kinds = draw(st.tuples(*[st.integers(0, 5)] * 2, st.integers(1, 3)))
    n_rows, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    weights = rng.normal(size=(n_rows, n_labels)) * (rng.random((n_rows, n_labels)) < 0.6)
    exponents = rng.normal(size=(n_kinds, n_slots)) * (rng.random((n_kinds, n_slots)) < 0.8)
    rows = rng.integers(-1, n_rows, (n_tokens, n_slots)).astype(np.int32)
    kind = rng.integers(0, n_kinds, n_tokens).astype(np.int8)
    return rows, kind, exponents, weights, rng


def csr(weights):
    """Arrays of a CSR matrix; the kernels must not write to them."""
    indptr = np.append(0, np.cumsum((weights != 0).sum(axis=1))).astype(np.int64)
    indices = np.nonzero(weights)[1].astype(np.int32)
    arrays = indptr, indices, weights[weights != 0]
    for array in arrays:
        array.flags.writeable = False
    return arrays


def attribute_values(rows, weights):
    """Weights of the row in each slot, zeros where there is none."""
    return np.vstack([weights, np.zeros_like(weights[:1])])[rows]


@given(problems())
def test_sums_of_rows(problem):
    rows, kind, exponents, weights, rng = problem
    before = rng.normal(size=(len(rows), weights.shape[1]))
    scores = before.copy()
    add_rows(rows, kind, exponents, *csr(weights), scores)
    expected = np.einsum("ts,tsy->ty", exponents[kind], attribute_values(rows, weights))
    assert_allclose(scores, before + expected, atol=1e-12)


@given(problems())
def test_pullback_is_the_derivative_by_the_exponents(problem):
    rows, kind, exponents, weights, rng = problem
    direction = rng.normal(size=(len(rows), weights.shape[1]))
    gradient = np.zeros_like(exponents)
    add_rows_pullback(rows, kind, *csr(weights), direction, gradient)

    def value(exponents):
        scores = np.zeros_like(direction)
        add_rows(rows, kind, exponents, *csr(weights), scores)
        return (scores * direction).sum()

    step = 0.5  # the scores are linear, so that no step is too long
    for cell in np.ndindex(exponents.shape):
        moved = exponents.copy()
        moved[cell] += step
        assert_allclose(gradient[cell], (value(moved) - value(exponents)) / step, atol=1e-11)


def test_pullback_adds_to_what_is_there():
    rows, kind = np.array([[0]], dtype=np.int32), np.zeros(1, dtype=np.int8)
    gradient = np.array([[10.0]])
    add_rows_pullback(rows, kind, *csr(np.array([[2.0, 3.0]])), np.array([[1.0, 4.0]]), gradient)
    assert_array_equal(gradient, [[24.0]])


def test_an_exponent_of_zero_silences_infinite_weights():
    rows, kind = np.array([[0]], dtype=np.int32), np.zeros(1, dtype=np.int8)
    scores = np.zeros((1, 1))
    add_rows(rows, kind, np.zeros((1, 1)), *csr(np.array([[np.inf]])), scores)
    assert_array_equal(scores, 0.0)
