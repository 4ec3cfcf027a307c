import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.counts.rows import FREQUENT, SELDOM, UNSEEN, StateWeights


@given(st.integers(0, 2**32 - 1))
def test_scores_and_their_derivative(seed):
    rng = np.random.default_rng(seed)
    blocks = [rng.integers(0, 3, (n_rows, 4)).astype(float) for n_rows in (2, 1, 3)]
    exponents = rng.normal(size=(3, 3))
    matrices = [sp.csr_array(block) for block in blocks]
    weights = StateWeights(matrices, exponents, sum(matrix.nnz for matrix in matrices))
    assert_array_equal(weights.coef.toarray(), np.vstack(blocks))
    assert_array_equal(weights.starts, [0, 2, 3])

    kind = np.array([FREQUENT, UNSEEN, SELDOM, UNSEEN], dtype=np.int8)
    in_block = np.column_stack([rng.integers(-1, len(block), 4) for block in blocks])
    rows = np.where(in_block < 0, -1, in_block + weights.starts).astype(np.int32)
    expected = np.zeros((4, 4))
    for t, s in np.ndindex(rows.shape):
        if in_block[t, s] >= 0:
            expected[t] += exponents[kind[t], s] * blocks[s][in_block[t, s]]
    scores = weights.scores(rows, kind)
    assert_allclose(scores, expected, atol=1e-12)

    # Scores are linear in the exponents, so their inner products determine the derivative.
    direction = rng.normal(size=scores.shape)
    gradient = weights.pullback(rows, kind, direction)
    assert_allclose((gradient * exponents).sum(), (direction * scores).sum(), atol=1e-11)
    weights.exponents = other = rng.normal(size=exponents.shape)
    moved = weights.scores(rows, kind)
    assert_allclose((gradient * other).sum(), (direction * moved).sum(), atol=1e-11)


def test_no_tokens():
    weights = StateWeights.of_one(sp.csr_array((1, 2)), np.ones((3, 1)))
    rows, kind = np.empty((0, 1), dtype=np.int32), np.empty(0, dtype=np.int8)
    assert weights.scores(rows, kind).shape == (0, 2)
    assert_array_equal(weights.pullback(rows, kind, np.empty((0, 2))), np.zeros((3, 1)))
