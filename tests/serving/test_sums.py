"""The paths of one sequence: the numbers of the structure, also where probabilities underflow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.serving.sums import ChainScores, Edges, PathSum
from sklearn_crcrf.structures import Chain, Scores


@pytest.mark.parametrize("scale", [1.0, 3000.0])
def test_paths_are_those_of_the_structure(scale):
    rng, n = np.random.default_rng(0), 12
    state, transition = scale * rng.normal(size=(n, 3)), scale * rng.normal(size=(3, 3))
    ends = scale * rng.normal(size=(2, 3))
    chain, scores = Chain(np.array([0, n])), Scores.of(state, transition, *ends)
    (log_z,), marginals = chain.marginals(scores)
    (best,), labels = chain.maximum(scores)
    paths = PathSum(ChainScores(state, transition, *ends, Edges.none(n)))
    assert_allclose(paths.marginals[0], log_z)
    assert_allclose(paths.marginals[1], marginals, atol=1e-9)
    assert paths.best[0] == best
    assert_array_equal(paths.best[1], labels)
