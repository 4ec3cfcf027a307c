"""The co-occurrence rate: definitions and theorems of [EP] and [ECRN], and their examples."""

from itertools import product

import numpy as np
import pytest
from cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import EmpiricalCRF, co_occurrence_rate


@st.composite
def tables(draw, n_variables):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.tuples(*[st.integers(1, 3)] * n_variables))
    return rng.random(shape) ** draw(st.sampled_from([1, 4])) * 100


@settings(max_examples=20)
@given(tables(3))
def test_definition(table):
    """Value by value, from sums over all other values ([EP] eq. 1)."""
    p = table / table.sum()
    whole, pair = co_occurrence_rate(table), co_occurrence_rate(table, [(0, 2), 1])
    rest, within = co_occurrence_rate(table, [2, 0]), co_occurrence_rate(table, [0, 2], given=1)
    for i, j, k in product(*map(range, table.shape)):
        a, b, c = p[i].sum(), p[:, j].sum(), p[:, :, k].sum()
        assert_allclose(whole[i, j, k], p[i, j, k] / (a * b * c))
        assert_allclose(pair[i, j, k], p[i, j, k] / (p[i, :, k].sum() * b))
        assert_allclose(rest[i, k], p[i, :, k].sum() / (a * c))
        of_i, of_k = p[i, j].sum() / b, p[:, j, k].sum() / b
        assert_allclose(within[i, j, k], p[i, j, k] / b / (of_i * of_k))


@settings(max_examples=20)
@given(tables(4))
def test_theorems(table):
    """[ECRN] theorem 1, [EP] eq. 2; the rate of a single variable, or of none, is 1."""

    def rate(*groups):
        value = co_occurrence_rate(table, groups)
        named = {axis for group in groups for axis in np.atleast_1d(group)}
        return np.expand_dims(value, sorted({*range(4)} - named))

    assert_allclose(rate(0, 1, 2, 3), rate(0, 1) * rate(2, 3) * rate((0, 1), (2, 3)))
    assert_allclose(rate(0, 1, 2), rate(0, (1, 2)) * rate(1, 2))
    assert_allclose(rate((0, 3)), np.ones((table.shape[0], 1, 1, table.shape[3])))
    assert co_occurrence_rate(table, []) == 1.0


@settings(max_examples=20)
@given(tables(2), tables(2))
def test_rates_of_independent_variables_are_one(x_and_z, y_and_z):
    """Also given what makes them independent; [ECRN] theorem 2, [EP] eq. 3."""
    n = min(x_and_z.shape[1], y_and_z.shape[1])
    p_x, p_y = (t[:, :n] / t[:, :n].sum(axis=0) for t in (x_and_z, y_and_z))
    joint = np.einsum("xz,yz->xyz", p_x, p_y)
    assert_allclose(co_occurrence_rate(joint, [0, 1], given=2), np.ones(joint.shape))
    assert_allclose(
        co_occurrence_rate(joint, [0, (1, 2)]),
        np.broadcast_to(co_occurrence_rate(joint, [0, 2])[:, None], joint.shape),
    )
    independent = np.einsum("a,b,c->abc", p_x[:, 0], p_y[:, 0], p_x[:, -1])
    assert_allclose(co_occurrence_rate(independent), np.ones(independent.shape))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_chain_is_the_product_of_its_rates_and_probabilities(seed):
    """[EP] eq. 4, [ECRN] eq. 3."""
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.ones(3))
    for _ in range(3):
        joint = joint[..., None] * rng.dirichlet(np.ones(3), 3)
    rates = [co_occurrence_rate(joint, [k, k + 1]) for k in range(3)]
    single = [joint.sum(axis=tuple({*range(4)} - {k})) for k in range(4)]
    product_of_all = np.einsum("ab,bc,cd,a,b,c,d->abcd", *rates, *single)
    assert_allclose(product_of_all, joint, rtol=1e-9)


def test_rib_and_rob():
    """[ECRN] III-C: p(YOB | rob) is 9/10, and p(XIB | rob) is 1/10."""
    counts = np.zeros((2, 2, 2))  # second letter i or o; labels X or Y, and I or O
    counts[0, 0, 0], counts[1, 1, 1], counts[1, 0, 0] = 11, 9, 1
    first = co_occurrence_rate(counts, [1, 2], given=[(), (0,)])[1]
    assert_allclose(first[1, 1], (9 / 10) / (9 / 21 * 9 / 10))
    assert_allclose(first[0, 0], (1 / 10) / (12 / 21 * 1 / 10))
    assert_allclose([first[1, 1] * 9 / 21 * 9 / 10, first[0, 0] * 12 / 21 * 1 / 10], [0.9, 0.1])


def test_the_test_time_problem():
    """[EP] 3.4.3, where the rate of 1 1 is 0.2 / 0.2^2, and of 0 0 0.8 / 0.8^2."""
    assert_allclose(co_occurrence_rate([[4, 0], [0, 1]]), [[1.25, 0], [0, 5]])


def test_rates_are_those_of_the_estimator():
    X, y = (
        [["a", "b"]] * 6 + [["c", "b"]] * 2,
        [[0, 1]] * 3 + [[0, 0], [1, 0], [1, 1]] + [[0, 1]] * 2,
    )
    counts = np.zeros((2, 1, 2, 2))  # a or c, b, and their labels
    for (word, _), (i, j) in zip(X, y, strict=True):
        counts[int(word == "c"), 0, i, j] += 1
    rates = co_occurrence_rate(counts, [2, 3], given=[(0,), (1,)])[0, 0]
    crf = EmpiricalCRF.ecrn().fit(X, y)
    p = {tuple(path): q for path, q in crf.predict_k_best([["a", "b"]], k=4)[0]}
    unary = np.outer(counts[0, 0].sum(axis=1) / 6, counts.sum(axis=(0, 1, 2)) / 8)
    product_of_all = rates * unary
    assert_allclose([p[i, j] for i, j in np.ndindex(2, 2)], product_of_all.ravel())


def test_what_never_occurred_has_no_rate():
    rates = co_occurrence_rate([[1, 2, 0], [0, 2, 0]])
    assert_array_equal(np.isnan(rates), [[False, False, True]] * 2)
    assert rates[1, 0] == 0.0
    given_none = co_occurrence_rate([[[1, 1], [0, 0]]] * 2, [0, 2], given=1)
    assert np.isnan(given_none[:, 1]).all()
    assert_allclose(given_none[:, 0], 1.0)
    assert_allclose(co_occurrence_rate(np.full((2, 2), 1e-300)), 1.0)
    assert_allclose(co_occurrence_rate(np.full((2, 2), 1e300)), 1.0)


@for_each(
    "counts, groups, known, message",
    [
        ([[1, -1]], None, (), "counts must be finite and not negative"),
        ([[0, 0]], None, (), "not all zero"),
        ([[1, np.nan]], None, (), "counts must be finite"),
        ([["a"]], None, (), "counts must be an array of numbers"),
        ([[1, 2]], [0, 2], (), "groups: 2 is no axis of counts, which has 2"),
        ([[1, 2]], [0, -1], (), "groups: -1 is no axis"),
        ([[1, 2]], [0, (0, 1)], (), "an axis may be in one group only"),
        ([[1, 2]], [0], 0, "or be given"),
        ([[1, 2]], [0], "x", "given: 'x' is no axis"),
        ([[1, 2]], [0], [(1,), (1,)], "given has 2 sequences of axes, but there are 1 groups"),
    ],
)
def test_errors(counts, groups, known, message):
    with pytest.raises(ValueError, match=message):
        co_occurrence_rate(counts, groups, given=known)
