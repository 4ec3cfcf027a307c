"""Steps of the max-margin dual, against the dual of all paths."""

import numpy as np
import pytest
from example_paths import cases, flat
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf._kernels.tree import learning

FROM_ALL, FROM_WORST = learning.FROM_ALL, learning.FROM_WORST

CAPACITY = 40
FACTORS = st.sampled_from([0.01, 0.3, 10.0])


class Dual:
    """The kernel's variables, and the same by path."""

    def __init__(self, case, factor):
        self.case, self.examples = case, case.examples()
        n_tokens, n = len(self.examples.y), self.examples.n_sequences
        self.paths = np.zeros((CAPACITY, n_tokens), dtype=np.int32)
        self.paths[0] = self.examples.y
        self.alpha = np.zeros((n, CAPACITY))
        self.alpha[:, 0] = 1.0
        self.number, self.wrong = np.ones(n, dtype=np.int64), np.zeros(n)
        self.bound = factor * self.examples.weight
        self.weights = self.examples.zeros()

    def step(self, choice, n_pairwise, order):
        y, *attributes = self.examples.arguments
        learning.take_steps(
            choice,
            n_pairwise,
            self.examples.search(self.weights),
            np.asarray(order, dtype=np.int64),
            y,
            self.bound,
            *attributes,
            self.weights.state,
            learning.ActivePaths(self.paths, self.alpha, self.number, self.wrong),
        )

    def active(self, s):
        """The active paths of a sequence, with their weights."""
        tokens = slice(*self.examples.offsets[s : s + 2])
        paths = [tuple(path) for path in self.paths[: self.number[s], tokens]]
        assert len(set(paths)) == len(paths)
        return dict(zip(paths, self.alpha[s], strict=False))

    def implied_weights(self):
        """The weights that the dual variables make, and the value of the dual for C = 1."""
        w, value = np.zeros(flat(self.weights).size), 0.0
        for s, bound in enumerate(self.bound):
            gold = self.case.gold(s)
            for path, alpha in self.active(s).items():
                w += bound * alpha * (self.case.features(s, gold) - self.case.features(s, path))
                value += bound * alpha * self.case.wrong(s, path)
        return w, value - w @ w / 2

    def check(self):
        w, value = self.implied_weights()
        rtol = 1e-4 if self.weights.state.dtype == np.float32 else 1e-9
        assert_allclose(flat(self.weights), w, atol=rtol * max(1.0, abs(w).max(initial=0)))
        for s in range(len(self.bound)):
            active = self.active(s)
            assert_allclose(sum(active.values()), 1.0)
            assert min(active.values()) > 0
            assert_allclose(
                self.wrong[s],
                sum(a * self.case.wrong(s, path) for path, a in active.items()),
                atol=1e-12,
            )
        return value


def expected_step(dual, choice, s):
    """The weights of the paths of a sequence after a step, or None if several are as good."""
    case, w, active = dual.case, flat(dual.weights), dual.active(s)
    best, top = case.best(s, w, 1.0)
    value = {path: case.features(s, path) @ w + case.wrong(s, path) for path in active}
    worst = min(active, key=value.get)
    ties = [path for path in active if np.isclose(value[path], value[worst])]
    if len(best) > 1 or (choice is FROM_WORST and len(ties) > 1):
        return None
    beta = active if choice is FROM_ALL else {worst: 1.0}
    most = 1.0 if choice is FROM_ALL else active[worst]
    gain = top - sum(b * value[path] for path, b in beta.items())
    difference = -case.features(s, best[0])
    difference += sum(b * case.features(s, path) for path, b in beta.items())
    slope = dual.bound[s] * difference @ difference
    size = most if slope * most <= gain else gain / slope
    after = {path: a - size * beta.get(path, 0.0) for path, a in active.items()}
    after[best[0]] = after.get(best[0], 0.0) + size
    return after


@pytest.mark.parametrize("choice", [FROM_ALL, FROM_WORST], ids=["all", "worst"])
@given(case=cases(dtypes=[np.float64]), factor=FACTORS, seed=st.integers(0, 2**32 - 1))
def test_each_step_is_the_best_one(choice, case, factor, seed):
    dual = Dual(case, factor)
    value = dual.check()
    for s in np.random.default_rng(seed).integers(len(dual.bound), size=12):
        expected = expected_step(dual, choice, s)
        dual.step(choice, 0, [s])
        if expected is not None:
            after = dual.active(s)
            for path, alpha in expected.items():
                assert_allclose(after.get(path, 0.0), alpha, atol=1e-9)
        value, before = dual.check(), value
        assert value >= before - 1e-9 * max(1.0, abs(before))


@pytest.mark.parametrize("choice", [FROM_ALL, FROM_WORST], ids=["all", "worst"])
@given(case=cases(), factor=FACTORS)
def test_pairwise_steps_raise_the_dual_as_well(choice, case, factor):
    every = np.arange(len(case.corpus.weight))
    plain, pairwise = Dual(case, factor), Dual(case, factor)
    value, tolerance = 0.0, 1e-5 if case.corpus.X.dtype == np.float32 else 1e-9
    for _ in range(5):
        plain.step(choice, 0, every)
        pairwise.step(choice, 3, every)
        plain.check()
        value, before = pairwise.check(), value
        assert value >= before - tolerance * max(1.0, abs(before))


@given(cases(dtypes=[np.float64]))
def test_sequences_that_are_not_in_the_order_stay(case):
    dual, n = Dual(case, 1.0), len(case.corpus.weight)
    dual.step(FROM_ALL, 2, np.arange(n)[1:])
    assert_array_equal(dual.alpha[0], np.eye(CAPACITY)[0])
    assert dual.number[0] == 1
    dual.check()
