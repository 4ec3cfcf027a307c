"""Scores of any type of numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.structures import Chain, Forest, Graph, Scores

OFFSETS = np.array([0, 3, 5])
STRUCTURES = [
    Chain(OFFSETS),
    Forest(OFFSETS, np.array([1, -1, 1, -1, 3])),
    Graph(OFFSETS, np.array([[0, 1], [1, 2], [0, 2], [3, 4]]), "exact"),
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda it: it.title)
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, "transposed"])
def test_all_scores_may_have_one_type(structure, kind):
    rng = np.random.default_rng(0)
    parts = [3 * rng.normal(size=shape) for shape in ((5, 4), (4, 4), 4, 4)]
    given = [p.T.copy().T if kind == "transposed" else p.astype(kind) for p in parts]
    exact = [np.ascontiguousarray(part, dtype=float) for part in given]
    y, weight = rng.integers(4, size=5).astype(np.int32), np.ones(2)
    found, expected = (
        log_loss.value_and_gradient(structure, Scores.of(*numbers), y, weight)
        for numbers in (given, exact)
    )
    assert found[1].state.dtype == (np.float32 if kind == np.float32 else np.float64)
    assert_allclose(found[0], expected[0], rtol=1e-6)
    for ours, theirs in zip(found[1][:4], expected[1][:4], strict=True):
        assert_allclose(ours, theirs, atol=1e-6)
    value, best = structure.maximum(Scores.of(*given))
    assert_allclose(value, structure.score(Scores.of(*exact), best)[0], rtol=1e-6)
