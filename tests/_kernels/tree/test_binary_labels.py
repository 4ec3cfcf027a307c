"""Sums and maxima of binary models of the same tokens, against a model of its own for each."""

import numpy as np
from cases import for_each
from compiled import compiled
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.estimators.output_codes.columns import BitOrder, _potentials
from sklearn_crcrf.structures import Chain, Forest, Scores

kernels = for_each("kernel", compiled("tree.binary_labels"))
N_LABELS, WIDTH = 5, 32
OFFSETS = np.cumsum([0, 3, 1, 6, 0, 4, 2])
PARENTS = np.array([1, -1, 1, -1, 5, -1, 5, 4, 4, 7, 11, -1, 11, 12, -1, 14])
STRUCTURES = {"chains": Chain(OFFSETS), "forests": Forest(OFFSETS, PARENTS)}
structures = for_each("structure", STRUCTURES.values())


class Case:
    """Random bits, log-odds, transitions and weights."""

    def __init__(self, structure, dtype, scale, n_labels=N_LABELS):
        rng, n_tokens = np.random.default_rng(0), structure.n_tokens
        self.structure = structure
        self.y = rng.integers(0, n_labels, n_tokens).astype(np.int32)
        self.code = (rng.random((n_labels, WIDTH)) < 0.5).astype(dtype)
        self.log_odds = (scale * rng.normal(size=(n_tokens, WIDTH))).astype(dtype)
        self.transitions = 2 * rng.normal(size=(4, WIDTH))
        self.weight = rng.random(structure.n_units) + 0.5

    def scores(self, model):
        """The scores of one model with the labels 0 and 1."""
        log_odds = self.log_odds[:, model].astype(float)
        state = np.column_stack([np.zeros(len(log_odds)), log_odds])
        return Scores.of(state, self.transitions[:, model].reshape(2, 2).copy())

    def sums(self, kernel):
        x, sums = self.log_odds.copy(), np.empty((4, WIDTH))
        potentials = _potentials(self.transitions, x.dtype)
        gold = self.y, self.weight, self.code
        order = BitOrder.of(self.structure)
        kernel.sum_bits(*order, *gold, potentials, x, sums[0], sums[1:])
        return x, sums, self.transitions.max(axis=0)

    def expected(self, model):
        """Loss without transitions of the gold bits, its derivatives, and expected counts."""
        scores, bits = self.scores(model), self.code[self.y, model].astype(np.int32)
        log_z, pull = self.structure.log_partition(scores)
        state_alone = scores._replace(transition=np.zeros((2, 2)))
        gold, pull_gold = self.structure.score(state_alone, bits)
        counts = pull(self.weight)
        derivatives = counts.state - pull_gold(self.weight).state
        return self.weight @ (log_z - gold), derivatives[:, 1], counts.transition


@kernels
@structures
@for_each(
    ("dtype", "scale", "tol"),
    [
        (np.float64, 2.0, 1e-10),
        (np.float32, 2.0, 1e-4),
        (np.float64, 1000.0, 1e-10),
        (np.float32, 100.0, 1e-4),
    ],
)
def test_sums_are_those_of_each_model(kernel, structure, dtype, scale, tol):
    case = Case(structure, dtype, scale)
    derivatives, (loss, *pairs), top = case.sums(kernel)
    _, current = structure.links()
    n_links = case.weight[np.searchsorted(OFFSETS, current, side="right") - 1].sum()
    for model in range(WIDTH):
        expected, by_log_odds, transitions = case.expected(model)
        assert_allclose(loss[model] + n_links * top[model], expected, rtol=tol)
        assert_allclose(derivatives[:, model], by_log_odds, atol=tol)
        found = [*(counts[model] for counts in pairs[:2]), pairs[2][model]]
        assert_allclose(found, [*transitions[:, 1], transitions[1].sum()], atol=10 * tol)


@kernels
def test_a_long_sequence_and_transitions_far_apart(kernel):
    structure = Chain(np.array([0, 20_000]))
    case = Case(structure, np.float32, 3.0)
    case.transitions[1] -= 40.0
    derivatives, (loss, *_), top = case.sums(kernel)
    for model in (0, WIDTH - 1):
        expected, by_log_odds, _ = case.expected(model)
        assert_allclose(loss[model] + 19_999 * case.weight[0] * top[model], expected, rtol=1e-4)
        assert_allclose(derivatives[:, model], by_log_odds, atol=1e-3)


@kernels
def test_without_tokens(kernel):
    case = Case(Chain(np.zeros(3, dtype=np.int64)), np.float64, 1.0)
    derivatives, sums, _ = case.sums(kernel)
    assert derivatives.shape == (0, WIDTH)
    assert_array_equal(sums, 0.0)


@kernels
@structures
@for_each("scale", [1.0, 1000.0])
def test_the_best_bits(kernel, structure, scale):
    case = Case(structure, np.float64, scale)
    bits = case.log_odds.copy()
    kernel.best_bits(*BitOrder.of(structure), case.transitions, bits)
    for model in range(WIDTH):
        value, _ = structure.maximum(case.scores(model))
        found, _ = structure.score(case.scores(model), bits[:, model].astype(np.int32))
        assert_allclose(found, value, rtol=1e-12)
