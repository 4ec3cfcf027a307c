"""The paths of one sequence: the numbers of the structure, also where probabilities underflow."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_crcrf._kernels.text.tagging import ChainTables, SequencePaths

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


def paths_of(chain, state):
    def otherwise(state):
        return PathSum(ChainScores(state, *chain, Edges.none(len(state)))).marginals

    labels = [*range(state.shape[1])]
    return SequencePaths.of(ChainTables(*chain), labels, state, otherwise)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 17])
@pytest.mark.parametrize("scale", [1.0, 100.0, 3000.0, np.inf])
def test_paths_that_are_read_once(n_labels, scale):
    """Against enumeration, or the other recursion; also with forbidden transitions."""
    rng = np.random.default_rng(n_labels)
    for n in (1, 2, 5) if n_labels < 17 else (1, 2):
        size = scale if np.isfinite(scale) else 1.0
        state, ends = size * rng.normal(size=(n, n_labels)), size * rng.normal(size=(2, n_labels))
        transition = size * rng.normal(size=(n_labels, n_labels))
        if np.isinf(scale):
            transition[:, 1:] = -np.inf  # paths end with label 0
        chain = transition, *ends
        paths = paths_of(chain, state)
        labellings = [np.array(y) for y in product(range(n_labels), repeat=n)]
        score = np.array(
            [
                state[np.arange(n), y].sum()
                + transition[y[:-1], y[1:]].sum()
                + ends[0][y[0]]
                + ends[1][y[-1]]
                for y in labellings
            ]
        )
        log_z = np.logaddexp.reduce(score)
        marginals = np.zeros_like(state)
        for y, value in zip(labellings, score, strict=True):
            marginals[np.arange(n), y] += np.exp(value - log_z)
        assert_allclose(paths.marginals[0], log_z)
        assert_allclose(paths.marginals[1], marginals, atol=1e-9)
        assert paths.marginal(n - 1, n_labels - 1) == paths.marginals[1][-1, -1]
        for place in ((n, 0), (-1, 0), (0, n_labels), (0, -1)):
            with pytest.raises(IndexError):
                paths.marginal(*place)
        best = labellings[score.argmax()]
        assert paths.best() == best.tolist()
        assert_allclose(paths.log_probability(best.tolist()), score.max() - log_z, atol=1e-9)


def test_scores_that_are_not_finite_have_no_paths():
    chain = np.zeros((2, 2)), np.zeros(2), np.zeros(2)
    state = np.array([[0.0, 0.0], [np.inf, 0.0]])
    with pytest.raises(ValueError, match="position 1: the scores of labels are not finite"):
        paths_of(chain, state).best()
